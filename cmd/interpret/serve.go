package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/dynamic"

	"github.com/kubeinterpret/interpret/builtin/thirdparty"
	"github.com/kubeinterpret/interpret/declarative"
	declarativelive "github.com/kubeinterpret/interpret/declarative/live"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	definitionlive "github.com/kubeinterpret/interpret/interpreter/definition/live"
	"github.com/kubeinterpret/interpret/interpreter/follow"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/luakube"
	"github.com/kubeinterpret/interpret/webhook"
	"github.com/kubeinterpret/interpret/webhook/admission"
	webhooklive "github.com/kubeinterpret/interpret/webhook/live"
)

const (
	// defaultListen is for a first try: nobody else can ask.
	defaultListen = "127.0.0.1:8443"
	// printPatience is how long --print-config waits for what is on an API server.
	printPatience = 30 * time.Second
	// readyTick is how often it is looked whether a server is ready, to tell when that changes. What is read at
	// once when the server starts is not told of as missing.
	readyTick = time.Second
)

// The formats of the log.
const (
	logText = "text"
	logJSON = "json"
)

// logLevels are slog's, by the names that people write.
var logLevels = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}

// serveOptions are the flags of interpret serve.
type serveOptions struct {
	ruleFlags
	cluster      clusterFlags
	registration registrationFlags

	listen           string
	certificate, key string
	selfSigned       bool
	drain, grace     time.Duration
	pprof            string

	logFormat, logLevel string

	body      string
	bodyLimit int64
	inFlight  int
	answer    time.Duration
}

// newServe makes interpret serve.
func newServe(s *session) *cobra.Command {
	o := &serveOptions{}
	cmd := &cobra.Command{
		Use:   "serve [-f FILE]... | --from-cluster",
		Short: "Answer as an interpreter webhook, for Karmada and others that ask hooks",
		Long: `Answer as an interpreter webhook, by the protocol of Karmada, over TLS. The rules are customizations, and hooks of
webhook configurations, that are given with -f or with --from-cluster found on an API server, and below them always the
ones that are built in.

  /interpret  answers questions; / does so, too
  /validate   reviews customizations and webhook configurations before an API server stores them
  /convert    converts objects between versions of their CRDs, with --converters
  /healthz, /readyz, /metrics

Files are read again when they change, and so are certificates. When something is wrong with files that have
changed, all that was in force before stays so; the log and the metric interpret_files_in_step tell.

--print-config prints what registers this server with an API server: all it answers, but not what other hooks
answer, nor the rules for all kinds. With --self-signed it is printed as soon as the certificate is made; without
it, standard output is the CA's certificate then.

A first signal ends the server in order: it says that it is not ready, goes on answering for --drain, and ends when
the last question is answered, or after --grace. A second one ends it at once.`,
		Example: strings.TrimPrefix(`
  # A first try. Then, in another terminal: curl --cacert ca.crt https://localhost:8443/readyz
  interpret serve --self-signed -f customization.yaml >ca.crt

  # What would be registered?
  interpret serve -f customization.yaml --print-config --service interpret-system/interpret`, "\n"),
		Args:              noArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	o.addFiles(flags)
	o.cluster.add(flags)
	o.hooks.add(cmd)
	o.crds.addConverters(cmd, "converters of CRD versions, of the kind Converter, which answer at /convert, and are asked rather than conversion webhooks: as for -f; may be repeated")
	o.crds.addConvert(cmd)
	o.crds.addKStatus(flags)
	flags.StringVar(&o.listen, "listen", defaultListen, "the address to listen on, HOST:PORT; :PORT is every address of the machine")
	flags.StringVar(&o.certificate, "tls-cert-file", "", "the server's certificate, with what stands between it and the CA, in PEM; read again when it changes")
	flags.StringVar(&o.key, "tls-private-key-file", "", "the key of the certificate, in PEM")
	flags.BoolVar(&o.selfSigned, "self-signed", false, "for a first try, make a CA and a certificate that last as long as the server")
	o.registration.add(cmd, flags)
	flags.DurationVar(&o.drain, "drain", webhook.DefaultDrain, "how long to go on answering after a signal, so that callers learn of it; with --self-signed not at all")
	flags.DurationVar(&o.grace, "grace", webhook.DefaultGrace, "how long the last answers may take after that")
	flags.StringVar(&o.pprof, "pprof-address", "", "serve Go's profiles, without TLS, on this loopback address")
	o.logFormat, o.logLevel = logText, "info"
	addChoice(cmd, &o.logFormat, "log-format", "the format of the log on standard error: text or json", logText, logJSON)
	addChoice(cmd, &o.logLevel, "log-level", "what is logged: debug, info, which has a line for every question, warn or error", "debug", "info", "warn", "error")
	flags.StringVar(&o.body, "limit-body", resource.NewQuantity(webhook.DefaultBodyLimit, resource.BinarySI).String(), "size of a question, as a quantity")
	flags.IntVar(&o.inFlight, "limit-in-flight", webhook.DefaultMaxInFlight, "questions that are worked on at a time; further ones are sent away with the status 429")
	flags.DurationVar(&o.answer, "limit-answer-time", webhook.DefaultMaxTime, "time for an answer, also if the caller would wait longer")
	o.addLimits(flags)
	for _, name := range []string{"tls-cert-file", "tls-private-key-file", "ca-file", "kubeconfig"} {
		must(cmd.MarkFlagFilename(name))
	}
	must(cmd.MarkFlagFilename("filename", "yaml", "yml", "json"))
	return cmd
}

// addChoice adds a flag that has one of few values.
func addChoice(cmd *cobra.Command, to *string, name, help string, choices ...string) {
	cmd.Flags().Var(outputValue{to, choices}, name, help)
	must(cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp)))
}

// complete looks for what is wrong with the command line before anything is done.
func (o *serveOptions) complete(flags *pflag.FlagSet) error {
	for flag, names := range map[string][]string{filenameFlag: o.filenames, convertersFlag: o.crds.converters} {
		if slices.Contains(names, stdinName) {
			return usage("%s: standard input can be read once, and files are read again when they change", flag)
		}
	}
	if o.cluster.chosen() && len(o.filenames) > 0 {
		return usage("%s and --from-cluster exclude each other: customizations come from files or from an API server", filenameFlag)
	}
	if o.cluster.chosen() && len(o.hooks.addresses) > 0 {
		return usage("%s goes with %s; an API server tells where its Services are", hookAddressFlag, filenameFlag)
	}
	if o.registration.print == printConversion && len(o.crds.converters) == 0 {
		return usage("--print-config=%s goes with %s", printConversion, convertersFlag)
	}
	if err := o.registration.complete(o.selfSigned); err != nil {
		return err
	}
	files := o.certificate != "" || o.key != ""
	switch {
	case files && o.selfSigned:
		return usage("--self-signed and --tls-cert-file exclude each other")
	case files && (o.certificate == "" || o.key == ""):
		return usage("--tls-cert-file and --tls-private-key-file go together")
	case !files && !o.selfSigned && o.registration.print == "":
		return usage("a certificate is needed: give --tls-cert-file and --tls-private-key-file, or for a first try --self-signed")
	case o.selfSigned && o.registration.caFile != "":
		return usage("--self-signed makes a CA, and --ca-file names one")
	}
	if o.selfSigned && !flags.Changed("drain") {
		o.drain = 0
	}
	limit, err := resource.ParseQuantity(o.body)
	if err != nil {
		return usage("--limit-body: %q is no quantity such as 8Mi", o.body)
	}
	if o.bodyLimit = limit.Value(); o.bodyLimit <= 0 || o.inFlight <= 0 || o.answer <= 0 {
		return usage("limits must be positive, got --limit-body %s, --limit-in-flight %d and --limit-answer-time %s", o.body, o.inFlight, o.answer)
	}
	if _, _, err := net.SplitHostPort(o.listen); err != nil {
		return usage("--listen: %q is no address such as %s", o.listen, defaultListen)
	}
	return nil
}

// run serves until the context ends.
func (o *serveOptions) run(ctx context.Context, s *session) error {
	if err := o.complete(o.flags); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		// What main sets is for commands that end soon.
		debug.SetGCPercent(serverGCPercent)
	}
	logger := newLogger(s, o.logFormat, logLevels[o.logLevel])
	registry := newRegistry()
	var listener net.Listener
	if o.registration.print == "" || o.selfSigned {
		// Before the rules, since a hook that leads here is known by the address.
		var err error
		if listener, err = o.open(ctx); err != nil {
			return err
		}
		defer listener.Close()
	}
	rules, err := o.rules(ctx, s, logger, registry)
	if err != nil {
		return err
	}
	// Rules are kept in step until the last question is answered.
	beside, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	defer running.Wait()
	defer stop(nil)
	for _, follow := range rules.follow {
		running.Go(func() {
			if err := follow(beside); err != nil {
				stop(err)
			}
		})
	}
	if listener == nil {
		bundle, err := o.registration.bundle()
		if err != nil {
			return err
		}
		if err := rules.wait(ctx); err != nil {
			return err
		}
		return o.registration.printTo(s, rules, bundle)
	}
	server, err := o.server(ctx, s, logger, registry, rules)
	if err != nil {
		return err
	}
	serving, end := context.WithCancel(ctx)
	defer end()
	context.AfterFunc(beside, end)
	err = server.Serve(serving, listener)
	switch failed := context.Cause(beside); {
	case failed != nil:
		return failed
	case err != nil && ctx.Err() != nil:
		return &failure{err}
	}
	return err
}

// servedRules is who answers, and what there is to know about it.
type servedRules struct {
	chain *interpreter.Chain
	// webhooks is nil if no other hooks are asked.
	webhooks interpreter.Layer
	// engine runs all scripts but the bundled ones.
	engine *luakube.Engine
	// converters is nil if nothing is converted.
	converters *fileConverters
	// stored is nil if nobody knows what an API server has stored.
	stored admission.Stored
	// definitions are the CRDs that customizations are compared with.
	definitions definition.Definitions
	// follow are what keeps rules in step with their sources, until a context ends.
	follow []func(context.Context) error
	// ready is nil if the rules always are; wait waits for that.
	ready func() error
	wait  func(context.Context) error
}

// rules makes the chain of the rules that the flags name. In files, they are read by then.
func (o *serveOptions) rules(ctx context.Context, s *session, logger *slog.Logger, registry *prometheus.Registry) (*servedRules, error) {
	engineOptions, err := o.engineOptions(s)
	if err != nil {
		return nil, err
	}
	engineOptions = append(engineOptions, luakube.WithLog(logger))
	r := &servedRules{wait: func(context.Context) error { return nil }}
	if r.engine, err = newEngine(engineOptions); err != nil {
		return nil, err
	}
	bundle := thirdparty.New(engineOptions...)
	metrics := newFileMetrics(registry)
	if o.cluster.chosen() {
		err = o.rulesOnServer(r, bundle, logger, registry)
	} else {
		err = o.rulesInFiles(ctx, s, r, bundle, logger, registry, metrics)
	}
	if err == nil && len(o.crds.converters) > 0 {
		err = o.convertersInFiles(ctx, s, r, logger, registry, metrics)
	}
	if err != nil {
		return nil, err
	}
	// Otherwise the first question about a kind would take longer than the others.
	if err := bundle.Load(); err != nil {
		return nil, fmt.Errorf("bundled rules: %w", err)
	}
	registry.MustRegister(ruleCount{r.chain})
	return r, nil
}

func (o *serveOptions) rulesInFiles(ctx context.Context, s *session, r *servedRules, bundle *thirdparty.Bundle, logger *slog.Logger, registry *prometheus.Registry, metrics *fileMetrics) error {
	customizations, err := declarative.New(nil, declarative.WithEngine(r.engine))
	if err != nil {
		return err
	}
	hooks, err := webhook.New(nil, webhook.WithRegisterer(registry), webhook.WithSkip(o.skip(logger)), webhook.WithResolver(o.hooks))
	if err != nil {
		return err
	}
	rules := &fileRules{customizations: customizations, webhooks: hooks, hooks: &o.hooks, logger: logger}
	files := &watchedFiles{
		what: "rules", flag: filenameFlag, names: o.filenames, recursive: o.recursive, parse: rules.parse,
		logger: logger, metrics: metrics, poll: filesPoll,
	}
	if err := files.load(ctx, s); err != nil {
		return err
	}
	r.definitions = &rules.definitions
	versions, err := o.otherVersions(r, &rules.definitions, webhook.WithRegisterer(registry), webhook.WithResolver(o.hooks))
	if err != nil {
		return err
	}
	r.webhooks = versions.around(hooks)
	r.follow = append(r.follow, func(ctx context.Context) error {
		defer hooks.Close()
		defer versions.close()
		return files.run(ctx)
	})
	r.chain = newChain(customizations, r.webhooks, bundle, versions, layersOfCRDs(&rules.definitions, o.crds.kstatus)...)
	return nil
}

// fileRules are the layers of what is in files. Nobody else replaces them.
type fileRules struct {
	customizations *declarative.Layer
	webhooks       *webhook.Layer
	definitions    changingDefinitions
	// hooks is nil once its addresses have been looked at. Later the configurations that they are for may come and go.
	hooks  *hookFlags
	logger *slog.Logger
}

func (f *fileRules) parse(s *session, inputs []input) (put func() ([]slog.Attr, error), err error) {
	d := &declared{}
	var errs []error
	for _, in := range inputs {
		errs = append(errs, d.add(in.name, s.split(in)))
	}
	errs = append(errs, fatalProblems(d.configurations))
	if f.hooks != nil {
		errs = append(errs, f.hooks.check(d.configurations, d.definitions))
	}
	definitions, err := definition.NewSet(d.definitions...)
	errs = append(errs, err)
	return func() ([]slog.Attr, error) { return f.put(d, definitions) }, errors.Join(errs...)
}

// put puts everything in force or nothing.
func (f *fileRules) put(d *declared, definitions *definition.Set) ([]slog.Attr, error) {
	if err := f.customizations.ReplaceAll(d.customizations); err != nil {
		return nil, &failure{err}
	}
	f.definitions.set.Store(definitions)
	f.hooks = nil
	for _, conflict := range f.customizations.Conflicts() {
		f.logger.Warn("a conflict", "problem", conflict.Error())
	}
	attrs := []slog.Attr{slog.Int("customizations", len(d.customizations)), slog.Int("configurations", len(d.configurations))}
	return attrs, f.webhooks.Replace(webhook.Objects(d.configurations))
}

func (o *serveOptions) rulesOnServer(r *servedRules, bundle *thirdparty.Bundle, logger *slog.Logger, registry *prometheus.Registry) error {
	logClients(logger)
	config, inside, err := o.cluster.config()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	options := []follow.Option{follow.WithLogger(logger), follow.WithRegisterer(registry)}
	empty, err := declarative.New(nil, declarative.WithEngine(r.engine))
	if err != nil {
		return err
	}
	customizations, err := declarativelive.New(client, empty, options...)
	if err != nil {
		return err
	}
	finding := []webhooklive.ResolverOption{webhooklive.WithResolverLogger(logger), webhooklive.WithResolverRegisterer(registry)}
	if inside {
		// Pods are reached from here.
		finding = append(finding, webhooklive.WithEndpoints())
	}
	resolver, err := webhooklive.NewResolver(client, finding...)
	if err != nil {
		return err
	}
	hooks, err := webhook.New(nil, webhook.WithRegisterer(registry), webhook.WithSkip(o.skip(logger)), webhook.WithResolver(resolver))
	if err != nil {
		return err
	}
	webhooks, err := webhooklive.New(client, hooks, options...)
	if err != nil {
		return err
	}
	definitions, err := definitionlive.New(client, options...)
	if err != nil {
		return err
	}
	logger.Info("rules come from an API server", "server", config.Host)
	r.stored = customizations
	r.definitions = definitions
	versions, err := o.otherVersions(r, definitions, webhook.WithRegisterer(registry), webhook.WithResolver(resolver))
	if err != nil {
		return err
	}
	r.webhooks = versions.around(webhooks)
	r.chain = newChain(customizations, r.webhooks, bundle, versions, layersOfCRDs(definitions, o.crds.kstatus)...)
	r.follow = append(r.follow, customizations.Run, definitions.Run, resolver.Run, func(ctx context.Context) error {
		defer hooks.Close()
		defer versions.close()
		return webhooks.Run(ctx)
	})
	r.ready = func() error { return errors.Join(customizations.Ready(), webhooks.Ready(), definitions.Ready()) }
	r.follow = append(r.follow, func(ctx context.Context) error {
		tellReady(ctx, logger, r.ready)
		return nil
	})
	r.wait = func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, printPatience)
		defer cancel()
		return errors.Join(customizations.Wait(ctx), webhooks.Wait(ctx), definitions.Wait(ctx))
	}
	return nil
}

// tellReady logs when a server becomes ready, or is not any more, since it is not always asked.
func tellReady(ctx context.Context, logger *slog.Logger, ready func() error) {
	tick := time.NewTicker(readyTick)
	defer tick.Stop()
	wasReady, known := false, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := ready()
		switch {
		case known && wasReady == (err == nil):
		case err == nil:
			logger.Info("ready")
		default:
			logger.Warn("not ready", "problem", err)
		}
		wasReady, known = err == nil, true
	}
}

// skip leaves out the hooks that lead to this server, which would ask itself otherwise, and tells once of each.
func (o *serveOptions) skip(logger *slog.Logger) func(string, *v1alpha1.ResourceInterpreterWebhook) bool {
	told := map[string]bool{} // A layer is replaced by one goroutine at a time.
	return func(configuration string, w *v1alpha1.ResourceInterpreterWebhook) bool {
		own := o.registration.isOwn(w)
		identity := configuration + "/" + w.Name
		if own && !told[identity] {
			told[identity] = true
			logger.Info("a hook leads to this server, and is not asked", "hook", identity)
		}
		return own
	}
}

// open listens. With a certificate of its own, a server that nobody has given an address is found there.
func (o *serveOptions) open(ctx context.Context) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return nil, fmt.Errorf("--listen %s: %w", o.listen, withoutAddress(err))
	}
	if o.selfSigned && o.registration.url == "" && o.registration.service == "" {
		host, port, err := net.SplitHostPort(listener.Addr().String())
		if err != nil {
			return nil, errors.Join(err, listener.Close())
		}
		if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
			host = "localhost"
		}
		o.registration.url = "https://" + net.JoinHostPort(host, port)
	}
	return listener, nil
}

// server makes the server. Mistakes in flags that only show now are still told as such.
func (o *serveOptions) server(ctx context.Context, s *session, logger *slog.Logger, registry *prometheus.Registry, rules *servedRules) (*webhook.Server, error) {
	questions, err := webhook.NewHandler(rules.chain, webhook.WithLogger(logger), webhook.WithHandlerRegisterer(registry),
		webhook.WithBodyLimit(o.bodyLimit), webhook.WithMaxInFlight(o.inFlight), webhook.WithMaxTime(o.answer))
	if err != nil {
		return nil, err
	}
	reviews, err := admission.New(rules.stored, admission.WithLogger(logger), admission.WithRegisterer(registry),
		admission.WithLayerOptions(declarative.WithEngine(rules.engine)), admission.WithFields(versionsIn(rules.definitions)))
	if err != nil {
		return nil, err
	}
	options := []webhook.ServerOption{
		webhook.WithServerLogger(logger), webhook.WithGatherer(registry), webhook.WithPage(validatePath, reviews),
	}
	if rules.converters != nil {
		options = append(options, webhook.WithPage(convertPath, rules.converters))
	}
	if rules.ready != nil {
		options = append(options, webhook.WithReady(rules.ready))
	}
	options = append(options, o.flagOption("--drain and --grace", webhook.WithShutdown(o.drain, o.grace)))
	if o.pprof != "" {
		options = append(options, o.flagOption("--pprof-address", webhook.WithPprof(o.pprof)))
	}
	if o.selfSigned {
		// The last one, for it prints what is only right if nothing else is wrong.
		options = append(options, func(server *webhook.Server) error { return o.certify(ctx, s, server, rules) })
	} else {
		options = append(options, webhook.WithCertificateFiles(o.certificate, o.key))
	}
	server, err := webhook.NewServer(o.paths(questions), options...)
	if err != nil {
		return nil, o.serverError(err)
	}
	return server, nil
}

// flagOption is an option of which a mistake is one of a flag.
func (o *serveOptions) flagOption(flag string, option webhook.ServerOption) webhook.ServerOption {
	return func(server *webhook.Server) error {
		if err := option(server); err != nil {
			return usage("%s: %w", flag, err)
		}
		return nil
	}
}

// serverError names the files of a certificate that cannot be used.
func (o *serveOptions) serverError(err error) error {
	if errors.Is(err, errUsage) || o.selfSigned {
		return err
	}
	return fmt.Errorf("--tls-cert-file %s, --tls-private-key-file %s: %w", o.certificate, o.key, err)
}

// withoutAddress is an error of listening without the address, which the message has already.
func withoutAddress(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// paths answers questions where they are expected, and says what there is elsewhere.
func (o *serveOptions) paths(questions http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle(interpretPath, questions)
	// A Service reference without a path means the root.
	mux.Handle("/{$}", questions)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, fmt.Sprintf("there is no %s; questions go to %s, reviews to %s", r.URL.Path, interpretPath, validatePath), http.StatusNotFound)
	})
	return mux
}

// certify makes a certificate for a first try, and prints what callers need to trust it.
func (o *serveOptions) certify(ctx context.Context, s *session, server *webhook.Server, rules *servedRules) error {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if name, err := os.Hostname(); err == nil {
		hosts = append(hosts, name)
	}
	own, err := o.registration.client("", nil)
	if err != nil {
		return err
	}
	if host, _, err := net.SplitHostPort(addressOf(&own)); err == nil {
		hosts = append(hosts, host)
	}
	pair, authority, err := selfSigned(hosts)
	if err != nil {
		return fmt.Errorf("--self-signed: %w", err)
	}
	if o.registration.print == "" {
		_, err = s.out.Write(authority)
		err = errors.Join(err, s.out.Flush())
	} else if err = rules.wait(ctx); err == nil {
		err = o.registration.printTo(s, rules, authority)
	}
	if err != nil {
		return err
	}
	return webhook.WithTLS(&tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}})(server)
}

func newLogger(s *session, format string, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == logJSON {
		return slog.New(slog.NewJSONHandler(s.stderr, options))
	}
	return slog.New(slog.NewTextHandler(s.stderr, options))
}

// newRegistry makes the registry of a server's metrics, with those of the process.
func newRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "interpret_build_info", Help: "Always 1; the version is a label.",
		ConstLabels: prometheus.Labels{"version": versionText()},
	})
	build.Set(1)
	r.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// ruleCount counts the rules of each layer when somebody looks.
type ruleCount struct{ chain *interpreter.Chain }

var ruleCountDesc = prometheus.NewDesc("interpret_rules", "Rules in force, by layer.", []string{"layer"}, nil)

// Describe describes the metric.
func (c ruleCount) Describe(to chan<- *prometheus.Desc) { to <- ruleCountDesc }

// Collect counts.
func (c ruleCount) Collect(to chan<- prometheus.Metric) {
	for _, layer := range c.chain.Layers() {
		if lister, ok := layer.(interpreter.Lister); ok {
			to <- prometheus.MustNewConstMetric(ruleCountDesc, prometheus.GaugeValue, float64(len(lister.Entries())), layer.Name())
		}
	}
}

package main

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
	"github.com/kubeinterpret/interpret/webhook/admission"
)

// The paths that a server registers.
const (
	interpretPath = "/interpret"
	validatePath  = "/validate"
	convertPath   = "/convert"
)

// What --print-config prints.
const (
	printInterpreter = "interpreter"
	printAdmission   = "admission"
	printAll         = "all"
	printConversion  = "conversion"
)

const (
	// ownHookDomain ends the name of the webhook that a server registers.
	ownHookDomain = ".kubeinterpret.io"
	// ownHookSeconds is how long a question to a server may take. It is what the API documents for hooks that do
	// not say; a hook that the server asks in turn has the same time.
	ownHookSeconds = int32(webhook.DefaultTimeout / 1e9)
	// httpsPort is that of a URL and of a Service reference that name none.
	httpsPort = 443
)

// registrationFlags say how an API server finds this server, and what it is told.
type registrationFlags struct {
	print      string
	name       string
	url        string
	service    string
	caFile     string
	everything bool
}

func (f *registrationFlags) add(cmd *cobra.Command, flags *pflag.FlagSet) {
	kinds := []string{printInterpreter, printAdmission, printAll, printConversion}
	flags.Var(outputValue{&f.print, kinds}, "print-config", "print the configuration with which an API server finds this server: interpreter, admission (for /validate), all of that, or conversion (a patch for CRDs); and end, unless with --self-signed")
	flags.Lookup("print-config").NoOptDefVal = printInterpreter
	must(cmd.RegisterFlagCompletionFunc("print-config", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp)))
	flags.StringVar(&f.service, "service", "", "the Service before this server, NAMESPACE/NAME or NAMESPACE/NAME:PORT; hooks that lead there are not asked")
	flags.StringVar(&f.url, "url", "", "the https URL of this server, to which the paths are added; hooks that lead there are not asked")
	flags.StringVar(&f.caFile, "ca-file", "", "with --print-config, the CA certificates for the caBundle, in PEM; without it the caller's system decides")
	flags.StringVar(&f.name, "config-name", "interpret", "with --print-config, the name of the configuration; of several hooks for a kind the first by name is asked")
	flags.BoolVar(&f.everything, "include-all-kinds", false, "with --print-config, register the rules for all kinds, too; no hook by a later name and no rule of the control plane is asked then")
}

// complete looks at the flags before anything is done. PrintConfig without an address is an error unless there is
// going to be one.
func (f *registrationFlags) complete(addressToCome bool) error {
	if f.url != "" && f.service != "" {
		return usage("--url and --service exclude each other")
	}
	if f.url != "" {
		u, err := url.Parse(f.url)
		if err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return usage("--url: %q is no URL such as https://interpret.example.com", f.url)
		}
	}
	if f.service != "" {
		if _, err := f.serviceReference(""); err != nil {
			return err
		}
	}
	if wrong := validation.IsDNS1123Subdomain(f.name); len(wrong) > 0 {
		return usage("--config-name: %q: %s", f.name, wrong[0])
	}
	if f.print != "" && f.url == "" && f.service == "" && !addressToCome {
		return usage("--print-config needs --service or --url, where this server is found")
	}
	return nil
}

// serviceReference reads --service.
func (f *registrationFlags) serviceReference(path string) (*admissionregistrationv1.ServiceReference, error) {
	namespace, rest, _ := strings.Cut(f.service, "/")
	name, port, hasPort := strings.Cut(rest, ":")
	s := &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: name, Path: &path}
	number, err := strconv.ParseUint(port, 10, 16)
	if namespace == "" || name == "" || strings.Contains(name, "/") || hasPort && (err != nil || number == 0) {
		return nil, usage("--service: %q is not NAMESPACE/NAME or NAMESPACE/NAME:PORT", f.service)
	}
	if hasPort {
		s.Port = new(int32(number))
	}
	return s, nil
}

// client says how an API server calls a path of this server.
func (f *registrationFlags) client(path string, bundle []byte) (c admissionregistrationv1.WebhookClientConfig, err error) {
	c.CABundle = bundle
	if f.service != "" {
		c.Service, err = f.serviceReference(path)
		return c, err
	}
	u, err := url.Parse(f.url)
	if err != nil {
		return c, err
	}
	c.URL = new(u.JoinPath(path).String())
	return c, nil
}

// bundle reads --ca-file.
func (f *registrationFlags) bundle() ([]byte, error) {
	if f.caFile == "" {
		return nil, nil
	}
	data, err := os.ReadFile(f.caFile)
	if err != nil {
		return nil, fmt.Errorf("--ca-file: %w", plain(err))
	}
	if !x509.NewCertPool().AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("--ca-file: %s: there is no certificate in PEM in it", f.caFile)
	}
	return data, nil
}

// isOwn says whether a hook leads to this server, as far as the flags tell. One that does so by another name is
// found out when it is asked: see webhook.WithSkip.
func (f *registrationFlags) isOwn(w *v1alpha1.ResourceInterpreterWebhook) bool {
	own, err := f.client("", nil)
	if f.url == "" && f.service == "" || err != nil {
		return false
	}
	address := addressOf(&own)
	return address != "" && address == addressOf(&w.ClientConfig)
}

// addressOf is host and port of a hook, the same for a Service and for a URL with its DNS name.
func addressOf(c *admissionregistrationv1.WebhookClientConfig) string {
	host, port := "", strconv.Itoa(httpsPort)
	switch {
	case c.Service != nil:
		host = c.Service.Name + "." + c.Service.Namespace + ".svc"
		if c.Service.Port != nil {
			port = strconv.Itoa(int(*c.Service.Port))
		}
	case c.URL != nil:
		u, err := url.Parse(*c.URL)
		if err != nil {
			return ""
		}
		host, port = strings.ToLower(u.Hostname()), cmp.Or(u.Port(), port)
		if service, _, ok := strings.Cut(host, ".svc."); ok {
			host = service + ".svc"
		}
	}
	return net.JoinHostPort(host, port)
}

// registered is what a server can register, and why the rest is left out.
type registered struct {
	entries []interpreter.Entry
	// everything are rules for all kinds, patterns those for kinds of which a part has a "*" in it, labelled those
	// that are only for objects with certain labels.
	everything, patterns, labelled told
}

// told are operations by what answers them, to be told of.
type told map[string][]string

func (t *told) add(layer interpreter.Layer, e interpreter.Entry) {
	if *t == nil {
		*t = told{}
	}
	key := fmt.Sprintf("%s by %s %s", interpreter.KindString(e.Kind), layer.Name(), e.Rule)
	(*t)[key] = append((*t)[key], string(e.Operation))
}

// Entries lists what is registered.
func (r *registered) Entries() []interpreter.Entry { return r.entries }

// register sorts the rules of a chain. The webhooks in it are left out: they are registered already.
func (f *registrationFlags) register(chain *interpreter.Chain, webhooks interpreter.Layer) *registered {
	r := &registered{}
	for _, layer := range chain.Layers() {
		lister, ok := layer.(interpreter.Lister)
		if !ok || layer == webhooks {
			continue
		}
		for _, e := range lister.Entries() {
			switch {
			case e.Operation == interpreter.Prune:
			case e.Kind == schema.GroupVersionKind{Group: "*", Version: "*", Kind: "*"} && !f.everything:
				r.everything.add(layer, e)
			case len(webhook.RulesOf(&registered{entries: []interpreter.Entry{e}})) == 0:
				r.patterns.add(layer, e)
			default:
				r.entries = append(r.entries, e)
				if !answersAll(chain, e) {
					r.labelled.add(layer, e)
				}
			}
		}
	}
	return r
}

// answersAll says whether some rule answers for an entry's kind whatever the labels of the object.
func answersAll(chain *interpreter.Chain, e interpreter.Entry) bool {
	for _, layer := range chain.Layers() {
		for _, rule := range layer.Rules(e.Kind, e.Operation) {
			if rule.Selector == nil {
				return true
			}
		}
	}
	return false
}

// configuration is the webhook configuration for what is registered.
func (f *registrationFlags) configuration(r *registered, bundle []byte) (*v1alpha1.ResourceInterpreterWebhookConfiguration, error) {
	client, err := f.client(interpretPath, bundle)
	if err != nil {
		return nil, err
	}
	c := &v1alpha1.ResourceInterpreterWebhookConfiguration{
		TypeMeta: metav1.TypeMeta{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindResourceInterpreterWebhookConfiguration,
		},
		ObjectMeta: metav1.ObjectMeta{Name: f.name},
		Webhooks: []v1alpha1.ResourceInterpreterWebhook{{
			Name:                       "interpret" + ownHookDomain,
			ClientConfig:               client,
			Rules:                      webhook.RulesOf(r),
			TimeoutSeconds:             new(ownHookSeconds),
			InterpreterContextVersions: []string{v1alpha1.GroupVersion.Version},
		}},
	}
	return c, webhook.Validate(c).ToAggregate()
}

// printTo writes what --print-config asks for.
func (f *registrationFlags) printTo(s *session, rules *servedRules, bundle []byte) error {
	var docs [][]byte
	if f.print == printInterpreter || f.print == printAll {
		r := f.register(rules.chain, rules.webhooks)
		c, err := f.configuration(r, bundle)
		if err != nil {
			return fmt.Errorf("the configuration would not be accepted: %w", err)
		}
		text, err := yaml.Marshal(c)
		if err != nil {
			return err
		}
		docs = append(docs, append([]byte(r.comment()), text...))
	}
	if f.print == printAdmission || f.print == printAll {
		client, err := f.client(validatePath, bundle)
		if err != nil {
			return err
		}
		text, err := yaml.Marshal(admission.Registration(f.name, client))
		if err != nil {
			return err
		}
		docs = append(docs, text)
	}
	if f.print == printConversion {
		text, err := f.conversionPatch(rules.converters, bundle)
		if err != nil {
			return err
		}
		docs = append(docs, text)
	}
	_, err := s.out.Write(bytes.Join(docs, []byte("---\n")))
	return errors.Join(err, s.out.Flush())
}

// comment says what a reader of the configuration would miss in it.
func (r *registered) comment() string {
	var b strings.Builder
	b.WriteString("# Prune is answered, and not registered: an API server refuses it in a rule.\n")
	for _, part := range []struct {
		says string
		told told
	}{
		{"Not registered, since a rule cannot have a part of a name:", r.patterns},
		{"Not registered, since nobody else would be asked about anything then (--include-all-kinds):", r.everything},
		{"Only for objects with certain labels; for others the question fails, for no other rule answers it:", r.labelled},
	} {
		if len(part.told) > 0 {
			fmt.Fprintf(&b, "# %s\n", part.says)
		}
		for _, key := range slices.Sorted(maps.Keys(part.told)) {
			fmt.Fprintf(&b, "#   %s: %s\n", key, strings.Join(part.told[key], ", "))
		}
	}
	return b.String()
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/luakube"
	"github.com/kubeinterpret/interpret/webhook"
	"github.com/kubeinterpret/interpret/webhook/conversion"
)

const convertersFlag = "--converters"

// fileConverters answers conversions with the converters in files.
type fileConverters struct {
	engine  *luakube.Engine
	handler *conversion.Handler
}

// convertersInFiles makes what answers conversions, and reads the converters for the first time.
func (o *serveOptions) convertersInFiles(ctx context.Context, s *session, r *servedRules, logger *slog.Logger, registry *prometheus.Registry, metrics *fileMetrics) error {
	none, err := conversion.NewSet()
	if err != nil {
		return err
	}
	c := &fileConverters{engine: r.engine}
	c.handler, err = conversion.NewHandler(none, webhook.WithLogger(logger), webhook.WithHandlerRegisterer(registry), webhook.WithMaxTime(o.answer))
	if err != nil {
		return err
	}
	files := &watchedFiles{
		what: "converters", flag: convertersFlag, names: o.crds.converters, recursive: o.recursive, parse: c.parse,
		logger: logger, metrics: metrics, poll: filesPoll,
	}
	if err := files.load(ctx, s); err != nil {
		return err
	}
	r.converters = c
	r.follow = append(r.follow, files.run)
	return nil
}

func (c *fileConverters) parse(s *session, inputs []input) (put func() ([]slog.Attr, error), err error) {
	list, err := parseConverters(s, inputs)
	if err != nil {
		return nil, err
	}
	set, err := compileConverters(c.engine, list)
	if err != nil {
		return nil, err
	}
	return func() ([]slog.Attr, error) {
		c.handler.Replace(set)
		return []slog.Attr{slog.Int("converters", len(list))}, nil
	}, nil
}

// parseConverters reads converters. What is something else is an error.
func parseConverters(s *session, inputs []input) ([]*conversion.LuaConverter, error) {
	var list []*conversion.LuaConverter
	var errs []error
	for _, in := range inputs {
		docs := s.split(in)
		for i := range docs {
			converter, err := conversion.FromDocument(&docs[i])
			if err != nil {
				errs = append(errs, err)
			}
			if converter != nil {
				list = append(list, converter)
			}
		}
	}
	return list, errors.Join(errs...)
}

// compileConverters makes converters ready. Two of one kind are an error that names their files.
func compileConverters(engine *luakube.Engine, list []*conversion.LuaConverter) (*conversion.Set, error) {
	var registrations []conversion.Registration
	var files []string
	var errs []error
	for _, converter := range list {
		registration, err := converter.Compile(engine)
		if err != nil {
			errs = append(errs, &failure{err})
			continue
		}
		registrations = append(registrations, registration)
		files = append(files, converter.File())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	set, err := conversion.NewSet(registrations...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", some(files), err)
	}
	return set, nil
}

// ServeHTTP answers a review.
func (c *fileConverters) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }

// conversionPatch is what has an API server ask this server, as a merge patch for each CRD that there is a converter of.
func (f *registrationFlags) conversionPatch(c *fileConverters, bundle []byte) ([]byte, error) {
	client, err := f.client(convertPath, bundle)
	if err != nil {
		return nil, err
	}
	config := &apiextensionsv1.WebhookClientConfig{URL: client.URL, CABundle: client.CABundle}
	if s := client.Service; s != nil {
		config.Service = &apiextensionsv1.ServiceReference{Namespace: s.Namespace, Name: s.Name, Path: s.Path, Port: s.Port}
	}
	text, err := yaml.Marshal(map[string]any{"spec": map[string]any{"conversion": &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook:  &apiextensionsv1.WebhookConversion{ClientConfig: config, ConversionReviewVersions: []string{apiextensionsv1.SchemeGroupVersion.Version}},
	}}})
	if err != nil {
		return nil, err
	}
	var kinds []string
	for _, kind := range c.handler.Converters().Kinds() {
		kinds = append(kinds, kind.String())
	}
	return append([]byte("# For the CustomResourceDefinitions of "+strings.Join(kinds, ", ")+":\n# kubectl patch crd NAME --type merge --patch-file FILE\n"), text...), nil
}

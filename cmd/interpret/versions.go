package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/interpreter/versions"
	"github.com/kubeinterpret/interpret/webhook"
	"github.com/kubeinterpret/interpret/webhook/conversion"
)

const convertVersionsFlag = "--convert-versions"

// addConvert adds the flag that says whether rules answer for other versions.
func (f *crdFlags) addConvert(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.convert, "convert-versions", f.convert, "with a CRD, a rule for one version answers for the other versions of the kind, too; objects are converted as the CRD says")
}

// addConverters adds the flag that names converters.
func (f *crdFlags) addConverters(cmd *cobra.Command, help string) {
	cmd.Flags().StringSliceVar(&f.converters, "converters", nil, help)
	must(cmd.MarkFlagFilename("converters", "yaml", "yml", "json"))
}

// readConverters reads the converters that the flag names.
func (f *crdFlags) readConverters(ctx context.Context, s *session, recursive bool) ([]*conversion.LuaConverter, error) {
	inputs, err := s.read(ctx, convertersFlag, f.converters, recursive)
	list, bad := parseConverters(s, inputs)
	return list, errors.Join(err, bad)
}

// otherVersions has rules for one version of a custom resource answer for its other versions. Nil has them not.
type otherVersions struct {
	definitions definition.Definitions
	client      *conversion.Client
	// files gives the converters in files, which are asked rather than webhooks; nil where there are none.
	files func() *conversion.Set
}

// newOtherVersions makes it of CRDs. The options are about calling the conversion webhooks that they name. Whoever gets
// it closes it.
func newOtherVersions(definitions definition.Definitions, files func() *conversion.Set, options ...webhook.Option) (*otherVersions, error) {
	client, err := conversion.NewClient(options...)
	return &otherVersions{definitions: definitions, client: client, files: files}, err
}

// close closes the connections to conversion webhooks.
func (v *otherVersions) close() {
	if v != nil {
		v.client.Close()
	}
}

// around puts what converts around a layer, once.
func (v *otherVersions) around(l interpreter.Layer) interpreter.Layer {
	if _, is := l.(*versions.Layer); v == nil || l == nil || is {
		return l
	}
	return versions.New(l, v.definitions, v)
}

// Convert converts with a converter in files, or else as the CRD says.
func (v *otherVersions) Convert(ctx context.Context, d *definition.Definition, objects []*unstructured.Unstructured, version string) ([]*unstructured.Unstructured, error) {
	if set := v.files(); set != nil && set.Has(d.GroupKind()) {
		converted, err := set.Convert(ctx, objects, schema.GroupVersion{Group: d.GroupKind().Group, Version: version})
		if err != nil {
			err = fmt.Errorf("%s %s: %w", definition.Kind, d.Name(), err)
		}
		return converted, err
	}
	converted, err := v.client.Convert(ctx, d, objects, version)
	if errors.Is(err, webhook.ErrUnreachable) || errors.Is(err, webhook.ErrUnavailable) {
		err = fmt.Errorf("%w; %s names converters to ask instead, and %s=false leaves other versions to the layers below", err, convertersFlag, convertVersionsFlag)
	}
	return converted, err
}

// otherVersions is nil if rules for one version shall not answer for others.
func (o *serveOptions) otherVersions(r *servedRules, definitions definition.Definitions, options ...webhook.Option) (*otherVersions, error) {
	if !o.crds.convert {
		return nil, nil
	}
	return newOtherVersions(definitions, func() *conversion.Set {
		if r.converters == nil {
			return nil
		}
		return r.converters.handler.Converters()
	}, options...)
}

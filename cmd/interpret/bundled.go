package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/builtin/thirdparty"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/kinds"
)

// newBundled makes interpret bundled. Reading the rules that answer is how people learn to write their own.
func newBundled(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "bundled (NAME | APIVERSION KIND)",
		Short: "Print the bundled customizations for a kind",
		Long: `Print the customizations that come with interpret for a kind, as they were written. A copy under another name,
given with -f, answers before them. Kinds of Kubernetes itself have rules that are no customizations; interpret kinds
lists those too. A name is as for interpret resources.`,
		Example: strings.TrimPrefix(`
  interpret bundled cloneset
  interpret bundled apps.kruise.io/v1alpha1 CloneSet`, "\n"),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 && len(args) != 2 {
				return usage("give the name of a resource, such as clonesets, or an apiVersion and a kind, such as apps.kruise.io/v1alpha1 CloneSet")
			}
			return nil
		},
		ValidArgsFunction: completeBundled,
		RunE: func(cmd *cobra.Command, args []string) error {
			bundle := thirdparty.New()
			kind, err := bundledKind(cmd.Context(), bundle, args)
			if err != nil {
				return err
			}
			text := bundle.Source(kind)
			if text == nil {
				return &failure{fmt.Errorf("no customization is bundled for %s; interpret kinds lists who answers about it", interpreter.KindString(kind))}
			}
			_, err = s.out.Write(text)
			return err
		},
	}
}

// bundledKind is the kind that is meant: what is written out, or what a name fits best.
func bundledKind(ctx context.Context, bundle *thirdparty.Bundle, args []string) (schema.GroupVersionKind, error) {
	if len(args) == 2 {
		kind := schema.FromAPIVersionAndKind(args[0], args[1])
		if kind.Version == "" {
			return kind, usage("%q is no apiVersion such as apps/v1", args[0])
		}
		return kind, nil
	}
	r, err := kinds.New(kinds.Listed(bundle.Kinds()...)).One(ctx, args[0])
	switch {
	case errors.Is(err, kinds.ErrInvalidName):
		return schema.GroupVersionKind{}, usage("%w", err)
	case meta.IsNoMatchError(err):
		return schema.GroupVersionKind{}, &failure{fmt.Errorf("no customization is bundled for it: %w", err)}
	case err != nil:
		return schema.GroupVersionKind{}, &failure{err}
	}
	return r.Kind, nil
}

// completeBundled completes an apiVersion, and then the kinds in it.
func completeBundled(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, kind := range thirdparty.New().Kinds() {
		switch {
		case len(args) == 0:
			words = append(words, kind.GroupVersion().String())
		case len(args) == 1 && args[0] == kind.GroupVersion().String():
			words = append(words, kind.Kind)
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

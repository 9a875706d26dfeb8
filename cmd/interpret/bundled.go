package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/builtin/thirdparty"
	"github.com/kubeinterpret/interpret/interpreter"
)

// newBundled makes interpret bundled. Reading the rules that answer is how people learn to write their own.
func newBundled(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "bundled APIVERSION KIND",
		Short: "Print the bundled customizations for a kind",
		Long: `Print the customizations that come with interpret for a kind, as they were written. A copy under another name,
given with -f, answers before them. Kinds of Kubernetes itself have rules that are no customizations; interpret kinds
lists those too.`,
		Example: strings.TrimPrefix(`
  interpret bundled apps.kruise.io/v1alpha1 CloneSet`, "\n"),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usage("give an apiVersion and a kind, such as apps.kruise.io/v1alpha1 CloneSet")
			}
			return nil
		},
		ValidArgsFunction: completeBundled,
		RunE: func(_ *cobra.Command, args []string) error {
			kind := schema.FromAPIVersionAndKind(args[0], args[1])
			if kind.Version == "" {
				return usage("%q is no apiVersion such as apps/v1", args[0])
			}
			text := thirdparty.New().Source(kind)
			if text == nil {
				return &failure{fmt.Errorf("no customization is bundled for %s; interpret kinds lists who answers about it", interpreter.KindString(kind))}
			}
			_, err := s.out.Write(text)
			return err
		},
	}
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

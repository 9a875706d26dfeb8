package builtin

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// serviceAccount is an identity of pods, with secrets that they may use and that their images are pulled with.
var serviceAccount = kind{
	gvk: corev1.SchemeGroupVersion.WithKind("ServiceAccount"),
	rules: rules{
		interpreter.Retain: interpreter.RetainFunc(retainServiceAccount),
		interpreter.Prune:  pruneFunc(pruneServiceAccount),
	},
	extra: rules{
		interpreter.InterpretDependency: interpreter.DependencyFunc(serviceAccountDependencies),
	},
}

// accountSecrets are the fields with references to secrets, to which the member's token controller and
// platforms add their own.
var accountSecrets = []string{"secrets", "imagePullSecrets"}

// retainServiceAccount appends the member's references to the template's. An entry without a name cannot be
// told from another and is refused.
//
// Kubernetes before 1.24 adds a token to every account, and platforms add the credentials of their registry.
// Without them the controllers that put them there would do so again, and so on for ever.
func retainServiceAccount(desired, observed *unstructured.Unstructured) error {
	for _, field := range accountSecrets {
		wanted, err := listAt(desired.Object, field)
		if err != nil {
			return err
		}
		known := map[string]bool{}
		err = eachNamed(desired.Object, field, func(name string, _ map[string]any) { known[name] = true })
		if err != nil {
			return err
		}
		added := false
		err = eachNamed(observed.Object, field, func(name string, entry map[string]any) {
			if !known[name] {
				known[name], added = true, true
				wanted = append(wanted, interpreter.CloneValue(entry))
			}
		})
		if err != nil {
			return err
		}
		if added {
			desired.Object[field] = wanted
		}
	}
	return nil
}

// eachNamed calls fn with every entry of a list of references, all of which must have names.
func eachNamed(obj map[string]any, field string, fn func(name string, entry map[string]any)) error {
	return eachAt(obj, func(entry map[string]any) error {
		name, err := textAt(entry, "name")
		if err == nil && name == "" {
			err = fault([]string{"name"}, "is required")
		}
		if err == nil {
			fn(name, entry)
		}
		return err
	}, field)
}

// pruneServiceAccount takes away the secrets that the control plane's token controller, up to Kubernetes
// 1.23, made for the account.
func pruneServiceAccount(obj map[string]any) error {
	account, err := textAt(obj, "metadata", "name")
	if err != nil {
		return err
	}
	list, err := listAt(obj, "secrets")
	if err != nil {
		return err
	}
	err = eachAt(obj, func(entry map[string]any) error {
		_, err := textAt(entry, "name")
		return err
	}, "secrets")
	if err != nil {
		return err
	}
	kept := slices.DeleteFunc(list, func(v any) bool {
		entry, _ := v.(map[string]any)
		name, _ := entry["name"].(string)
		return isTokenOf(account, name)
	})
	if len(kept) < len(list) {
		obj["secrets"] = kept
	}
	return nil
}

// isTokenOf goes by the name that the token controller made up: the account's, "token" and five random letters.
func isTokenOf(account, secret string) bool { return strings.HasPrefix(secret, account+"-token-") }

// serviceAccountDependencies are the account's secrets, without those that pruning takes away: each
// cluster makes its own.
func serviceAccountDependencies(obj *unstructured.Unstructured) ([]interpreter.DependentObjectReference, error) {
	account, err := nameOf(obj)
	if err != nil {
		return nil, err
	}
	namespace, err := namespaceOf(obj)
	if err != nil {
		return nil, err
	}
	var list []interpreter.DependentObjectReference
	for _, field := range accountSecrets {
		err := eachAt(obj.Object, func(entry map[string]any) error {
			name, err := textAt(entry, "name")
			if name != "" && !isTokenOf(account, name) {
				list = append(list, reference(secret.gvk, namespace, name))
			}
			return err
		}, field)
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

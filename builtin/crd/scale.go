package crd

import (
	"math"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter/definition"
)

// scale is what the scale subresource of a version says.
type scale struct {
	// spec leads to the wanted replicas, status to those there are, selector to the label selector of their pods,
	// which is nil if there is none.
	spec, status, selector []string
	// root is the schema of the objects, for defaults.
	root func() (*structuralschema.Structural, error)
}

// newScale is nil if the version cannot be scaled.
func newScale(v *definition.Version) *scale {
	if v.Scale == nil || definition.ScalePath(v.Scale.SpecReplicasPath) == nil {
		return nil
	}
	sc := &scale{
		spec: definition.ScalePath(v.Scale.SpecReplicasPath), status: definition.ScalePath(v.Scale.StatusReplicasPath),
		root: v.Schema,
	}
	if path := v.Scale.LabelSelectorPath; path != nil {
		sc.selector = definition.ScalePath(*path)
	}
	return sc
}

// defaultAt is the number that an API server fills in where an object has none at a path: the default of the field, or
// that of an object around it that is not there either. Without one it is 1, as for workloads of Kubernetes.
func defaultAt(s *structuralschema.Structural, obj map[string]any, path []string) int32 {
	for i, name := range path {
		property, ok := s.Properties[name]
		if !ok {
			break
		}
		// The server fills in from the outside.
		if obj[name] == nil {
			value := property.Default.Object
			if rest := path[i+1:]; len(rest) > 0 {
				outer, _ := value.(map[string]any)
				value, _ = valueAt(outer, rest...)
			}
			if n, ok := integer(value); ok && n >= 0 && n <= math.MaxInt32 {
				return int32(n)
			}
		}
		s = &property
		obj, _ = obj[name].(map[string]any)
	}
	return 1
}

// replicas is how many replicas an object asks for.
func (sc *scale) replicas(obj *unstructured.Unstructured) (int32, error) {
	n, found, err := intAt(obj.Object, sc.spec...)
	if err != nil {
		return 0, err
	}
	if !found {
		root, err := sc.root()
		if err != nil {
			return 0, err
		}
		return defaultAt(root, obj.Object, sc.spec), nil
	}
	if n < 0 || n > math.MaxInt32 {
		return 0, fault(sc.spec, "must be a number of replicas, got %d", n)
	}
	return int32(n), nil
}

// revise is ReviseReplica. What is there must be a number, so that nobody's other data is lost.
func (sc *scale) revise(obj *unstructured.Unstructured, n int32) error {
	if _, _, err := intAt(obj.Object, sc.spec...); err != nil {
		return err
	}
	return set(obj.Object, int64(n), sc.spec...)
}

// retainLabel on a template says that something in the member clusters, an autoscaler as a rule, sets the number of
// replicas there. It is Karmada's.
const retainLabel = "resourcetemplate.karmada.io/retain-replicas"

// retain keeps the number of replicas of a labelled template. A member whose object has none has not been scaled.
func (sc *scale) retain(desired, observed *unstructured.Unstructured) error {
	label, err := textAt(desired.Object, "metadata", "labels", retainLabel)
	if err != nil || label != "true" {
		return err
	}
	n, found, err := intAt(observed.Object, sc.spec...)
	if !found || err != nil {
		return err
	}
	return set(desired.Object, n, sc.spec...)
}

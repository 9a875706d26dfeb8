package definition

import (
	"fmt"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ScalePath takes a path of a scale subresource apart, such as .spec.replicas. An API server only takes paths
// without indexes. It is nil for an empty path.
func ScalePath(path string) []string {
	path = strings.TrimPrefix(path, ".")
	if path == "" {
		return nil
	}
	return strings.Split(path, ".")
}

// scaleFits says whether validateScale would find nothing.
func (v *Version) scaleFits(obj *unstructured.Unstructured) bool {
	return v.Scale == nil || len(v.validateScale(obj)) == 0
}

// validateScale looks at what the scale subresource reads, since without it scaling would not work.
func (v *Version) validateScale(obj *unstructured.Unstructured) field.ErrorList {
	if v.Scale == nil {
		return nil
	}
	var errs field.ErrorList
	for _, path := range []string{v.Scale.SpecReplicasPath, v.Scale.StatusReplicasPath} {
		at := field.NewPath(strings.TrimPrefix(path, "."))
		n, _, err := unstructured.NestedInt64(obj.Object, ScalePath(path)...)
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(at, n, err.Error()))
		case n < 0 || n > math.MaxInt32:
			errs = append(errs, field.Invalid(at, n, fmt.Sprintf("must be from 0 to %d", math.MaxInt32)))
		}
	}
	if path := v.Scale.LabelSelectorPath; path != nil {
		if text, _, err := unstructured.NestedString(obj.Object, ScalePath(*path)...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath(strings.TrimPrefix(*path, ".")), text, err.Error()))
		}
	}
	return errs
}

package definition

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Verdicts are whether the quick check passes an object, and what the API server's code says of it.
func Verdicts(ctx context.Context, v *Version, obj *unstructured.Unstructured) (bool, field.ErrorList, error) {
	s, err := v.schemas()
	if err != nil {
		return false, nil, err
	}
	return s.check.passes(obj.Object) && v.scaleFits(obj), v.validateAnew(ctx, s, obj, nil), ctx.Err()
}

package conversion

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonutil "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubeinterpret/interpret/interpreter"
)

// Converter converts the objects of a kind, one at a time.
type Converter interface {
	// Convert gives an object in another version of its group. The object is the converter's own, to change and give
	// back; the answer is the caller's. The desired version is one of those that the converter is registered with, and
	// not the object's. It may be called by many goroutines at once.
	Convert(ctx context.Context, obj *unstructured.Unstructured, desired schema.GroupVersion) (*unstructured.Unstructured, error)
}

// Func is a function that is a Converter.
type Func func(ctx context.Context, obj *unstructured.Unstructured, desired schema.GroupVersion) (*unstructured.Unstructured, error)

// Convert calls f.
func (f Func) Convert(ctx context.Context, obj *unstructured.Unstructured, desired schema.GroupVersion) (*unstructured.Unstructured, error) {
	return f(ctx, obj, desired)
}

// Registration says what a converter is for.
type Registration struct {
	Kind schema.GroupKind
	// Versions are those between which the converter converts, in any direction.
	Versions  []string
	Converter Converter
}

// Set is the converters that there are, one for a kind. It is immutable and safe for many goroutines.
type Set struct {
	byKind map[schema.GroupKind]Registration
}

// NewSet makes a set. Errors, which come joined, are two converters for one kind and registrations that say too little.
func NewSet(list ...Registration) (*Set, error) {
	s := &Set{byKind: map[schema.GroupKind]Registration{}}
	var errs []error
	for _, r := range list {
		_, twice := s.byKind[r.Kind]
		switch {
		case r.Kind.Group == "" || r.Kind.Kind == "":
			errs = append(errs, fmt.Errorf("a converter needs a group and a kind, got %q and %q", r.Kind.Group, r.Kind.Kind))
		case len(r.Versions) == 0:
			errs = append(errs, fmt.Errorf("the converter of %s has no versions", r.Kind))
		case r.Converter == nil:
			errs = append(errs, fmt.Errorf("the converter of %s is nil", r.Kind))
		case twice:
			errs = append(errs, fmt.Errorf("there are two converters of %s", r.Kind))
		}
		r.Versions = slices.Clone(r.Versions)
		s.byKind[r.Kind] = r
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return s, nil
}

// Has says whether there is a converter of a kind.
func (s *Set) Has(kind schema.GroupKind) bool {
	_, ok := s.byKind[kind]
	return ok
}

// Kinds lists the kinds that there are converters of, in a fixed order.
func (s *Set) Kinds() []schema.GroupKind {
	list := make([]schema.GroupKind, 0, len(s.byKind))
	for kind := range s.byKind {
		list = append(list, kind)
	}
	slices.SortFunc(list, func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	return list
}

// Convert gives objects in another version, all of them or none, in their order. Objects that are in that version
// already are given as they are; the others are not modified. The error of objects that cannot be converted is a
// *ListError.
func (s *Set) Convert(ctx context.Context, objects []*unstructured.Unstructured, desired schema.GroupVersion) ([]*unstructured.Unstructured, error) {
	converted := make([]*unstructured.Unstructured, len(objects))
	err := s.each(ctx, len(objects), desired, func(i int) (obj *unstructured.Unstructured, err error) {
		obj = objects[i]
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("panic: %v", v)
			}
		}()
		converter, err := s.find(obj, desired)
		if err != nil {
			return obj, err
		}
		if converted[i] = obj; converter != nil {
			converted[i], err = convert(ctx, converter, interpreter.Clone(obj), desired)
		}
		return obj, err
	})
	if err != nil {
		return nil, err
	}
	return converted, nil
}

// each converts one object after the other, and goes on after one that failed, as long as there is time.
func (s *Set) each(ctx context.Context, n int, desired schema.GroupVersion, one func(i int) (*unstructured.Unstructured, error)) error {
	failed := &ListError{Desired: desired, Total: n}
	for i := range n {
		if ctx.Err() != nil {
			return fmt.Errorf("%w after %d of %d objects", context.Cause(ctx), i, n)
		}
		if obj, err := one(i); err != nil {
			failed.Objects = append(failed.Objects, newObjectError(i, obj, err))
		}
	}
	if len(failed.Objects) > 0 {
		return failed
	}
	return nil
}

// find gives the converter that an object needs, nil if it is in the desired version.
func (s *Set) find(obj *unstructured.Unstructured, desired schema.GroupVersion) (Converter, error) {
	from := obj.GroupVersionKind()
	if from.Version == "" || from.Kind == "" {
		return nil, errors.New("no object: it has no apiVersion or no kind")
	}
	r, ok := s.byKind[from.GroupKind()]
	if !ok {
		return nil, s.unknownKind(from.GroupKind())
	}
	if desired.Group != from.Group {
		return nil, fmt.Errorf("a %s cannot become one of the group %q", r.Kind, desired.Group)
	}
	for _, version := range []string{from.Version, desired.Version} {
		if !slices.Contains(r.Versions, version) {
			return nil, fmt.Errorf("the converter of %s knows no version %s (have %s)", r.Kind, version, strings.Join(r.Versions, ", "))
		}
	}
	if from.Version == desired.Version {
		return nil, nil
	}
	return r.Converter, nil
}

func (s *Set) unknownKind(kind schema.GroupKind) error {
	var have []string
	for _, k := range s.Kinds() {
		have = append(have, k.String())
	}
	hint := ""
	if near := interpreter.Nearest(kind.String(), have); near != "" {
		hint = fmt.Sprintf(", did you mean %s?", near)
	}
	if len(have) == 0 {
		have = []string{"none"}
	}
	return fmt.Errorf("there is no converter of %s%s (have %s)", kind, hint, strings.Join(have, ", "))
}

// convert has an object, which the converter may change, converted, and holds the answer to the rules of the API.
func convert(ctx context.Context, c Converter, obj *unstructured.Unstructured, desired schema.GroupVersion) (*unstructured.Unstructured, error) {
	// The converter may change the object that it is given.
	before := map[string]any{"kind": obj.Object["kind"]}
	if metadata, ok := obj.Object["metadata"]; ok {
		before["metadata"] = interpreter.CloneValue(metadata)
	}
	converted, err := c.Convert(ctx, obj, desired)
	if err != nil {
		return nil, err
	}
	if converted == nil || converted.Object == nil {
		return nil, errors.New("the converter gave no object and no error")
	}
	if err := checkConverted(&unstructured.Unstructured{Object: before}, converted, desired); err != nil {
		return nil, err
	}
	return converted, nil
}

// decodeObject reads one object of a review. Whole numbers come out as int64, as everywhere in unstructured objects.
func decodeObject(raw []byte) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	if len(raw) == 0 { // That is what null is decoded to.
		return obj, errors.New("no object: null")
	}
	if err := jsonutil.Unmarshal(raw, &obj.Object); err != nil {
		return obj, fmt.Errorf("no object: %w", err)
	}
	return obj, nil
}

// encodeObject writes one object of a review.
func encodeObject(obj *unstructured.Unstructured) ([]byte, error) {
	raw, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("it cannot be written as JSON: %w", err)
	}
	return raw, nil
}

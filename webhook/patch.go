package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	evanphx "github.com/evanphx/json-patch/v5"
	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	jsonutil "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubeinterpret/interpret/interpreter"
)

const (
	// The API server takes no longer patches from its users either.
	maxPatchOperations = 10000
	// How many bytes the copy operations of a patch may add up to; doubling would go far in few operations.
	// No object that an API server stores is larger.
	maxPatchCopies = 3 << 20
)

// makePatch is the RFC 6902 patch that turns one object into the other, nil when they are equal. The order of
// its operations may differ between calls, where they do not depend on each other.
func makePatch(from, to map[string]any) ([]byte, error) {
	before, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(to)
	if err != nil {
		return nil, err
	}
	operations, err := jsonpatch.CreatePatch(before, after)
	if slices.ContainsFunc(operations, throughEmptyName) {
		operations, err = wholeFields(from, to)
	}
	if err != nil || len(operations) == 0 {
		return nil, err
	}
	return json.Marshal(operations)
}

// throughEmptyName says whether an operation's path has an empty name in it. RFC 6901 allows that, and the
// library that clients apply patches with, here and in Karmada, takes it for something else.
func throughEmptyName(o jsonpatch.Operation) bool {
	return strings.Contains(o.Path, "//") || strings.HasSuffix(o.Path, "/")
}

// wholeFields is a patch that puts the top-level fields that differ in place as a whole.
func wholeFields(from, to map[string]any) ([]jsonpatch.Operation, error) {
	var operations []jsonpatch.Operation
	names := slices.Concat(slices.Collect(maps.Keys(from)), slices.Collect(maps.Keys(to)))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		before, had := from[name]
		after, has := to[name]
		was, err := json.Marshal(before)
		if err != nil {
			return nil, err
		}
		is, err := json.Marshal(after)
		if err != nil {
			return nil, err
		}
		path := "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		switch {
		case had == has && bytes.Equal(was, is):
		case name == "":
			return nil, errors.New("a patch cannot change a field without a name")
		case has:
			operations = append(operations, jsonpatch.NewOperation("add", path, after))
		default:
			operations = append(operations, jsonpatch.NewOperation("remove", path, nil))
		}
	}
	return operations, nil
}

// applyPatch gives the object that an RFC 6902 patch makes of the JSON of another. The patch comes from
// another program, so what it may cost is bounded.
func applyPatch(object, patch []byte) (map[string]any, error) {
	operations, err := evanphx.DecodePatch(patch)
	if err == nil && operations == nil {
		err = errors.New("null is not a list")
	}
	if err != nil {
		return nil, fmt.Errorf("not an RFC 6902 patch: %w", err)
	}
	if len(operations) > maxPatchOperations {
		return nil, fmt.Errorf("%d operations, at most %d are allowed", len(operations), maxPatchOperations)
	}
	options := evanphx.NewApplyOptions()
	options.AccumulatedCopySizeLimit = maxPatchCopies
	patched, err := operations.ApplyWithOptions(object, options)
	if err != nil {
		return nil, err
	}
	result := map[string]any{}
	if err := jsonutil.Unmarshal(patched, &result); err != nil {
		return nil, fmt.Errorf("the result is not an object: %w", err)
	}
	if result == nil {
		return nil, errors.New("the result is null")
	}
	return result, nil
}

// sameObject insists that a patched object is still the one that was asked about.
func sameObject(patched map[string]any, asked *unstructured.Unstructured) error {
	p := &unstructured.Unstructured{Object: patched}
	for _, f := range []struct{ path, got, want string }{
		{"apiVersion", p.GetAPIVersion(), asked.GetAPIVersion()},
		{"kind", p.GetKind(), asked.GetKind()},
		{"metadata.namespace", p.GetNamespace(), asked.GetNamespace()},
		{"metadata.name", p.GetName(), asked.GetName()},
	} {
		if f.got != f.want {
			return fmt.Errorf("%w: %s is %q, was %q", ErrOtherObject, f.path, f.got, f.want)
		}
	}
	return nil
}

// only gives a copy of the object asked about that has nothing of the patched one but some fields.
func only(fields []string, patched map[string]any, asked *unstructured.Unstructured) map[string]any {
	object := interpreter.Clone(asked).Object
	for _, name := range fields {
		if v, ok := patched[name]; ok {
			object[name] = v
		} else {
			delete(object, name)
		}
	}
	return object
}

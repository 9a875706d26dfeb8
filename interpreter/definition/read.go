package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kubeinterpret/interpret/interpreter/manifest"
)

// Kind is the kind of CRDs.
const Kind = "CustomResourceDefinition"

// ErrOtherKind means that an object is no CRD.
var ErrOtherKind = errors.New("not a " + Kind)

// Parse reads the CRDs of a YAML or JSON stream; Lists of them are opened. File names the stream in messages.
// What is no CRD is an error. All errors come back joined, and with them the CRDs that are sound.
func Parse(file string, data []byte) ([]*Definition, error) {
	var list []*Definition
	var errs []error
	docs := manifest.Split(file, data)
	for i := range docs {
		found, err := FromDocument(&docs[i])
		errs = append(errs, err)
		list = append(list, found...)
	}
	return list, errors.Join(errs...)
}

// typed is what is looked at first.
type typed struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Items      []json.RawMessage `json:"items"`
}

// FromDocument reads the CRD, or the List of them, that a document holds. An empty document holds none. Schemas
// are not looked at yet; see Definition.Problems.
func FromDocument(doc *manifest.Document) ([]*Definition, error) {
	data, err := doc.JSON()
	if data == nil || err != nil {
		return nil, err
	}
	var head typed
	if err := json.Unmarshal(data, &head); err != nil {
		root, _ := doc.Root()
		return nil, doc.ErrorAt(root, fmt.Errorf("%w: apiVersion and kind must be texts of an object", ErrOtherKind))
	}
	if head.Kind != "List" && head.Kind != Kind+"List" || head.Items == nil {
		d, err := one(doc, nil, head, data)
		if err != nil {
			return nil, err
		}
		return []*Definition{d}, nil
	}
	var list []*Definition
	var errs []error
	for i, raw := range head.Items {
		path := []string{"items", strconv.Itoa(i)}
		var item typed
		if err := json.Unmarshal(raw, &item); err != nil {
			item = typed{} // It is no object, which one says.
		}
		if item.APIVersion == "" && item.Kind == "" && head.Kind == Kind+"List" {
			// The items of such a list may leave out what they are.
			item.APIVersion, item.Kind = head.APIVersion, Kind
		}
		d, err := one(doc, path, item, raw)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, d)
	}
	return list, errors.Join(errs...)
}

func one(doc *manifest.Document, path []string, head typed, raw []byte) (*Definition, error) {
	wrong := func(err error) error {
		root, _ := doc.Root()
		return doc.ErrorAt(manifest.Near(root, path...), err)
	}
	group, _, _ := strings.Cut(head.APIVersion, "/")
	switch {
	case head.Kind != Kind || group != apiextensionsv1.GroupName:
		got := strings.TrimSpace(head.APIVersion + " " + head.Kind)
		if got == "" {
			got = "an object without apiVersion and kind"
		}
		return nil, wrong(fmt.Errorf("%w, got %s", ErrOtherKind, got))
	case head.APIVersion != apiextensionsv1.SchemeGroupVersion.String():
		return nil, wrong(fmt.Errorf("a %s must be %s, got %s, which API servers from 1.22 on do not know; write it anew in that version", Kind, apiextensionsv1.SchemeGroupVersion, head.APIVersion))
	}
	return fromJSON(raw, doc, path)
}

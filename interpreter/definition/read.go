package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

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
// are not looked at yet, and a mistake in one, even if it is no YAML, is found when somebody asks for it; see
// Definition.Problems.
func FromDocument(doc *manifest.Document) ([]*Definition, error) {
	if brief, ok := withoutSchemas(doc); ok {
		if data, err := brief.JSON(); err == nil && data != nil {
			// What is wrong is told of the whole document, whose places are right.
			if list, err := fromData(doc, data, true); err == nil {
				return list, nil
			}
		}
	}
	data, err := doc.JSON()
	if data == nil || err != nil {
		return nil, err
	}
	return fromData(doc, data, false)
}

// fromData reads the JSON of a document; brief says that it has no schemas.
func fromData(doc *manifest.Document, data []byte, brief bool) ([]*Definition, error) {
	var head typed
	if err := json.Unmarshal(data, &head); err != nil {
		root, _ := doc.Root()
		return nil, doc.ErrorAt(root, fmt.Errorf("%w: apiVersion and kind must be texts of an object", ErrOtherKind))
	}
	if head.Kind != "List" && head.Kind != Kind+"List" || head.Items == nil {
		text := func() ([]byte, error) { return data, nil }
		if brief {
			text = doc.JSON
		}
		d, err := one(source{doc: doc, text: text}, head, data)
		if err != nil {
			return nil, err
		}
		return []*Definition{d}, nil
	}
	// All items come from the same reading of the document.
	items := func() ([]json.RawMessage, error) { return head.Items, nil }
	if brief {
		items = sync.OnceValues(func() ([]json.RawMessage, error) { return itemsOf(doc, len(head.Items)) })
	}
	var list []*Definition
	var errs []error
	for i, raw := range head.Items {
		from := source{doc: doc, path: []string{"items", strconv.Itoa(i)}, text: func() ([]byte, error) {
			all, err := items()
			if err != nil {
				return nil, err
			}
			return all[i], nil
		}}
		var item typed
		if err := json.Unmarshal(raw, &item); err != nil {
			item = typed{} // It is no object, which one says.
		}
		if item.APIVersion == "" && item.Kind == "" && head.Kind == Kind+"List" {
			// The items of such a list may leave out what they are.
			item.APIVersion, item.Kind = head.APIVersion, Kind
		}
		d, err := one(from, item, raw)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, d)
	}
	return list, errors.Join(errs...)
}

// itemsOf reads the items of a List.
func itemsOf(doc *manifest.Document, count int) ([]json.RawMessage, error) {
	data, err := doc.JSON()
	if err != nil {
		return nil, err
	}
	var whole typed
	if err := json.Unmarshal(data, &whole); err != nil {
		return nil, doc.ErrorAt(nil, err)
	}
	if len(whole.Items) != count {
		return nil, doc.ErrorAt(nil, fmt.Errorf("the list has %d items, where %d were found at first", len(whole.Items), count))
	}
	return whole.Items, nil
}

// schemaKey is the key of a version's schema in YAML.
const schemaKey = "openAPIV3Schema:"

// withoutSchemas gives a document as it would be without schemas, if it is one of YAML blocks that has any. They are most
// of a CRD, and reading YAML is slow. Where the rest is read in another way without them, such as by aliases, reading
// it fails. Lines stay where they are.
func withoutSchemas(doc *manifest.Document) (*manifest.Document, bool) {
	var brief strings.Builder
	rest, cut := doc.Text, false
	for {
		at := strings.Index(rest, schemaKey)
		if at < 0 {
			break
		}
		line := rest[strings.LastIndexByte(rest[:at], '\n')+1 : at]
		end := at + len(schemaKey)
		brief.WriteString(rest[:end])
		rest = rest[end:]
		after, _, _ := strings.Cut(rest, "\n")
		after = strings.TrimSpace(after)
		if strings.Trim(line, " ") != "" || line == "" || after != "" && after[0] != '#' {
			continue // It is something else, or its schema begins in the same line.
		}
		brief.WriteString(" {}")
		rest = afterBlock(rest, len(line), &brief)
		cut = true
	}
	brief.WriteString(rest)
	return &manifest.Document{File: doc.File, Line: doc.Line, Text: brief.String()}, cut
}

// afterBlock leaves out the rest of a line, and the lines that are empty or further to the right than indent; it
// writes a line break for each that follows.
func afterBlock(text string, indent int, breaks *strings.Builder) string {
	for {
		next := strings.IndexByte(text, '\n')
		if next < 0 {
			return ""
		}
		line, _, _ := strings.Cut(text[next+1:], "\n")
		inner := strings.TrimLeft(line, " ")
		if strings.TrimSpace(inner) != "" && len(line)-len(inner) <= indent {
			return text[next:]
		}
		breaks.WriteByte('\n')
		text = text[next+1:]
	}
}

func one(from source, head typed, raw []byte) (*Definition, error) {
	group, _, _ := strings.Cut(head.APIVersion, "/")
	switch {
	case head.Kind != Kind || group != apiextensionsv1.GroupName:
		got := strings.TrimSpace(head.APIVersion + " " + head.Kind)
		if got == "" {
			got = "an object without apiVersion and kind"
		}
		return nil, from.errorAt("", fmt.Errorf("%w, got %s", ErrOtherKind, got))
	case head.APIVersion != apiextensionsv1.SchemeGroupVersion.String():
		return nil, from.errorAt("", fmt.Errorf("a %s must be %s, got %s, which API servers from 1.22 on do not know; generate it for v1, or get it from a cluster that has it", Kind, apiextensionsv1.SchemeGroupVersion, head.APIVersion))
	}
	return fromJSON(raw, from)
}

// source is where a CRD comes from.
type source struct {
	// doc is nil if it was not read from a file; path leads to the CRD in it.
	doc  *manifest.Document
	path []string
	// text gives the CRD as JSON with all of its schemas.
	text func() ([]byte, error)
}

// errorAt places an error at a field of the CRD, or the nearest parent of it in the file.
func (s *source) errorAt(fieldPath string, err error) error {
	if s.doc == nil {
		return err
	}
	root, _ := s.doc.Root()
	return s.doc.ErrorAt(manifest.Near(root, append(slices.Clone(s.path), manifest.Steps(fieldPath)...)...), err)
}

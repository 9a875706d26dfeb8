package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/manifest"
)

// object is an object and where it begins.
type object struct {
	*unstructured.Unstructured
	doc  *manifest.Document
	node *yamlv3.Node
}

// place is where the object begins, as "file:line".
func (o object) place() string { return fmt.Sprintf("%s:%d", o.doc.File, o.node.Line) }

// objects reads all objects that a flag names; Lists are opened.
func (s *session) objects(ctx context.Context, flag string, names []string) ([]object, error) {
	inputs, err := s.read(ctx, flag, names, false)
	if err != nil {
		return nil, err
	}
	var list []object
	var errs []error
	for _, in := range inputs {
		docs := s.split(in)
		for i := range docs {
			found, err := objectsOf(&docs[i])
			list = append(list, found...)
			errs = append(errs, err)
		}
	}
	return list, errors.Join(errs...)
}

// objectsOf gives the objects of a document: one, or a List's, as kubectl get prints them.
func objectsOf(d *manifest.Document) ([]object, error) {
	content, err := d.Object()
	if content == nil || err != nil {
		return nil, err
	}
	root, _ := d.Root()
	items, isList := content["items"].([]any)
	if !isList || content["apiVersion"] != "v1" || content["kind"] != "List" {
		o := object{&unstructured.Unstructured{Object: content}, d, root}
		return []object{o}, o.check()
	}
	var list []object
	var errs []error
	for i, item := range items {
		node := manifest.Near(root, "items", strconv.Itoa(i))
		content, ok := item.(map[string]any)
		if !ok {
			errs = append(errs, d.ErrorAt(node, fmt.Errorf("items[%d] is no object", i)))
			continue
		}
		o := object{&unstructured.Unstructured{Object: content}, d, node}
		list = append(list, o)
		errs = append(errs, o.check())
	}
	return list, errors.Join(errs...)
}

// check finds what keeps an object from being asked about, while its place in the file is still known.
func (o object) check() error {
	// The chain checks these as well, but has no line to show for it.
	for _, field := range []string{"apiVersion", "kind"} {
		_, node := manifest.Field(o.node, field)
		switch v := o.Object[field].(type) {
		case string:
			if v == "" {
				return o.doc.ErrorAt(node, fmt.Errorf("the object has an empty %s", field))
			}
		case nil:
			return o.doc.ErrorAt(o.node, fmt.Errorf("the object has no %s", field))
		default:
			return o.doc.ErrorAt(node, fmt.Errorf("the object's %s must be text, got %v", field, v))
		}
	}
	if _, ok := o.Object["metadata"].(map[string]any); !ok && o.Object["metadata"] != nil {
		_, node := manifest.Field(o.node, "metadata")
		return o.doc.ErrorAt(node, errors.New("the object's metadata must be an object"))
	}
	return nil
}

// object reads the one object that a flag names.
func (s *session) object(ctx context.Context, flag, name string) (*unstructured.Unstructured, error) {
	list, err := s.objects(ctx, flag, []string{name})
	if err != nil {
		return nil, err
	}
	if name == stdinName {
		name = stdinFile
	}
	switch len(list) {
	case 0:
		return nil, fmt.Errorf("%s %s: there is no object in it, one is expected", flag, name)
	case 1:
		return list[0].Unstructured, nil
	}
	var found []string
	for _, o := range list {
		found = append(found, fmt.Sprintf("%s (%s)", describe(o.Unstructured), o.place()))
	}
	return nil, fmt.Errorf("%s %s: one object is expected, there are %d: %s", flag, name, len(list), some(found))
}

// maxNamed bounds how many things a message lists.
const maxNamed = 5

// some lists things, but not more than a person reads.
func some(list []string) string {
	if len(list) > maxNamed {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:maxNamed], ", "), len(list)-maxNamed)
	}
	return strings.Join(list, ", ")
}

// describe names an object: apiVersion, kind, and namespace/name.
func describe(o *unstructured.Unstructured) string {
	return (&interpreter.Error{Kind: o.GroupVersionKind(), Namespace: o.GetNamespace(), Name: o.GetName()}).Object()
}

// statusItems reads status items: documents, lists of them, or a Kubernetes List.
func (s *session) statusItems(ctx context.Context, flag, name string) ([]interpreter.AggregatedStatusItem, error) {
	inputs, err := s.read(ctx, flag, []string{name}, false)
	if err != nil {
		return nil, err
	}
	var items []interpreter.AggregatedStatusItem
	var errs []error
	for _, in := range inputs {
		docs := s.split(in)
		for i := range docs {
			found, err := s.itemsOf(&docs[i])
			items = append(items, found...)
			errs = append(errs, err)
		}
	}
	return items, errors.Join(errs...)
}

// itemsOf gives the status items of a document. Empty ones are skipped, since a template that writes such files
// leaves them easily.
func (s *session) itemsOf(d *manifest.Document) ([]interpreter.AggregatedStatusItem, error) {
	root, err := d.Root()
	if root == nil || err != nil {
		return nil, err
	}
	text, err := d.JSON()
	if err != nil {
		return nil, err
	}
	nodes := []*yamlv3.Node{root}
	values := []json.RawMessage{text}
	if _, list := manifest.Field(root, "items"); list != nil && list.Kind == yamlv3.SequenceNode {
		var whole struct {
			Items []json.RawMessage `json:"items"`
		}
		err = json.Unmarshal(text, &whole)
		nodes, values = list.Content, whole.Items
	} else if root.Kind == yamlv3.SequenceNode {
		values = nil
		err = json.Unmarshal(text, &values)
		nodes = root.Content
	}
	if err != nil {
		return nil, d.ErrorAt(root, err)
	}
	var items []interpreter.AggregatedStatusItem
	var errs []error
	for i, value := range values {
		if string(value) == "null" {
			continue
		}
		s.warnOfKeys(d, nodes[i])
		var item interpreter.AggregatedStatusItem
		if err := json.Unmarshal(value, &item); err != nil {
			errs = append(errs, d.ErrorAt(nodes[i], itemError(err)))
			continue
		}
		items = append(items, item)
	}
	return items, errors.Join(errs...)
}

// itemError is an error of the JSON decoder in words that fit a YAML file.
func itemError(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field == "":
		return fmt.Errorf("a status item must be an object with %s, got %s", strings.Join(itemKeys, ", "), wrong.Value)
	case errors.As(err, &wrong):
		return fmt.Errorf("status item: %s must be of type %s, got %s", wrong.Field, wrong.Type, wrong.Value)
	}
	return fmt.Errorf("status item: %w", err)
}

// itemKeys are the fields of a status item.
var itemKeys = []string{"clusterName", "status", "applied", "appliedMessage", "health"}

// warnOfKeys tells of keys that look like misspelt ones. Others are nobody's mistake: items grow fields.
func (s *session) warnOfKeys(d *manifest.Document, item *yamlv3.Node) {
	if item.Kind != yamlv3.MappingNode {
		return
	}
	for i := 0; i+1 < len(item.Content); i += 2 {
		key := item.Content[i]
		known := false
		for _, k := range itemKeys {
			known = known || strings.EqualFold(k, key.Value)
		}
		if near := interpreter.Nearest(key.Value, itemKeys); !known && near != "" {
			s.warn("%v", d.ErrorAt(key, fmt.Errorf("unknown key %q of a status item is ignored, did you mean %s?", key.Value, near)))
		}
	}
}

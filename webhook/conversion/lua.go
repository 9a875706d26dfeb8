package conversion

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/manifest"
	"github.com/kubeinterpret/interpret/luakube"
)

const (
	// LuaFunction is the name of the function that a converter in Lua defines.
	LuaFunction = "Convert"
	// APIVersion and Kind are those of a converter in a file.
	APIVersion = "kubeinterpret.io/v1alpha1"
	Kind       = "Converter"
)

// NewLua makes a converter of a script that defines the function
//
//	Convert(obj, desiredAPIVersion) -> obj
//
// The name stands for the script in messages. An error of the script is a *luakube.ScriptError.
func NewLua(engine *luakube.Engine, name, source string) (Converter, error) {
	script, err := engine.Compile(name, source, LuaFunction)
	if err != nil {
		return nil, err
	}
	return Func(func(ctx context.Context, obj *unstructured.Unstructured, desired schema.GroupVersion) (*unstructured.Unstructured, error) {
		var converted *unstructured.Unstructured
		_, err := script.Call(ctx, &luakube.Call{
			Args: []any{obj.Object, desired.String()},
			Rets: []luakube.Ret{{Noun: "converted object", Into: &converted}},
		})
		return converted, err
	}), nil
}

// LuaConverter is a converter in Lua as it stands in a file. The package's documentation has its form.
type LuaConverter struct {
	// Name is metadata.name, or the kind's where there is none.
	Name     string
	Kind     schema.GroupKind
	Versions []string
	Script   string

	doc    *manifest.Document
	script *yamlv3.Node
}

// ErrOtherKind means that an object is no Converter.
var ErrOtherKind = errors.New("not a " + Kind)

// Parse reads the converters of a YAML or JSON stream. File names the stream in messages. What is no converter is an
// error. All errors come back joined, and with them the converters that are sound.
func Parse(file string, data []byte) ([]*LuaConverter, error) {
	var list []*LuaConverter
	var errs []error
	docs := manifest.Split(file, data)
	for i := range docs {
		c, err := FromDocument(&docs[i])
		if err != nil {
			errs = append(errs, err)
		}
		if c != nil {
			list = append(list, c)
		}
	}
	return list, errors.Join(errs...)
}

// FromDocument reads the converter that a document holds. An empty document holds none, which is nil. All that is
// wrong with it comes back joined, each mistake with its place.
func FromDocument(d *manifest.Document) (*LuaConverter, error) {
	object, err := d.Object()
	if object == nil || err != nil {
		return nil, err
	}
	root, _ := d.Root()
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	if apiVersion != APIVersion || kind != Kind {
		want := ""
		if kind == Kind {
			want = fmt.Sprintf(" (want %s)", APIVersion)
		}
		got := strings.TrimSpace(apiVersion + " " + kind)
		if got == "" {
			got = "an object without apiVersion and kind"
		}
		return nil, d.ErrorAt(root, fmt.Errorf("%w, got %s%s", ErrOtherKind, got, want))
	}
	return (&parser{doc: d, root: root}).converter(object)
}

// parser reads the fields of a document, and collects what is wrong with them.
type parser struct {
	doc  *manifest.Document
	root *yamlv3.Node
	errs []error
}

func (p *parser) converter(object map[string]any) (*LuaConverter, error) {
	p.known(object, nil, "apiVersion", "kind", "metadata", "spec")
	metadata := p.object(object, "metadata")
	spec := p.object(object, "spec")
	p.known(spec, []string{"spec"}, "target", "luaScript")
	target := p.object(spec, "spec", "target")
	p.known(target, []string{"spec", "target"}, "group", "kind", "versions")
	c := &LuaConverter{
		Name:     p.text(metadata, false, "metadata", "name"),
		Kind:     schema.GroupKind{Group: p.text(target, true, "spec", "target", "group"), Kind: p.text(target, true, "spec", "target", "kind")},
		Versions: p.versions(target, "spec", "target", "versions"),
		Script:   p.text(spec, true, "spec", "luaScript"),
		doc:      p.doc,
	}
	if group := c.Kind.Group; group != "" {
		for _, says := range validation.IsDNS1123Subdomain(group) {
			p.fail(fmt.Errorf("%q: %s", group, says), "spec", "target", "group")
		}
	}
	if c.Name == "" {
		c.Name = c.Kind.String()
	}
	_, c.script = manifest.Field(p.root, "spec", "luaScript")
	if len(p.errs) > 0 {
		return nil, errors.Join(p.errs...)
	}
	return c, nil
}

// fail notes a mistake at a field, or where the field would stand: at the nearest parent there is.
func (p *parser) fail(err error, path ...string) {
	at := p.root
	for i := len(path); i > 0; i-- {
		if key, _ := manifest.Field(p.root, path[:i]...); key != nil {
			at = key
			break
		}
	}
	p.errs = append(p.errs, p.doc.ErrorAt(at, fmt.Errorf("%s: %w", strings.Join(path, "."), err)))
}

// known refuses other fields than those. No API server has pruned them, and a field in vain is a mistake.
func (p *parser) known(object map[string]any, path []string, names ...string) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if slices.Contains(names, key) {
			continue
		}
		hint := ""
		if near := interpreter.Nearest(key, names); near != "" {
			hint = fmt.Sprintf(", did you mean %s?", near)
		}
		p.fail(fmt.Errorf("unknown field%s (have %s)", hint, strings.Join(names, ", ")), append(slices.Clone(path), key)...)
	}
}

// object is the object at the last step of a path in its parent, nil if there is none.
func (p *parser) object(parent map[string]any, path ...string) map[string]any {
	v := parent[path[len(path)-1]]
	object, ok := v.(map[string]any)
	if !ok && v != nil {
		p.fail(errors.New("must be an object"), path...)
	}
	return object
}

func (p *parser) text(parent map[string]any, required bool, path ...string) string {
	v := parent[path[len(path)-1]]
	text, ok := v.(string)
	switch {
	case !ok && v != nil:
		p.fail(errors.New("must be text"), path...)
	case text == "" && required:
		p.fail(errors.New("is required"), path...)
	}
	return text
}

func (p *parser) versions(parent map[string]any, path ...string) []string {
	v := parent[path[len(path)-1]]
	list, ok := v.([]any)
	if !ok && v != nil {
		p.fail(errors.New("must be a list of versions"), path...)
		return nil
	}
	var versions []string
	for _, item := range list {
		version, _ := item.(string)
		for _, says := range validation.IsDNS1035Label(version) {
			p.fail(fmt.Errorf("%v: %s", item, says), path...)
		}
		if slices.Contains(versions, version) {
			p.fail(fmt.Errorf("%s is there twice", version), path...)
		}
		versions = append(versions, version)
	}
	if len(versions) < 2 {
		p.fail(errors.New("a conversion is between two versions or more"), path...)
	}
	return versions
}

// File is where the converter was read.
func (c *LuaConverter) File() string { return c.doc.File }

// Compile makes the converter ready. The error of a script is told with its place in the file, and is a
// *luakube.ScriptError inside.
func (c *LuaConverter) Compile(engine *luakube.Engine) (Registration, error) {
	converter, err := NewLua(engine, "converter "+c.Name, c.Script)
	if err != nil {
		place := &manifest.Error{File: c.doc.File, Line: c.doc.Line, Err: err}
		var script *luakube.ScriptError
		if c.script != nil {
			place.Line, place.Column = c.script.Line, c.script.Column
			if errors.As(err, &script) && script.Line > 0 {
				place.Line, place.Column = c.doc.TextPlace(c.script, script.Line, script.Column)
			}
		}
		return Registration{}, place
	}
	return Registration{Kind: c.Kind, Versions: c.Versions, Converter: converter}, nil
}

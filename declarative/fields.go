package declarative

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/luakube"
)

// Fields says which fields objects of one version of a kind have.
type Fields interface {
	// HasField says whether objects may have a field. If not, at is the first step of the path that they do not
	// have, and nearest the name that was perhaps meant there. An empty step is an item of a list, or the value of
	// some key.
	HasField(path ...string) (known bool, at int, nearest string)
}

// CheckFields finds fields in scripts that the objects they are for do not have. Versions gives the versions of a
// kind by name; it gives none for a kind of which nothing is known. A target for any version may use the fields of
// all. Problems come in the order of the customizations, none of them is fatal: a field that is not there is nil.
func CheckFields(list []*Customization, versions func(schema.GroupKind) map[string]Fields) []Problem {
	var problems []Problem
	for _, c := range list {
		t, err := parseTarget(c.Spec.Target)
		if err != nil || t.kind == wildcard || strings.Contains(t.group, wildcard) {
			continue
		}
		have := versions(schema.GroupKind{Group: t.group, Kind: t.kind})
		if len(have) == 0 {
			continue
		}
		k := knownFields{customization: c, versions: have}
		if t.version != wildcard {
			fields := have[t.version]
			if fields == nil {
				problems = append(problems, k.noVersion(t.version))
				continue
			}
			k.versions = map[string]Fields{t.version: fields}
		}
		problems = append(problems, k.check()...)
	}
	return problems
}

// knownFields are the fields that one customization may use.
type knownFields struct {
	customization *Customization
	versions      map[string]Fields
}

func (k *knownFields) noVersion(version string) Problem {
	names := make([]string, 0, len(k.versions))
	for name := range k.versions {
		names = append(names, name)
	}
	slices.Sort(names)
	return Problem{
		Customization: k.customization.Name, Place: k.customization.Place("spec", "target", "apiVersion"),
		Message: fmt.Sprintf("%s has no version %s (have %s)", k.customization.Spec.Target.Kind, version, strings.Join(names, ", ")),
	}
}

func (k *knownFields) check() []Problem {
	c := k.customization
	// What the status items hold is what was reflected. A rule for that may give what the objects do not have.
	reflects := c.Spec.Customizations.StatusReflection != nil
	var problems []Problem
	for _, contract := range interpreter.Contracts() {
		lua := contract.Script(&c.Spec.Customizations)
		if lua == nil {
			continue
		}
		for _, use := range luakube.Fields(lua.LuaScript, contract.Function) {
			path := objectPath(contract, use, reflects)
			if path == nil {
				continue
			}
			if message := k.unknown(path); message != "" {
				problems = append(problems, Problem{
					Customization: c.Name, Rule: contract.Rule, Place: c.ScriptPlace(contract.Rule, use.Line, use.Column),
					Line: use.Line, Column: use.Column, Message: message,
				})
			}
		}
	}
	return problems
}

// probe is a request whose arguments show what they are.
var probe = func() *interpreter.Request {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	return &interpreter.Request{Object: object, Observed: object}
}()

// objectPath is the path of a use in an object of the target's kind; nil if it is about something else.
func objectPath(contract *interpreter.Contract, use luakube.FieldUse, reflects bool) []string {
	if use.Parameter == luakube.Returned {
		if givesObject(contract) {
			return use.Path
		}
		return nil
	}
	if use.Parameter >= len(contract.In) {
		return nil
	}
	switch contract.In[use.Parameter].Of(probe).(type) {
	case map[string]any:
		return use.Path
	case []interpreter.AggregatedStatusItem:
		if len(use.Path) > 2 && use.Path[0] == "" && use.Path[1] == "status" && !reflects {
			return use.Path[1:]
		}
	}
	return nil
}

// givesObject says whether the first result is an object of the target's kind.
func givesObject(contract *interpreter.Contract) bool {
	_, object := contract.Out[0].In(&interpreter.Result{}).(**unstructured.Unstructured)
	return object
}

// unknown says that no version has a field; it is empty if one has, or if it is a parent of the field that none has,
// which is told at its own place.
func (k *knownFields) unknown(path []string) string {
	near := ""
	for _, fields := range k.versions {
		known, at, nearest := fields.HasField(path...)
		if known || at < len(path)-1 {
			return ""
		}
		near = nearest
	}
	hint := ""
	if near != "" {
		hint = fmt.Sprintf(", did you mean %s?", near)
	}
	return fmt.Sprintf("%s has no field %s%s", k.customization.Spec.Target.Kind, fieldPath(path), hint)
}

// fieldPath writes a path as people do.
func fieldPath(path []string) string {
	var b strings.Builder
	for _, step := range path {
		switch {
		case step == "":
			b.WriteString("[]")
		case strings.ContainsAny(step, "./"):
			fmt.Fprintf(&b, "[%q]", step)
		default:
			b.WriteString("." + step)
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

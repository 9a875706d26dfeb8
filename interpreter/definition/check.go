package definition

import (
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/kube-openapi/pkg/validation/strfmt"

	"github.com/kubeinterpret/interpret/interpreter"
)

// check is a schema made for one question: is a value certainly sound? Most values are, and the API server's code
// takes tens of copies of an object's time to say so. What check does not pass, that code has to look at, which
// may find nothing after all. A check never passes what that code would refuse; a fuzz test compares them.
type check struct {
	kind     string // the schema's type; "" takes anything, intOrString either
	nullable bool
	// hard is for what only the API server's code knows.
	hard bool

	properties map[string]*check
	required   []string
	// defaults are the properties that an API server sets where they are missing, or null and must not be.
	defaults []string
	// deep says that there are defaults in it somewhere.
	deep bool
	// more is for keys that are not in properties, nil if there must not be any; anything takes all.
	more       *check
	items      *check
	listKeys   []string // of a list that is a map
	set        bool
	min, max   int64 // items, keys or characters; max < 0 is no limit
	pattern    *regexp.Regexp
	format     string
	int32      bool
	enum       []any
	from, to   *float64
	fromBeyond bool
	toBelow    bool
}

const intOrString = "integer or string"

// anything is where the schema leaves everything open.
var anything = &check{nullable: true, max: -1}

// newCheck makes the check of an object's schema. Type and metadata are the API's own.
func newCheck(s *structuralschema.Structural) *check {
	c := makeCheck(s)
	c.properties["apiVersion"], c.properties["kind"] = anything, anything
	if s.Properties["metadata"].Properties != nil || s.Properties["metadata"].ValueValidation != nil {
		c.hard = true
	}
	c.properties["metadata"] = &check{kind: "object", max: -1, more: anything}
	return c
}

func makeCheck(s *structuralschema.Structural) *check {
	c := &check{kind: s.Type, nullable: s.Nullable, max: -1, properties: map[string]*check{}}
	if s.XIntOrString {
		c.kind = intOrString
	}
	c.hard = s.XEmbeddedResource
	for name := range s.Properties {
		p := s.Properties[name]
		c.properties[name] = makeCheck(&p)
		if p.Default.Object != nil {
			c.defaults = append(c.defaults, name)
		}
		c.deep = c.deep || c.properties[name].deep
	}
	switch {
	case s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil:
		c.more = makeCheck(s.AdditionalProperties.Structural)
	case s.AdditionalProperties != nil && s.AdditionalProperties.Bool, s.XPreserveUnknownFields:
		c.more = anything
	}
	if s.Items != nil {
		c.items = makeCheck(s.Items)
	} else if s.XPreserveUnknownFields {
		c.items = anything
	}
	c.deep = c.deep || len(c.defaults) > 0 || c.more != nil && c.more.deep || c.items != nil && c.items.deep
	if s.XListType != nil {
		c.set = *s.XListType == "set"
		if *s.XListType == "map" {
			c.listKeys = s.XListMapKeys
		}
	}
	c.addValues(s)
	return c
}

// addValues adds what the schema says about values.
func (c *check) addValues(s *structuralschema.Structural) {
	v := s.ValueValidation
	if v == nil {
		return
	}
	c.hard = c.hard || v.UniqueItems || v.MultipleOf != nil || len(v.AllOf) > 0 || len(v.OneOf) > 0 || v.Not != nil ||
		len(v.AnyOf) > 0 && !(s.XIntOrString && isIntOrString(v.AnyOf))
	for _, name := range v.Required {
		if s.Properties[name].Default.Object == nil {
			c.required = append(c.required, name)
		}
	}
	limit := func(min, max *int64) {
		if min != nil {
			c.min = *min
		}
		if max != nil {
			c.max = *max
		}
	}
	switch s.Type {
	case "object":
		limit(v.MinProperties, v.MaxProperties)
		if v.MinProperties != nil || v.MaxProperties != nil {
			c.hard = c.hard || len(c.defaults) > 0 // They count.
		}
	case "array":
		limit(v.MinItems, v.MaxItems)
	case "string":
		limit(v.MinLength, v.MaxLength)
	default:
		c.hard = c.hard || s.XIntOrString && (v.MinLength != nil || v.MaxLength != nil || v.Minimum != nil || v.Maximum != nil || v.Format != "")
	}
	if v.Pattern != "" {
		var err error
		if c.pattern, err = regexp.Compile(v.Pattern); err != nil {
			c.hard = true
		}
	}
	c.format = v.Format
	if v.Format != "" && s.Type != "string" {
		c.format = ""
		switch v.Format {
		case "int64", "double":
		case "int32":
			c.int32 = true
		default:
			c.hard = true
		}
	}
	for _, e := range v.Enum {
		c.enum = append(c.enum, e.Object)
	}
	c.from, c.to, c.fromBeyond, c.toBelow = v.Minimum, v.Maximum, v.ExclusiveMinimum, v.ExclusiveMaximum
}

// lacksDefaults says whether an API server would set a default in a value.
func (c *check) lacksDefaults(value any) bool {
	if c == nil || !c.deep {
		return false
	}
	switch v := value.(type) {
	case map[string]any:
		for _, name := range c.defaults {
			if v[name] == nil {
				return true
			}
		}
		for name, field := range v {
			p := c.properties[name]
			if p == nil {
				p = c.more
			}
			if p.lacksDefaults(field) {
				return true
			}
		}
	case []any:
		for _, item := range v {
			if c.items.lacksDefaults(item) {
				return true
			}
		}
	}
	return false
}

// isIntOrString says whether alternatives are those that go with the extension of that name.
func isIntOrString(any []structuralschema.NestedValueValidation) bool {
	if len(any) != 2 {
		return false
	}
	return reflect.DeepEqual(any, []structuralschema.NestedValueValidation{
		{ForbiddenGenerics: structuralschema.Generic{Type: "integer"}}, {ForbiddenGenerics: structuralschema.Generic{Type: "string"}},
	})
}

// passes says whether a value is certainly sound.
func (c *check) passes(value any) bool {
	if c == anything {
		return true
	}
	if c.hard {
		return false
	}
	if value == nil {
		return c.nullable && len(c.enum) == 0
	}
	switch v := value.(type) {
	case map[string]any:
		return (c.kind == "object" || c.kind == "") && len(c.enum) == 0 && c.passesObject(v)
	case []any:
		return (c.kind == "array" || c.kind == "") && len(c.enum) == 0 && c.passesList(v)
	case string:
		return (c.kind == "string" || c.kind == intOrString || c.kind == "") && c.passesText(v)
	case int64:
		return (c.kind == "integer" || c.kind == "number" || c.kind == intOrString || c.kind == "") && c.passesNumber(value, float64(v)) &&
			// The limits are floating point numbers, and the server's code knows how it compares.
			(c.from == nil && c.to == nil || -exact < v && v < exact)
	case float64:
		return (c.kind == "number" || c.kind == "") && c.passesNumber(value, v)
	case bool:
		return (c.kind == "boolean" || c.kind == "") && c.passesEnum(v)
	}
	return false
}

// exact bounds the integers that floating point numbers hold without loss.
const exact = 1 << 53

func (c *check) passesObject(m map[string]any) bool {
	for _, name := range c.required {
		if _, ok := m[name]; !ok {
			return false
		}
	}
	if n := int64(len(m)); n < c.min || c.max >= 0 && n > c.max {
		return false
	}
	for name, v := range m {
		p := c.properties[name]
		if p == nil {
			if p = c.more; p == nil {
				return false
			}
		}
		if !p.passes(v) {
			return false
		}
	}
	return true
}

// maxCompared bounds the pairs of items that are compared here.
const maxCompared = 64

func (c *check) passesList(list []any) bool {
	if n := int64(len(list)); n < c.min || c.max >= 0 && n > c.max {
		return false
	}
	if c.items == nil && len(list) > 0 {
		return false
	}
	for _, v := range list {
		if !c.items.passes(v) {
			return false
		}
	}
	if !c.set && c.listKeys == nil {
		return true
	}
	if len(list) > maxCompared {
		return false
	}
	for i, v := range list {
		for _, other := range list[:i] {
			if !c.differ(v, other) {
				return false
			}
		}
	}
	return true
}

// differ says whether two items certainly may stand in the same list. In a list that is a map only items with
// all the keys, as texts, are simple enough.
func (c *check) differ(a, b any) bool {
	if c.set {
		x, ok := a.(string)
		y, also := b.(string)
		return ok && also && x != y
	}
	x, ok := a.(map[string]any)
	y, also := b.(map[string]any)
	if !ok || !also {
		return false
	}
	different := false
	for _, key := range c.listKeys {
		v, ok := x[key].(string)
		w, also := y[key].(string)
		if !ok || !also {
			return false
		}
		different = different || v != w
	}
	return different
}

func (c *check) passesText(text string) bool {
	if c.min > 0 || c.max >= 0 {
		if n := int64(utf8.RuneCountInString(text)); n < c.min || c.max >= 0 && n > c.max {
			return false
		}
	}
	if c.format != "" && strfmt.Default.ContainsName(c.format) && !strfmt.Default.Validates(c.format, text) {
		return false
	}
	return (c.pattern == nil || c.pattern.MatchString(text)) && c.passesEnum(text)
}

func (c *check) passesNumber(value any, n float64) bool {
	if c.int32 && (n < math.MinInt32 || n > math.MaxInt32) {
		return false
	}
	if c.from != nil && (n < *c.from || c.fromBeyond && n == *c.from) || c.to != nil && (n > *c.to || c.toBelow && n == *c.to) {
		return false
	}
	return c.passesEnum(value)
}

func (c *check) passesEnum(value any) bool { return len(c.enum) == 0 || slices.Contains(c.enum, value) }

// Coerce makes an object that a script has made what the schema means: an empty table becomes a list or an object,
// and a whole number an integer. It changes the object, which must be the caller's own, and says whether it did.
func (v *Version) Coerce(object map[string]any) (bool, error) {
	s, err := v.schemas()
	if err != nil {
		return false, err
	}
	_, changed := s.check.coerce(object)
	return changed, nil
}

func (c *check) coerce(value any) (any, bool) {
	if c == nil || c == anything {
		return value, false
	}
	switch v := value.(type) {
	case map[string]any:
		if c.kind == "array" && len(v) == 0 {
			return []any{}, true
		}
		changed := false
		for name, field := range v {
			p := c.properties[name]
			if p == nil {
				p = c.more
			}
			if to, did := p.coerce(field); did {
				v[name], changed = to, true
			}
		}
		return v, changed
	case []any:
		if c.kind == "object" && len(v) == 0 {
			return map[string]any{}, true
		}
		changed := false
		for i, item := range v {
			if to, did := c.items.coerce(item); did {
				v[i], changed = to, true
			}
		}
		return v, changed
	case float64:
		if n := int64(v); (c.kind == "integer" || c.kind == intOrString) && -exact <= v && v <= exact && float64(n) == v {
			return n, true
		}
	}
	return value, false
}

// child is the schema of a key; nil if nothing is known of it.
func child(s *structuralschema.Structural, name string) *structuralschema.Structural {
	if p, ok := s.Properties[name]; ok {
		return &p
	}
	if s.AdditionalProperties != nil {
		return s.AdditionalProperties.Structural
	}
	return nil
}

// HasField says whether objects may have a field, and if not, which part of the path is the first that they do
// not have, and the name that may have been meant there, "" if none is near. A step may be "" for an item of a list or
// any key.
func (v *Version) HasField(path ...string) (known bool, at int, nearest string) {
	s, err := v.schemas()
	if err != nil {
		return true, 0, ""
	}
	return s.hasField(path)
}

func (s *schemas) hasField(path []string) (known bool, at int, nearest string) {
	if len(path) == 0 {
		return true, 0, ""
	}
	switch path[0] {
	case "apiVersion", "kind":
		return true, 0, ""
	case "metadata":
		if len(path) > 1 && path[1] != "" && !slices.Contains(metaFields, path[1]) {
			return false, 1, interpreter.Nearest(path[1], metaFields)
		}
		return true, 0, ""
	}
	at = 0
	for s := s.structural; at < len(path); at++ {
		next := step(s, path[at])
		switch {
		case next != nil:
			s = next
		case open(s):
			return true, 0, ""
		default:
			names := make([]string, 0, len(s.Properties))
			for name := range s.Properties {
				names = append(names, name)
			}
			if at == 0 {
				names = append(names, "metadata", "apiVersion", "kind")
			}
			slices.Sort(names)
			return false, at, interpreter.Nearest(path[at], names)
		}
	}
	return true, 0, ""
}

// step is the schema one step on; nil if there is none.
func step(s *structuralschema.Structural, name string) *structuralschema.Structural {
	if s.Type == "array" {
		return s.Items
	}
	return child(s, name)
}

// open says whether a value may have fields that the schema does not list, or is one whose type leaves fields out
// of the question here: a rule may well test what a text is.
func open(s *structuralschema.Structural) bool {
	return s.XPreserveUnknownFields || s.XEmbeddedResource || s.Type != "object" && s.Type != "array" || s.AdditionalProperties != nil && s.AdditionalProperties.Bool
}

// jsonFields lists the names of a struct's fields in JSON.
func jsonFields(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

package crd

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/labels"
)

// fold makes one status of those of the members.
type fold struct {
	scale *scale
	// members are those that have reported, silent the others.
	members []member
	silent  []string
	// observed is the observed generation of the template.
	observed int64
}

// member is a value of one cluster's status, never nil.
type member struct {
	cluster string
	value   any
}

// blame says whose value an error is about.
func (m member) blame(err error) error { return fmt.Errorf("cluster %q: %w", m.cluster, err) }

// wrong is the error of a value that is not what its place wants.
func (m member) wrong(path []string, want string) error {
	return m.blame(fault(path, "must be %s, got %s", want, describe(m.value)))
}

// value folds the values of one field. Old is what the template has there. Whole says that a member that is silent
// counts as one that lacks the field: it does not inside the elements of a list or map, which are some clusters' own.
// False means that there is nothing to say.
func (f *fold) value(path []string, s *structuralschema.Structural, members []member, old any, whole bool) (any, bool, error) {
	switch typeOf(s, members, old) {
	case "object":
		if len(members) == 0 {
			return nil, false, nil
		}
		if s != nil && s.XMapType != nil && *s.XMapType == "atomic" {
			return f.same(members)
		}
		object, err := f.object(path, s, members, old, whole)
		return object, err == nil, err
	case "array":
		return f.list(path, s, members, whole)
	case "integer":
		return f.integer(path, s, members, old)
	case "string":
		return f.text(path, members, whole)
	case "boolean":
		return f.boolean(path, members, whole)
	}
	return f.same(members)
}

// typeOf is the type that the schema gives a value, or else the values have; empty for what may have several.
func typeOf(s *structuralschema.Structural, members []member, old any) string {
	if s != nil && (s.Type != "" || s.XIntOrString) {
		return s.Type
	}
	of := func(v any) string {
		switch v.(type) {
		case map[string]any:
			return "object"
		case []any:
			return "array"
		case int64:
			return "integer"
		case string:
			return "string"
		case bool:
			return "boolean"
		}
		return ""
	}
	if len(members) == 0 {
		return of(old)
	}
	first := of(members[0].value)
	for _, m := range members[1:] {
		if of(m.value) != first {
			return ""
		}
	}
	return first
}

// same is a value that all members agree on.
func (f *fold) same(members []member) (any, bool, error) {
	if len(members) == 0 {
		return nil, false, nil
	}
	for _, m := range members[1:] {
		if !reflect.DeepEqual(m.value, members[0].value) {
			return nil, false, nil
		}
	}
	return members[0].value, true, nil
}

// object folds field by field. What the schema does not have is left out, as an API server would prune it. What it
// requires is there: where the clusters differ, the first one's value.
func (f *fold) object(path []string, s *structuralschema.Structural, members []member, old any, whole bool) (map[string]any, error) {
	fields := map[string][]member{}
	for _, m := range members {
		object, ok := m.value.(map[string]any)
		if !ok {
			return nil, m.wrong(path, "an object")
		}
		for name, v := range object {
			if v != nil {
				fields[name] = append(fields[name], member{m.cluster, v})
			}
		}
	}
	was, _ := old.(map[string]any)
	for name, v := range was {
		if _, ok := fields[name]; !ok && v != nil {
			fields[name] = nil // A counter that nobody reports any more is zero.
		}
	}
	if _, ok := fields[observedGeneration]; !ok && len(path) == 1 && s != nil && s.Properties[observedGeneration].Type == "integer" {
		fields[observedGeneration] = nil
	}
	folded := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		below, ok, keyed := below(s, name)
		if !ok || len(path) == 1 && f.special(name, s, folded) {
			continue
		}
		at := append(slices.Clone(path), name)
		if keyed {
			at = path // The keys are data; what is counted says the name of the map.
		}
		v, ok, err := f.value(at, below, fields[name], was[name], whole && !keyed)
		if err != nil {
			return nil, err
		}
		if ok {
			folded[name] = v
		}
	}
	for name, values := range fields {
		if _, ok := folded[name]; ok || !requires(s, name) {
			continue
		}
		// A phase that is not good everywhere yet is the one that the template has already.
		if v := was[name]; v != nil && (len(values) == 0 || tellsPhase(name)) {
			folded[name] = v
		} else if len(values) > 0 {
			folded[name] = values[0].value
		}
	}
	return folded, nil
}

// requires says whether a schema wants a field to be there.
func requires(s *structuralschema.Structural, name string) bool {
	return s != nil && s.ValueValidation != nil && slices.Contains(s.ValueValidation.Required, name)
}

// below is the schema of a field, nil if it may hold anything. It is not ok if the schema has no such field. Keyed
// says that the field is an entry of a map.
func below(s *structuralschema.Structural, name string) (field *structuralschema.Structural, ok, keyed bool) {
	if s == nil {
		return nil, true, false
	}
	if property, found := s.Properties[name]; found {
		return &property, true, false
	}
	if more := s.AdditionalProperties; more != nil && (more.Structural != nil || more.Bool) {
		return more.Structural, true, true
	}
	return nil, s.XPreserveUnknownFields, false
}

// special deals with the fields of a status that tell whether a member is in sync, and says whether name is one.
func (f *fold) special(name string, s *structuralschema.Structural, folded map[string]any) bool {
	switch name {
	case observedGeneration:
		if f.observed != 0 || requires(s, name) {
			folded[name] = f.observed
		}
		return true
	case generation, templateGeneration:
		// InterpretStatus has added them; in the template's status they mean nothing.
		declared := false
		if s != nil {
			_, declared = s.Properties[name]
		}
		return !declared
	}
	return false
}

// integer adds up what counts things. Anything else must be the same everywhere.
func (f *fold) integer(path []string, s *structuralschema.Structural, members []member, old any) (any, bool, error) {
	numbers := make([]int64, len(members))
	for i, m := range members {
		n, ok := integer(m.value)
		if !ok {
			return nil, false, m.wrong(path, "a whole number")
		}
		numbers[i] = n
	}
	counted := f.scale != nil && slices.Equal(path, f.scale.status)
	if !counted && !sums(path[len(path)-1], s) {
		if len(numbers) == 0 || slices.ContainsFunc(numbers, func(n int64) bool { return n != numbers[0] }) {
			return nil, false, nil
		}
		return numbers[0], true, nil
	}
	if _, ok := integer(old); len(numbers) == 0 && (!ok || !allowsZero(s)) {
		return nil, false, nil
	}
	sum := int64(0)
	for _, n := range numbers {
		if n > 0 && sum > math.MaxInt64-n || n < 0 && sum < math.MinInt64-n {
			return nil, false, fault(path, "must fit in 64 bits, the sum does not")
		}
		sum += n
	}
	if format(s) == "int32" || counted {
		if sum < math.MinInt32 || sum > math.MaxInt32 {
			return nil, false, fault(path, "must fit in 32 bits, the sum is %d", sum)
		}
	}
	if s != nil && s.ValueValidation != nil && s.ValueValidation.Maximum != nil && float64(sum) > *s.ValueValidation.Maximum {
		return nil, false, fault(path, "must not be above %v, the sum is %d", *s.ValueValidation.Maximum, sum)
	}
	return sum, true, nil
}

// allowsZero says whether a counter of nothing fits a schema.
func allowsZero(s *structuralschema.Structural) bool {
	return s == nil || s.ValueValidation == nil || s.ValueValidation.Minimum == nil || *s.ValueValidation.Minimum <= 0
}

func format(s *structuralschema.Structural) string {
	if s == nil || s.ValueValidation == nil {
		return ""
	}
	return s.ValueValidation.Format
}

// text keeps what is the same everywhere. Where the clusters differ, times and phases have an order.
func (f *fold) text(path []string, members []member, whole bool) (any, bool, error) {
	texts := make([]string, len(members))
	for i, m := range members {
		text, ok := m.value.(string)
		if !ok {
			return nil, false, m.wrong(path, "text")
		}
		texts[i] = text
	}
	if len(texts) == 0 {
		return nil, false, nil
	}
	name := path[len(path)-1]
	complete := !whole || len(f.silent) == 0 && len(texts) == len(f.members)
	if tellsPhase(name) {
		v, ok := worstPhase(texts, complete)
		return v, ok, nil
	}
	if f.scale != nil && slices.Equal(path, f.scale.selector) {
		v, ok := sameSelector(texts)
		return v, ok, nil
	}
	if v, ok, isTime := moment(name, texts, complete); isTime {
		return v, ok, nil
	}
	if allSame(texts) {
		return texts[0], true, nil
	}
	return nil, false, nil
}

func allSame(texts []string) bool { return slices.Equal(texts[1:], texts[:len(texts)-1]) }

// worstPhase is the worst of the words that tell how an object is. Good is only what is good everywhere. Words that
// nobody has graded are kept if all are the same.
func worstPhase(phases []string, complete bool) (string, bool) {
	worst := phases[0]
	known := true
	for _, phase := range phases {
		g := gradeOf(phase)
		known = known && g != noGrade
		if g < gradeOf(worst) {
			worst = phase
		}
	}
	if !known && !allSame(phases) || !complete && gradeOf(worst) == gradeGood {
		return "", false
	}
	return worst, true
}

// sameSelector is the label selector that all members agree on, in whatever order they write it. Of two that differ
// either would find some of the pods only, and whoever scales by them would be misled.
func sameSelector(selectors []string) (string, bool) {
	canonical := func(text string) string {
		if s, err := labels.Parse(text); err == nil {
			return s.String()
		}
		return text
	}
	for _, s := range selectors[1:] {
		if s != selectors[0] && canonical(s) != canonical(selectors[0]) {
			return "", false
		}
	}
	return selectors[0], true
}

var (
	beginnings = setOf("start started begin began creation created first since queued")
	ends       = setOf("completion completed complete end ended finish finished stop stopped done")
)

// moment folds times: of what begins the first, of what ends the last, if it has ended everywhere, and of all else
// the last. It says whether all texts are times.
func moment(name string, texts []string, complete bool) (text string, ok, isTime bool) {
	first, last := 0, 0
	times := make([]time.Time, len(texts))
	for i, text := range texts {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return "", false, false
		}
		times[i] = t
		if t.Before(times[first]) {
			first = i
		}
		if t.After(times[last]) {
			last = i
		}
	}
	for _, word := range words(name) {
		switch {
		case beginnings.has(word):
			return texts[first], true, true
		case ends.has(word):
			return texts[last], complete, true
		}
	}
	return texts[last], true, true
}

// boolean is true where something good is true everywhere, or something bad anywhere. A missing one is false, as
// controllers leave them out.
func (f *fold) boolean(path []string, members []member, whole bool) (any, bool, error) {
	anywhere := false
	everywhere := !whole || len(f.silent) == 0 && len(members) == len(f.members)
	for _, m := range members {
		b, ok := m.value.(bool)
		if !ok {
			return nil, false, m.wrong(path, "true or false")
		}
		anywhere = anywhere || b
		everywhere = everywhere && b
	}
	if len(members) == 0 {
		return nil, false, nil
	}
	switch polarityOf(path[len(path)-1]) {
	case goodTrue:
		return everywhere, true, nil
	case goodFalse:
		return anywhere, true, nil
	}
	return f.same(members)
}

// list joins the lists of all members. Entries that are equal, or have the same key where the schema says what that
// is, become one.
func (f *fold) list(path []string, s *structuralschema.Structural, members []member, whole bool) (any, bool, error) {
	if len(members) == 0 {
		return nil, false, nil
	}
	entries := make([]member, 0, len(members))
	for _, m := range members {
		list, ok := m.value.([]any)
		if !ok {
			return nil, false, m.wrong(path, "a list")
		}
		for _, v := range list {
			if v != nil {
				entries = append(entries, member{m.cluster, v})
			}
		}
	}
	var items *structuralschema.Structural
	var keys []string
	if s != nil {
		items, keys = s.Items, s.XListMapKeys
	}
	if isConditions(path[len(path)-1], items, entries) {
		list, err := f.conditions(path, items, keys, entries, whole)
		return list, err == nil, err
	}
	groups := grouped(entries, keys)
	if s != nil && s.ValueValidation != nil && s.ValueValidation.MaxItems != nil && int64(len(groups)) > *s.ValueValidation.MaxItems {
		return f.same(members)
	}
	joined := make([]any, 0, len(groups))
	for _, group := range groups {
		first := group[0].value
		if _, ok := first.(map[string]any); len(keys) == 0 || !ok {
			joined = append(joined, first)
			continue
		}
		entry, err := f.object(path, items, group, nil, false)
		if err != nil {
			return nil, false, err
		}
		for _, key := range keys {
			// A key may be a number, which must not be added up.
			if v := first.(map[string]any)[key]; v != nil {
				entry[key] = v
			}
		}
		joined = append(joined, entry)
	}
	return joined, true, nil
}

// grouped puts entries together that have the same values under the keys, or are equal if there are none. Groups are
// in the order in which they come up.
func grouped(entries []member, keys []string) [][]member {
	var groups [][]member
	index := map[string]int{}
	for _, e := range entries {
		id := identity(e.value, keys)
		i, ok := index[id]
		if !ok {
			i = len(groups)
			index[id] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], e)
	}
	return groups
}

// identity is a text that is the same for entries that are one.
func identity(v any, keys []string) string {
	if m, ok := v.(map[string]any); ok && len(keys) > 0 {
		if text, ok := m[keys[0]].(string); ok && len(keys) == 1 {
			return text // As nearly always. A key has one type, so that this is nobody else's.
		}
		values := make([]any, len(keys))
		for i, key := range keys {
			values[i] = m[key]
		}
		v = values
	}
	// The value was JSON a moment ago.
	text, _ := json.Marshal(v)
	return string(text)
}

package crd

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The reasons of conditions whose status no member has reported.
const (
	// reasonNotReported is for a condition of which some members say nothing.
	reasonNotReported = "NotReported"
	// reasonDiffer is for a condition of which members say different things, neither of which is known to be worse.
	reasonDiffer = "MembersDiffer"
)

// maxMessage is how long a message may be where the schema does not say: as in metav1.Condition.
const maxMessage = 32768

// isConditions says whether a list has conditions in the shape of the API conventions.
func isConditions(name string, items *structuralschema.Structural, entries []member) bool {
	list := words(name)
	if len(list) == 0 || list[len(list)-1] != "conditions" {
		return false
	}
	if items != nil && len(items.Properties) > 0 {
		return items.Properties["type"].Type == "string" && items.Properties["status"].Type == "string"
	}
	for _, e := range entries {
		c, _ := e.value.(map[string]any)
		_, hasType := c["type"].(string)
		_, hasStatus := c["status"].(string)
		if !hasType || !hasStatus {
			return false
		}
	}
	return true
}

// conditions folds the conditions of all members, type by type.
func (f *fold) conditions(path []string, items *structuralschema.Structural, keys []string, entries []member, whole bool) ([]any, error) {
	for _, e := range entries {
		c, ok := e.value.(map[string]any)
		if !ok {
			return nil, e.wrong(path, "objects")
		}
		for _, field := range [...]string{"type", "status", "reason", "message"} {
			if _, err := textAt(c, field); err != nil {
				return nil, e.blame(within(strings.Join(path, "."), err))
			}
		}
	}
	if len(keys) == 0 {
		keys = []string{"type"}
	}
	list := []any{}
	for _, group := range grouped(entries, keys) {
		if c := f.condition(items, group, whole); c != nil {
			list = append(list, c)
		}
	}
	return list, nil
}

// condition folds the conditions of one type, of which there is at least one; nil if nothing can be said. The worst
// status wins. If that is what no member has reported, it is Unknown.
func (f *fold) condition(items *structuralschema.Structural, group []member, whole bool) map[string]any {
	first := group[0].value.(map[string]any)
	by := map[string][]member{}
	for _, m := range group {
		status := textOf(m, "status")
		by[status] = append(by[status], m)
	}
	missing := f.without(group, whole)
	status, ok := f.status(polarityOf(textOf(group[0], "type")), by, len(missing))
	if !ok || !allowed(items, status) {
		return nil
	}
	said := by[status]
	folded := map[string]any{}
	from := first
	if len(said) > 0 {
		from = said[0].value.(map[string]any)
	}
	for name, v := range from {
		folded[name] = v
	}
	folded["status"] = status
	setText := func(name, text string) {
		if _, ok := folded[name]; ok || text != "" && mayHave(items, name) {
			folded[name] = text
		}
	}
	switch {
	case len(said) > 0:
		setText("message", f.message(said, len(said) == len(group)))
	case len(missing) > 0:
		setText("reason", reasonNotReported)
		setText("message", "not reported by "+strings.Join(missing, ", "))
		said = group
	default:
		setText("reason", reasonDiffer)
		setText("message", differing(group))
		said = group
	}
	if message, ok := folded["message"].(string); ok {
		folded["message"] = cut(message, longest(items))
	}
	for name := range folded {
		if v, ok := latest(name, said); ok {
			folded[name] = v
		}
	}
	if _, ok := folded[observedGeneration]; ok {
		// A member's generation is not the template's.
		delete(folded, observedGeneration)
		if f.observed != 0 {
			folded[observedGeneration] = f.observed
		}
	}
	return folded
}

// without are the members that do not have a condition which others have.
func (f *fold) without(group []member, whole bool) []string {
	if !whole {
		return nil
	}
	missing := slices.Clone(f.silent)
	for _, m := range f.members {
		if !slices.ContainsFunc(group, func(g member) bool { return g.cluster == m.cluster }) {
			missing = append(missing, m.cluster)
		}
	}
	slices.Sort(missing)
	return missing
}

// status is the worst of those that a condition has, and false if the words are others than those of the API and
// differ. Who says nothing might say anything: as the API conventions have it, a missing condition is an unknown one.
func (f *fold) status(p polarity, by map[string][]member, missing int) (string, bool) {
	yes, no, unknown := string(metav1.ConditionTrue), string(metav1.ConditionFalse), string(metav1.ConditionUnknown)
	for status := range by {
		if status != yes && status != no && status != unknown {
			return status, len(by) == 1 && missing == 0
		}
	}
	bad, good := no, yes
	if p == goodFalse {
		bad, good = yes, no
		// What is bad when it is True is left out by many controllers while it is not; who has not reported at all
		// leaves out everything.
		missing = len(f.silent)
	}
	switch {
	case len(by) == 1 && missing == 0:
		for status := range by {
			return status, true
		}
	case p == unknownPolarity:
		return unknown, true
	case len(by[bad]) > 0:
		return bad, true
	case len(by[unknown]) > 0 || missing > 0:
		return unknown, true
	}
	return good, true
}

// message tells what the members say, with their names unless all say the same.
func (f *fold) message(said []member, all bool) string {
	same := all
	for _, m := range said {
		same = same && textOf(m, "message") == textOf(said[0], "message")
	}
	if same {
		return textOf(said[0], "message")
	}
	var b strings.Builder
	for i, m := range said {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(m.cluster)
		if text := textOf(m, "message"); text != "" {
			b.WriteString(": " + text)
		}
	}
	return b.String()
}

// differing says who says what.
func differing(group []member) string {
	texts := make([]string, len(group))
	for i, m := range group {
		texts[i] = fmt.Sprintf("%s in %s", textOf(m, "status"), m.cluster)
	}
	return strings.Join(texts, ", ")
}

// textOf is a text of a condition, whose texts have been looked at.
func textOf(m member, field string) string {
	text, _ := m.value.(map[string]any)[field].(string)
	return text
}

// latest is the latest of the times in a field of conditions, and false if it has none.
func latest(name string, group []member) (string, bool) {
	var last time.Time
	found := ""
	for _, m := range group {
		text := textOf(m, name)
		if t, err := time.Parse(time.RFC3339, text); err == nil && (found == "" || t.After(last)) {
			last, found = t, text
		}
	}
	return found, found != ""
}

// mayHave says whether conditions may have a field.
func mayHave(items *structuralschema.Structural, name string) bool {
	_, ok, _ := below(items, name)
	return ok
}

// allowed says whether the schema has a status among its choices.
func allowed(items *structuralschema.Structural, status string) bool {
	if items == nil || items.Properties["status"].ValueValidation == nil {
		return true
	}
	choices := items.Properties["status"].ValueValidation.Enum
	return len(choices) == 0 || slices.ContainsFunc(choices, func(c structuralschema.JSON) bool { return c.Object == status })
}

// longest is how many characters a message may have.
func longest(items *structuralschema.Structural) int {
	if items != nil {
		if v := items.Properties["message"].ValueValidation; v != nil && v.MaxLength != nil && *v.MaxLength < maxMessage {
			return int(max(*v.MaxLength, 0))
		}
	}
	return maxMessage
}

// cut shortens a text to a number of characters.
func cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most])
}

package interpretertest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/interpreter"
)

const (
	// now stands for the time of the run.
	now = "<now>"
	// clockSlack allows for the seconds being cut off, and for a clock that is read elsewhere.
	clockSlack = 2 * time.Second
)

// comparable brings the wanted and the given answer into a form in which only differences that count are
// left. Where two spellings mean the same the given one is used, so that a difference shows nothing else.
func (c Case) comparable(contract *interpreter.Contract, output map[string]any, began, ended time.Time) (want, got map[string]any) {
	loose := c.Compare == Loose || c.Compare == Status
	want, got = maps.Clone(c.Output), maps.Clone(output)
	for _, name := range interpreter.Names(contract) {
		switch name {
		case "dependencies", "components":
			want[name], got[name] = ordered(name, want[name]), ordered(name, got[name])
			if c.Recorded == nil && name == "dependencies" {
				want[name] = withoutRepeats(want[name])
			}
		case "healthy":
			if want[name] == nil && want[interpreter.HealthName] != nil {
				delete(got, name)
			}
		case interpreter.HealthName:
			got[name] = narrowed(got[name], want[name])
		}
		if c.Compare == Status {
			want[name], got[name] = statusOf(want[name]), statusOf(got[name])
		}
	}
	if c.Recorded != nil {
		tolerateScheduling(want, got)
	}
	want, got = tidy(want, loose).(map[string]any), tidy(got, loose).(map[string]any)
	m := matcher{from: began.Add(-clockSlack), to: ended.Add(clockSlack)}
	return m.align(want, got, false).(map[string]any), got
}

// tidy makes a copy without null fields, and if loose without empty ones, with whole numbers as int64.
func tidy(v any, loose bool) any {
	switch v := v.(type) {
	case map[string]any:
		tidied := make(map[string]any, len(v))
		for key, value := range v {
			value = tidy(value, loose)
			if value == nil || loose && isEmpty(value) {
				continue
			}
			tidied[key] = value
		}
		return tidied
	case []any:
		tidied := make([]any, len(v))
		for i, value := range v {
			tidied[i] = tidy(value, loose)
		}
		return tidied
	case float64:
		// From 2^63 on a float is no int64; it is then compared as what it is.
		if v == math.Trunc(v) && math.Abs(v) < 1<<63 {
			return int64(v)
		}
		return v
	case int:
		return int64(v)
	}
	return v
}

// isEmpty says whether v has no entries. Zero, false and the empty text are values.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// matcher knows when a run took place.
type matcher struct{ from, to time.Time }

// align gives want in the spelling of got wherever both mean the same. Quantities says that v's values are
// quantities.
func (m matcher) align(want, got any, quantities bool) any {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return want
		}
		for key, value := range w {
			other, ok := g[key]
			switch {
			case !ok:
			case quantities && sameQuantity(value, other):
				w[key] = other
			default:
				w[key] = m.align(value, other, key == "resourceRequest")
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok {
			return want
		}
		for i := range min(len(w), len(g)) {
			w[i] = m.align(w[i], g[i], false)
		}
	case string:
		if text, ok := got.(string); ok && w == now && m.isNow(text) {
			return got
		}
	}
	return want
}

// isNow wants whole seconds, as Kubernetes writes times.
func (m matcher) isNow(text string) bool {
	t, err := time.Parse(time.RFC3339, text)
	return err == nil && t.Nanosecond() == 0 && !t.Before(m.from) && !t.After(m.to)
}

// sameQuantity compares 1, "1" and "1000m" as the same. What is no quantity is the same as nothing.
func sameQuantity(a, b any) bool {
	qa, errA := quantity(a)
	qb, errB := quantity(b)
	return errA == nil && errB == nil && qa.Cmp(qb) == 0
}

func quantity(v any) (resource.Quantity, error) {
	switch v := v.(type) {
	case string:
		return resource.ParseQuantity(v)
	case int64:
		return *resource.NewQuantity(v, resource.DecimalSI), nil
	case float64:
		return resource.ParseQuantity(strconv.FormatFloat(v, 'f', -1, 64))
	}
	return resource.Quantity{}, fmt.Errorf("%T is no quantity", v)
}

// ordered sorts a list of references or components; nil becomes an empty list, anything else stays.
func ordered(name string, v any) any {
	if v == nil {
		return []any{}
	}
	list, ok := v.([]any)
	if !ok {
		return v
	}
	keys := []string{"name"}
	if name == "dependencies" {
		keys = []string{"apiVersion", "kind", "namespace", "name"}
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b any) int {
		ma, _ := a.(map[string]any)
		mb, _ := b.(map[string]any)
		for _, key := range keys {
			ta, _ := ma[key].(string)
			tb, _ := mb[key].(string)
			if order := strings.Compare(ta, tb); order != 0 {
				return order
			}
		}
		return cmp.Compare(text(ma["labelSelector"]), text(mb["labelSelector"]))
	})
	return list
}

// withoutRepeats joins equal neighbours of a sorted list.
func withoutRepeats(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	return slices.CompactFunc(list, func(a, b any) bool { return text(tidy(a, false)) == text(tidy(b, false)) })
}

// text is JSON, with sorted keys; only its being the same or not matters.
func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// narrowed leaves of a map the keys that another has, and nothing if there is no other.
func narrowed(got, want any) any {
	g, _ := got.(map[string]any)
	w, ok := want.(map[string]any)
	if !ok {
		return nil
	}
	narrow := map[string]any{}
	for key, value := range w {
		if value != nil {
			narrow[key] = g[key]
		}
	}
	return narrow
}

// statusOf is an object with its status only. What is no object stays, to be seen in the difference.
func statusOf(object any) any {
	o, ok := object.(map[string]any)
	if !ok {
		return object
	}
	return map[string]any{"status": o["status"]}
}

// tolerateScheduling takes the namespace and the priority class out of requirements if they were not recorded:
// an answer may say more about quotas than the recorded implementation did.
func tolerateScheduling(want, got map[string]any) {
	tolerate(want, got, "requires")
	wanted, _ := want["components"].([]any)
	given, _ := got["components"].([]any)
	for i := range min(len(wanted), len(given)) {
		w, okW := wanted[i].(map[string]any)
		g, okG := given[i].(map[string]any)
		if okW && okG {
			w, g = maps.Clone(w), maps.Clone(g)
			tolerate(w, g, "replicaRequirements")
			given[i] = g
		}
	}
}

// tolerate may empty the given requirements that way; these are then the same as none.
func tolerate(want, got map[string]any, key string) {
	g, ok := got[key].(map[string]any)
	if !ok || len(g) == 0 {
		return
	}
	w, _ := want[key].(map[string]any)
	rest := maps.Clone(g)
	for _, field := range []string{"namespace", "priorityClassName"} {
		if w[field] == nil {
			delete(rest, field)
		}
	}
	got[key] = rest
	if len(rest) == 0 && w == nil {
		delete(got, key)
	}
}

// differ shows two answers as YAML with the lines that differ marked.
func differ(want, got map[string]any) string {
	patch := string(diff.Diff("want", yamlText(want), "got", yamlText(got)))
	// The first line repeats the names that the next two give.
	_, patch, _ = strings.Cut(patch, "\n")
	return patch
}

func yamlText(v map[string]any) []byte {
	if v == nil {
		return nil
	}
	data, err := yaml.Marshal(v)
	if err != nil {
		return []byte(err.Error() + "\n")
	}
	return data
}

package builtin

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/kubeinterpret/interpret/interpreter"
)

// moment is the time at a path, the zero time if there is none.
func (r raw) moment(path ...string) (time.Time, error) {
	s, err := r.text(path...)
	if err != nil {
		return time.Time{}, err
	}
	return parseMoment(s, path)
}

// momentAt is the time at a path, the zero time if there is none.
func momentAt(obj map[string]any, path ...string) (time.Time, error) {
	s, err := textAt(obj, path...)
	if err != nil {
		return time.Time{}, err
	}
	return parseMoment(s, path)
}

// parseMoment reads a time as the API's metav1.Time does: RFC 3339, with or without a fraction of a second.
func parseMoment(s string, path []string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, fault(path, "must be a time such as 2006-01-02T15:04:05Z, got %s", describe(s))
	}
	return t, nil
}

// setMoment writes a time as the API does, in whole seconds of UTC, and removes it if it is the zero time.
func setMoment(obj map[string]any, name string, t time.Time) {
	if t.IsZero() {
		delete(obj, name)
		return
	}
	obj[name] = t.UTC().Format(time.RFC3339)
}

// latest is the later of two times. The zero time is before all others, so it stands for "none yet".
func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// earliest takes the zero time for no time.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// byCluster are the items in the order of their clusters' names, so that lists that are made of them do not
// depend on the order in which the items come.
func byCluster(items []interpreter.AggregatedStatusItem) []interpreter.AggregatedStatusItem {
	if slices.IsSortedFunc(items, compareItems) {
		return items
	}
	return slices.SortedFunc(slices.Values(items), compareItems)
}

// compareItems orders items of one cluster, which should not be, by what they report.
func compareItems(a, b interpreter.AggregatedStatusItem) int {
	order := cmp.Compare(a.ClusterName, b.ClusterName)
	if order == 0 && a.Status != nil && b.Status != nil {
		return bytes.Compare(a.Status.Raw, b.Status.Raw)
	}
	return order
}

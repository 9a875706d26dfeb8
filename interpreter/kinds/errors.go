package kinds

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
)

// NoMatchError says that nothing has a name, and what is near it. It wraps the error that apimachinery has for this,
// so that meta.IsNoMatchError is true.
type NoMatchError struct {
	// Name is what was looked for, as it was given.
	Name string
	// Others have the same name in another version or group; by priority.
	Others []*Resource
	// Nearest are names that may have been meant, the nearest first; there are none if there are Others.
	Nearest []string
	// Undiscovered says what the server could not tell about, if that may be what was looked for.
	Undiscovered error

	err error
}

func (e *NoMatchError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "there is no resource or kind %q", e.Name)
	switch {
	case len(e.Others) > 0:
		fmt.Fprintf(&b, ", only %s", list(e.Others, "and", (*Resource).String))
	case len(e.Nearest) > 0:
		fmt.Fprintf(&b, ", did you mean %s?", enumerate(e.Nearest, "or"))
	}
	if e.Undiscovered != nil {
		fmt.Fprintf(&b, " (it may be one of those that the API server could not tell about: %s)", strings.ReplaceAll(e.Undiscovered.Error(), "\n", "; "))
	}
	return b.String()
}

// Unwrap is apimachinery's error, a *meta.NoResourceMatchError or *meta.NoKindMatchError.
func (e *NoMatchError) Unwrap() error { return e.err }

// AmbiguousError says that a name fits several resources, and that nothing decides between them. It wraps the error
// that apimachinery has for this, so that meta.IsAmbiguousError is true.
type AmbiguousError struct {
	// Name is what was looked for, as it was given.
	Name string
	// Candidates are the resources that it fits, the first of each group or all of a category; by priority.
	Candidates []*Resource
	// Category says that the name is not that of a resource.
	Category bool

	err error
}

func (e *AmbiguousError) Error() string {
	if e.Category {
		return fmt.Sprintf("%q is a category; name one of its resources, %s", e.Name, list(e.Candidates, "or", (*Resource).Short))
	}
	// The group says which, except within one.
	say, example := "group", (*Resource).Short
	if e.Candidates[0].Name.Group == e.Candidates[1].Name.Group {
		say, example = "resource", (*Resource).String
	}
	return fmt.Sprintf("%q is ambiguous; name the %s, as in %s", e.Name, say, list(e.Candidates, "or", example))
}

// Unwrap is apimachinery's error, a *meta.AmbiguousResourceError or *meta.AmbiguousKindError.
func (e *AmbiguousError) Unwrap() error { return e.err }

// maxListed is how many names a message lists; who needs more looks at the error's fields.
const maxListed = 8

func list(resources []*Resource, conjunction string, write func(*Resource) string) string {
	var names []string
	for _, r := range resources {
		names = append(names, write(r))
	}
	return enumerate(names, conjunction)
}

// enumerate writes "a, b or c".
func enumerate(names []string, conjunction string) string {
	last := names[len(names)-1]
	if len(names) > maxListed {
		last = fmt.Sprintf("%d others", len(names)-maxListed+1)
		names = names[:maxListed]
	}
	if len(names) == 1 {
		return last
	}
	return strings.Join(names[:len(names)-1], ", ") + " " + conjunction + " " + last
}

// maxNearest is how many near names a message gives: more are a list to be read, and no help.
const maxNearest = 3

// nearest finds names near to one: of kinds, if it is written like one, else of resources; of the other sort only if
// there is none.
func (t *table) nearest(name string, kindsOnly bool) []string {
	var resources, kinds []string
	owner := map[string]*Resource{}
	add := func(names *[]string, name string, r *Resource) {
		if owner[name] == nil {
			owner[name] = r
			*names = append(*names, name)
		}
	}
	for _, r := range t.all {
		if r.Preferred {
			add(&resources, r.Name.Resource, r)
			add(&resources, r.Singular, r)
			add(&kinds, r.Kind.Kind, r)
		}
	}
	sorts := [][]string{resources, kinds}
	switch {
	case kindsOnly:
		sorts = sorts[1:]
	case strings.ToLower(name) != name:
		slices.Reverse(sorts)
	}
	for _, candidates := range sorts {
		if found := nearestOf(name, candidates, owner); len(found) > 0 {
			return found
		}
	}
	return nil
}

// nearestOf gives one name for each owner.
func nearestOf(name string, candidates []string, owner map[string]*Resource) []string {
	var found []string
	seen := map[*Resource]bool{}
	for len(found) < maxNearest {
		near := interpreter.Nearest(name, candidates)
		if near == "" {
			break
		}
		candidates = slices.DeleteFunc(candidates, func(c string) bool { return c == near })
		r := owner[near]
		if seen[r] {
			continue
		}
		seen[r] = true
		if near == r.Singular {
			near = r.Name.Resource
		}
		found = append(found, near)
	}
	return found
}

// undiscovered says what a server could not tell about, if a resource of that group and version may be among it.
func (t *table) undiscovered(group, version string) error {
	var errs []error
	for _, gv := range slices.SortedFunc(maps.Keys(t.failed), func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) }) {
		if strings.HasPrefix(gv.Group, group) && (version == "" || version == gv.Version) {
			errs = append(errs, fmt.Errorf("%s: %w", gv, t.failed[gv]))
		}
	}
	return errors.Join(errs...)
}

package kinds

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrInvalidName means that a text cannot be the name of a resource or a kind, whichever there are.
var ErrInvalidName = errors.New("not the name of a resource or kind")

// name is a text taken apart.
type name struct {
	text string
	// word is the resource or kind in it, in its own letter case.
	word string
	// partials are what it can mean, the likeliest first: which dot ends a version and which is in a group, the
	// text does not say.
	partials []schema.GroupVersionResource
	// exact means that the group is the whole group, and empty the core group.
	exact bool
	// custom means that a CRD has defined it.
	custom bool
}

var (
	wordPattern    = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9]*[A-Za-z0-9])?$`)
	versionPattern = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)
	crdPattern     = regexp.MustCompile(`^(crds?|customresourcedefinitions?)(\.v1)?(\.apiextensions(\.k8s\.io)?)?$`)
	gvkPattern     = regexp.MustCompile(`^(.*), ?(?:Kind|Resource)=(.*)$`)
)

// parseName takes a name apart. Beside NAME[.VERSION][.GROUP] there are the ways in which names are printed:
// "apps/v1 Deployment", "apps/v1, Kind=Deployment", and that of a CRD, as crd/foos.example.com.
func parseName(text string) (name, error) {
	n := name{text: strings.TrimSpace(text)}
	if len(n.text) > maxName {
		return n, fmt.Errorf("%w: it has %d letters, more than any can have", ErrInvalidName, len(n.text))
	}
	if m := gvkPattern.FindStringSubmatch(n.text); m != nil {
		return n, n.full(strings.TrimPrefix(m[1], "/"), m[2])
	}
	words := strings.Fields(n.text)
	switch {
	case len(words) == 2:
		return n, n.full(words[0], words[1])
	case len(words) != 1:
		return n, n.invalid("want one such as deployments.apps, or an apiVersion and a kind")
	}
	before, after, slash := cutLast(n.text, "/")
	switch {
	case !slash:
		return n, n.dotted(n.text)
	case crdPattern.MatchString(strings.ToLower(before)):
		n.custom = true
		return n, n.dotted(after)
	case strings.Contains(before, "/") || versionPattern.MatchString(before):
		return n, n.full(before, after)
	}
	return n, n.invalid(fmt.Sprintf("it is that of an object; say only %s", before))
}

// maxName is the length of the longest name that Kubernetes allows: of a CRD, with its version, and some blanks.
const maxName = 512

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func (n *name) invalid(why string) error {
	return fmt.Errorf("%q is %w: %s", n.text, ErrInvalidName, why)
}

// full has an apiVersion and a kind, or a resource.
func (n *name) full(apiVersion, kind string) error {
	gv, err := schema.ParseGroupVersion(strings.ToLower(apiVersion))
	if err != nil || gv.Version == "" || !validGroup(gv.Group) || !wordPattern.MatchString(gv.Version) {
		return n.invalid(fmt.Sprintf("%q is no apiVersion such as apps/v1", apiVersion))
	}
	if !wordPattern.MatchString(kind) {
		return n.invalid(fmt.Sprintf("%q has letters that no name has", kind))
	}
	n.word, n.exact = kind, true
	n.partials = []schema.GroupVersionResource{gv.WithResource(strings.ToLower(kind))}
	return nil
}

// dotted has a name, and then perhaps a version, and then perhaps a group. A dot at the end stands before the core
// group, as kubectl has it.
func (n *name) dotted(text string) error {
	parts := strings.Split(strings.TrimSuffix(text, "."), ".")
	for _, part := range parts {
		if !wordPattern.MatchString(part) {
			if part == "" {
				return n.invalid("a part of it is empty")
			}
			return n.invalid(fmt.Sprintf("%q has letters that no name has", part))
		}
	}
	n.word = parts[0]
	resource := strings.ToLower(n.word)
	add := func(version string, group []string) {
		n.partials = append(n.partials, schema.GroupVersionResource{Group: strings.ToLower(strings.Join(group, ".")), Version: version, Resource: resource})
	}
	switch {
	case len(parts) == 1:
		add("", nil)
	case len(parts) == 2:
		if version := strings.ToLower(parts[1]); versionPattern.MatchString(version) {
			add(version, nil)
		}
		add("", parts[1:])
	default:
		add(strings.ToLower(parts[1]), parts[2:])
		add("", parts[1:])
	}
	return nil
}

func validGroup(group string) bool {
	if group == "" {
		return true
	}
	for part := range strings.SplitSeq(group, ".") {
		if !wordPattern.MatchString(part) {
			return false
		}
	}
	return true
}

// looser are partial names that have less to fit, for an error to say what there is.
func (n *name) looser() []schema.GroupVersionResource {
	var list []schema.GroupVersionResource
	for _, p := range n.partials {
		if p.Version != "" && p.Group != "" {
			list = append(list, schema.GroupVersionResource{Group: p.Group, Resource: p.Resource})
		}
	}
	return append(list, schema.GroupVersionResource{Resource: n.partials[0].Resource})
}

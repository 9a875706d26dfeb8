package thirdparty

import (
	"cmp"
	"io/fs"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/declarative"
)

const (
	// wildcard is a part of a target that matches everything.
	wildcard = "*"
	// anyPart is how a folder spells it, since a star is no name for a folder that is embedded.
	anyPart = "any"
)

// folder is what is bundled for one kind, or one pattern of kinds.
type folder struct {
	path string
	kind schema.GroupVersionKind
	// parse and load do their work once.
	parse func() (*parsed, error)
	load  func() (*rules, error)
}

// parsed is a folder's customizations.
type parsed struct{ karmada, extra []*declarative.Customization }

// rules are a folder's compiled customizations.
type rules struct{ karmada, extra *declarative.Layer }

func (r *rules) karmadaLayer() *declarative.Layer { return r.karmada }

func (r *rules) extraLayer() *declarative.Layer { return r.extra }

func newFolder(b *Bundle, path string) *folder {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if part == anyPart || i == 0 && strings.HasPrefix(part, anyPart+".") {
			parts[i] = wildcard + strings.TrimPrefix(part, anyPart)
		}
	}
	f := &folder{path: path, kind: schema.GroupVersionKind{Group: parts[0], Version: parts[1], Kind: parts[2]}}
	f.parse = sync.OnceValues(func() (*parsed, error) { return parse(b.fs, path) })
	f.load = sync.OnceValues(func() (*rules, error) { return compile(b, f) })
	return f
}

func parse(files fs.FS, path string) (*parsed, error) {
	data, err := fs.ReadFile(files, path)
	if err != nil {
		return nil, err
	}
	list, err := declarative.Parse(path, data)
	if err != nil {
		return nil, err
	}
	p := &parsed{}
	for _, c := range list {
		if _, marked := c.Labels[KarmadaLabel]; marked {
			p.karmada = append(p.karmada, c)
		} else {
			p.extra = append(p.extra, c)
		}
	}
	return p, nil
}

func compile(b *Bundle, f *folder) (*rules, error) {
	parsed, err := f.parse()
	if err != nil {
		return nil, err
	}
	engine, err := b.engine()
	if err != nil {
		return nil, err
	}
	r := &rules{}
	if r.karmada, err = declarative.New(parsed.karmada, declarative.WithEngine(engine), declarative.WithName(LayerName)); err != nil {
		return nil, err
	}
	if r.extra, err = declarative.New(parsed.extra, declarative.WithEngine(engine), declarative.WithName(ExtraName)); err != nil {
		return nil, err
	}
	return r, nil
}

func (f *folder) isPattern() bool {
	return strings.HasPrefix(f.kind.Group, wildcard) || f.kind.Version == wildcard || f.kind.Kind == wildcard
}

func (f *folder) matches(kind schema.GroupVersionKind) bool {
	if suffix, pattern := strings.CutPrefix(f.kind.Group, wildcard); pattern && !strings.HasSuffix(kind.Group, suffix) ||
		!pattern && f.kind.Group != kind.Group {
		return false
	}
	return (f.kind.Version == wildcard || f.kind.Version == kind.Version) && (f.kind.Kind == wildcard || f.kind.Kind == kind.Kind)
}

// compare orders patterns as customizations are ordered: by group, then kind, then version, whole names and
// longer suffixes first.
func (f *folder) compare(o *folder) int {
	return cmp.Or(
		cmp.Compare(rank(f.kind.Group), rank(o.kind.Group)),
		cmp.Compare(rank(f.kind.Kind), rank(o.kind.Kind)),
		cmp.Compare(rank(f.kind.Version), rank(o.kind.Version)),
	)
}

// rank is 0 for a name, and for a pattern the less the more it says.
func rank(part string) int {
	if suffix, pattern := strings.CutPrefix(part, wildcard); pattern {
		return 1000 - len(suffix) // A group is a DNS name, shorter than this.
	}
	return 0
}

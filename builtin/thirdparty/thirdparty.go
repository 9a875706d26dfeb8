// Package thirdparty interprets kinds that other projects define as CRDs, by customizations that come with
// the library. There is no Go for any kind: a folder <group>/<version>/<Kind> holds its customizations.yaml
// and, in testdata, its cases. In a folder's name the part "any" stands for every group, version or kind, and
// a group "any.example.io" for all groups that end in .example.io.
//
// What several kinds have in common is in one Lua module, rules.lua, which the scripts require.
//
// Why is nothing loaded at the start? Parsing and compiling all rules takes longer than most commands run.
// The folders' names are enough to know which kinds there are; a kind's file is parsed and compiled when that
// kind is first asked about.
package thirdparty

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/luakube"
)

// The names of the two layers.
const (
	LayerName = "third-party"
	ExtraName = "third-party extra"
)

// ModuleName is what bundled scripts require for the module they share.
const ModuleName = "rules"

// KarmadaLabel marks the customizations for what Karmada bundles rules for too. Those without it are extra.
const KarmadaLabel = "bundled-in-karmada"

//go:embed */*/*/customizations.yaml
var files embed.FS

//go:embed rules.lua
var module string

// Module is the source of the Lua module that bundled scripts share. An engine that is to run a copy of a
// bundled script must know it, under ModuleName.
func Module() string { return module }

// Layer answers what Karmada's own bundled rules answer. All callers share what is compiled.
func Layer() interpreter.Layer { return shared().Layer() }

// Extra answers for kinds and operations that Karmada bundles no rule for. No rule of it stands in the way of
// one of Layer.
func Extra() interpreter.Layer { return shared().Extra() }

var shared = sync.OnceValue(func() *Bundle { return New() })

// Bundle is the bundled rules. It is safe for many goroutines.
type Bundle struct {
	fs     fs.FS
	engine func() (*luakube.Engine, error)
	// exact are the folders that are for one kind; patterns are the others, the most specific first.
	exact    map[schema.GroupVersionKind]*folder
	patterns []*folder
}

// New makes a bundle whose scripts run in an engine of their own with these options. An option that is in
// error, like anything else that is wrong with a bundle, is the error of every rule that is asked, and of Load.
func New(options ...luakube.Option) *Bundle { return newBundle(files, options...) }

func newBundle(files fs.FS, options ...luakube.Option) *Bundle {
	b := &Bundle{fs: files, exact: map[schema.GroupVersionKind]*folder{}}
	b.engine = sync.OnceValues(func() (*luakube.Engine, error) {
		return luakube.New(append([]luakube.Option{luakube.WithScriptModule(ModuleName, module)}, options...)...)
	})
	// A glob of fixed parts has no errors but those of the pattern.
	paths, _ := fs.Glob(files, "*/*/*/customizations.yaml")
	for _, path := range paths {
		f := newFolder(b, path)
		if f.isPattern() {
			b.patterns = append(b.patterns, f)
		} else {
			b.exact[f.kind] = f
		}
	}
	slices.SortStableFunc(b.patterns, (*folder).compare)
	return b
}

// folders lists all folders in the order of their kinds.
func (b *Bundle) folders() []*folder {
	list := slices.Clone(b.patterns)
	for _, f := range b.exact {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b *folder) int { return strings.Compare(a.path, b.path) })
	return list
}

// matching lists the folders that are about a kind, the most specific first.
func (b *Bundle) matching(kind schema.GroupVersionKind) []*folder {
	var list []*folder
	if f := b.exact[kind]; f != nil {
		list = append(list, f)
	}
	for _, f := range b.patterns {
		if f.matches(kind) {
			list = append(list, f)
		}
	}
	return list
}

// Layer is the layer of the rules that Karmada has too. It implements interpreter.Lister.
func (b *Bundle) Layer() interpreter.Layer { return &layer{b, LayerName, (*rules).karmadaLayer} }

// Extra is the layer of the rules that Karmada lacks. It implements interpreter.Lister.
func (b *Bundle) Extra() interpreter.Layer { return &layer{b, ExtraName, (*rules).extraLayer} }

// Load parses and compiles everything. The error joins all that is wrong.
func (b *Bundle) Load() error {
	var errs []error
	for _, f := range b.folders() {
		_, err := f.load()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Kinds lists the kinds that have a folder. Their parts may be patterns.
func (b *Bundle) Kinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, f := range b.folders() {
		kinds = append(kinds, f.kind)
	}
	return kinds
}

// Source gives the customizations for a kind as they were written, the most specific first; nil if there are
// none.
func (b *Bundle) Source(kind schema.GroupVersionKind) []byte {
	var text []byte
	for _, f := range b.matching(kind) {
		data, err := fs.ReadFile(b.fs, f.path)
		if err != nil {
			continue // The glob has just seen it; without it there is nothing to show.
		}
		if text != nil {
			text = append(text, "---\n"...)
		}
		text = append(text, data...)
	}
	return text
}

// layer is one of the two sides of a bundle.
type layer struct {
	bundle *Bundle
	name   string
	of     func(*rules) *declarative.Layer
}

func (l *layer) Name() string { return l.name }

func (l *layer) Rules(kind schema.GroupVersionKind, op interpreter.Operation) []*interpreter.Rule {
	var list []*interpreter.Rule
	for _, f := range l.bundle.matching(kind) {
		loaded, err := f.load()
		if err != nil {
			return []*interpreter.Rule{broken(f, err)}
		}
		if found := l.of(loaded).Rules(kind, op); list == nil {
			list = found
		} else {
			list = append(slices.Clip(list), found...)
		}
	}
	return list
}

// Entries lists what the files say, without compiling them. A file that cannot be parsed lists nothing.
func (l *layer) Entries() []interpreter.Entry {
	var entries []interpreter.Entry
	for _, f := range l.bundle.folders() {
		parsed, err := f.parse()
		if err != nil {
			continue
		}
		customizations := parsed.karmada
		if l.name == ExtraName {
			customizations = parsed.extra
		}
		for _, c := range customizations {
			for _, contract := range interpreter.Contracts() {
				if lua := contract.Script(&c.Spec.Customizations); lua != nil && lua.LuaScript != "" {
					entries = append(entries, interpreter.Entry{Kind: f.kind, Operation: contract.Operation, Rule: c.Name})
				}
			}
		}
	}
	return entries
}

// broken is a rule that tells what is wrong with a folder. To pass on to the next layer would give another
// answer than the one that is bundled.
func broken(f *folder, err error) *interpreter.Rule {
	return &interpreter.Rule{Name: f.path, Interpreter: interpreter.Func(
		func(context.Context, *interpreter.Request) (*interpreter.Result, error) {
			return nil, fmt.Errorf("bundled rules: %w", err)
		})}
}

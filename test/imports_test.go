package test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	root   = ".." // of the module, seen from this directory
	module = "github.com/kubeinterpret/interpret"
)

func TestImportsAreDrawn(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	require.NoError(t, err)
	d, err := readDrawing(string(page))
	require.NoError(t, err)
	imports := importsOf(t)
	require.Contains(t, imports["interpreter"], module+"/interpreter/v1alpha1", "the imports were not read")
	assert.Empty(t, d.violations(imports))
}

func TestUndrawnImportsAreFound(t *testing.T) {
	d, err := readDrawing(strings.Join([]string{
		"# A page",
		"",
		"| room | what it is for | may import |",
		"|---|---|---|",
		"| `low` | the floor; see `high` | – |",
		"| `low/deep` | the cellar | – |",
		"| `high` | the roof | `low` |",
		"| `all/*` | everywhere | `*` |",
		"",
		"| from outside | may be imported by |",
		"|---|---|",
		"| `example.com/heavy` | `high`, `all/*` |",
	}, "\n"))
	require.NoError(t, err)

	assert.Empty(t, d.violations(map[string][]string{
		"low":     {"fmt", "example.com/heavyweight"},
		"high":    {module + "/low", "example.com/heavy/part"},
		"all/one": {module + "/low", module + "/high", "example.com/heavy"},
	}))
	assert.Equal(t, []string{
		"all/one/more: no such room on the page",
		"high imports low/deep",
		"low imports example.com/heavy",
		"low imports high",
		"low/deep imports example.com/heavy/part",
	}, d.violations(map[string][]string{
		"low":          {module + "/high", "example.com/heavy"},
		"low/deep":     {"example.com/heavy/part"},
		"high":         {module + "/low/deep"},
		"all/one/more": nil,
	}))
}

func TestAPageWithoutTablesIsRefused(t *testing.T) {
	_, err := readDrawing("| room | may import |\n|---|---|\n\nwords\n")
	require.ErrorContains(t, err, "no table")
	_, err = readDrawing("| room | may import |\n|---|---|\n| low | – |\n")
	require.ErrorContains(t, err, `no name in "| low | – |"`)
}

// drawing is what the page allows.
type drawing struct {
	// rooms are patterns of rooms, and the rooms each may import.
	rooms map[string][]string
	// outside are foreign packages, and the rooms that may import them.
	outside map[string][]string
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// readDrawing reads the tables of a page that start with the columns "room" and "from outside". In a row the
// names are the code spans of the first cell and of the last.
func readDrawing(page string) (*drawing, error) {
	d := &drawing{rooms: map[string][]string{}, outside: map[string][]string{}}
	tables := map[string]map[string][]string{"room": d.rooms, "from outside": d.outside}
	var table map[string][]string
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		cells := strings.Split(strings.Trim(line, "|"), "|")
		switch first := strings.TrimSpace(cells[0]); {
		case !strings.HasPrefix(line, "|"):
			table = nil
		case tables[first] != nil:
			table = tables[first]
		case table == nil || strings.HasPrefix(first, "---"):
		default:
			name := codeSpan.FindStringSubmatch(first)
			if name == nil {
				return nil, fmt.Errorf("no name in %q", line)
			}
			table[name[1]] = []string{}
			for _, span := range codeSpan.FindAllStringSubmatch(cells[len(cells)-1], -1) {
				table[name[1]] = append(table[name[1]], span[1])
			}
		}
	}
	for first, table := range tables {
		if len(table) == 0 {
			return nil, fmt.Errorf("no table of %q", first)
		}
	}
	return d, nil
}

// violations lists what the rooms of the code, with the packages they import, do that is not drawn.
func (d *drawing) violations(imports map[string][]string) []string {
	var list []string
	for room, packages := range imports {
		allowed, ok := d.allowed(room)
		if !ok {
			list = append(list, room+": no such room on the page")
			continue
		}
		for _, p := range packages {
			if other, ours := strings.CutPrefix(p, module+"/"); ours {
				if !matchesAny(allowed, other) {
					list = append(list, room+" imports "+other)
				}
				continue
			}
			for foreign, rooms := range d.outside {
				if (p == foreign || strings.HasPrefix(p, foreign+"/")) && !matchesAny(rooms, room) {
					list = append(list, room+" imports "+p)
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

func (d *drawing) allowed(room string) ([]string, bool) {
	for pattern, allowed := range d.rooms {
		if matches(pattern, room) {
			return allowed, true
		}
	}
	return nil, false
}

func matchesAny(patterns []string, room string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return p == "*" || matches(p, room) })
}

func matches(pattern, room string) bool {
	ok, err := path.Match(pattern, room)
	return err == nil && ok
}

// importsOf reads which packages each room imports outside its tests, for whatever platform and build tag.
// It reads the files itself, since go test takes a result from its cache unless a file has changed that the
// test has opened; what go list opens does not count.
func importsOf(t *testing.T) map[string][]string {
	imports := map[string][]string{}
	walkModule(t, func(file string, _ fs.DirEntry) {
		if path.Ext(file) != ".go" {
			return
		}
		room := path.Dir(file)
		if _, ok := imports[room]; !ok {
			imports[room] = nil
		}
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ImportsOnly)
		require.NoError(t, err)
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			if !slices.Contains(imports[room], imported) {
				imports[room] = append(imports[room], imported)
			}
		}
	})
	return imports
}

// walkModule visits the files of the module by their slash-separated paths below its root. Like the go
// command it leaves out nested modules and directories that are hidden or hold test data.
func walkModule(t *testing.T, visit func(file string, entry fs.DirEntry)) {
	require.NoError(t, filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || name == root {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if !entry.IsDir() {
			visit(filepath.ToSlash(rel), entry)
			return nil
		}
		if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil || entry.Name() == "testdata" ||
			strings.HasPrefix(entry.Name(), ".") || strings.HasPrefix(entry.Name(), "_") {
			return fs.SkipDir
		}
		return nil
	}))
}

package luakube_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/luakube"
)

func TestFieldsAreFoundWithTheirPlaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"names":         {"return a.spec.replicas", "0:spec@2:10 0:spec.replicas@2:15"},
		"brackets":      {`return a["spec"].x['y']`, `0:spec@2:10 0:spec.x@2:18 0:spec.x.y@2:20`},
		"twice a line":  {"return a.x.x == a.x", "0:x@2:10 0:x.x@2:12 0:x@2:19"},
		"second":        {"return b.x", "1:x@2:10"},
		"written":       {"a.x.y = b.z", "0:x@2:3 0:x.y=@2:5 1:z@2:11"},
		"alias":         {"local s = a.spec or {}\nreturn s.x", "0:spec@2:13 0:spec.x@3:10"},
		"guarded":       {"local s = a and a.spec and a.spec.x\nreturn s.y", "0:spec@2:19 0:spec@2:30 0:spec.x@2:35 0:spec.x.y@3:10"},
		"items":         {"for i, c in ipairs(a.list) do print(c.x) end\nfor i = 1, #a.list do print(a.list[i].y, a.list[1].z) end", "0:list@2:22 0:list[].x@2:39 0:list@3:15 0:list@3:31 0:list[].y@3:39 0:list@3:44 0:list[].z@3:52"},
		"another":       {"a = f()\nreturn a.x", ""},
		"default":       {"a = a or {}\nreturn a.x", "0:x@3:10"},
		"lost":          {"local s = a.x\nif b then s = b.y end\nreturn s.z", "0:x@2:13 1:y@3:17"},
		"shadowed":      {"local function f(a) return a.x end\nreturn f(a)", ""},
		"closure":       {"local function f() return a.x end\nreturn f()", "0:x@2:29"},
		"table":         {"a.status = {x = 1, y = {z = b.w}}", "0:status=@2:3 0:status.x=@2:13 0:status.y=@2:20 0:status.y.z=@2:25 1:w@2:31"},
		"made":          {"local s = {}\ns.x = 1\na.status = s\nreturn a", "0:status.x=@3:3 0:status=@4:3"},
		"made twice":    {"local s = {x = 1}\na.p = s\na.q = s", "0:p=@3:3 0:q=@4:3"},
		"returned":      {"local s = {}\ns.x = a.y\nif b then return s end\nreturn s", "-1:x=@3:3 0:y@3:9"},
		"inserted":      {"local c = {name = 'x'}\ntable.insert(a.list, c)\na.list[#a.list + 1] = {y = 2}", "0:list[].name=@2:12 0:list@3:16 0:list@4:3 0:list@4:11 0:list[].y=@4:24"},
		"computed":      {"local k = 'x'\nreturn a[k].y", ""},
		"kube.get":      {`return kube.get(a, "spec.list[1].x", 0)`, `0:spec@2:20 0:spec.list@2:20 0:spec.list[].x@2:20`},
		"condition":     {`return kube.condition(a, "Ready").status`, `0:status@2:26 0:status.conditions@2:26 0:status.conditions[].status@2:35`},
		"over lines":    {"return a\n  .spec\n  .x", "0:spec@3:4 0:spec.x@4:4"},
		"comment":       {"--[[ a.spec ]] return a.spec -- a.spec", "0:spec@2:25"},
		"itself":        {"local s = {}\ns.s = s\ns.x = 1", ""},
		"in each other": {"local s, r = {}, {}\ns.x = r\nr.x = s", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, u := range luakube.Fields("function F(a, b)\n"+c.body+"\nend", "F") {
				path := ""
				for _, step := range u.Path {
					if step == "" {
						path += "[]"
						continue
					}
					path += "." + step
				}
				mark := ""
				if u.Written {
					mark = "="
				}
				got = append(got, fmt.Sprintf("%d:%s%s@%d:%d", u.Parameter, strings.TrimPrefix(path, "."), mark, u.Line, u.Column))
			}
			assert.Equal(t, c.want, strings.Join(got, " "))
		})
	}
}

func TestFieldsOfWhatIsNoFunction(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"", "function G(a) return a.x end", "function F(a", "F = 1", "function F.x(a) return a.x end", "function F:x(a) return a.x end"} {
		assert.Empty(t, luakube.Fields(source, "F"), source)
	}
	assert.Len(t, luakube.Fields("F = function(a) return a.x end", "F"), 1)
}

func TestBlameFindsWhoSetsAField(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	s := compile(t, e, `
		o.spec = {x = 1}
		o.spec.y = 2
		o.spec.list[1].z = 3
		local status = {a = {}}
		status.a.b = 1
		o.status = status
		return o`)
	for path, line := range map[string]int{
		"spec.y": 3, "spec.y.deeper": 3, "spec.x": 2, "spec.w": 2, "spec.list.0.z": 4, "spec.list.1.z": 4, "spec": 4,
		"status.a.b": 6, "status.a.c": 5, "status.q": 7, "other": 1,
	} {
		var script *luakube.ScriptError
		require.ErrorAs(t, s.BlameField(errors.New("is wrong"), strings.Split(path, ".")...), &script)
		assert.Equal(t, line, script.Line, path)
		assert.Equal(t, "F: is wrong", script.Message)
	}
}

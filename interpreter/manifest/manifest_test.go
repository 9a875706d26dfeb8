package manifest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/interpreter/manifest"
)

// objects gives the objects of a stream, and the first error.
func objects(text string) ([]map[string]any, error) {
	var list []map[string]any
	docs := manifest.Split("f", []byte(text))
	for i := range docs {
		o, err := docs[i].Object()
		if err != nil {
			return list, err
		}
		if o != nil {
			list = append(list, o)
		}
	}
	return list, nil
}

func TestDocumentsAreFound(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "---\n": 0, "null\n": 0, "# only a comment\n": 0, "a: 1": 1, "a: 1\n---\n---\nb: 2\n": 2,
		`{"a":1}`: 1, `{"a":1}{"b":2}`: 2, "{\"a\":1}\n{\"b\":2}\n": 2, "a: 1\r\n---\r\nb: 2\r\n": 2, "\ufeffa: 1": 1,
		"\xff\xfea\x00:\x00 \x001\x00": 1, "\xfe\xff\x00a\x00:\x00 \x001": 1,
	} {
		list, err := objects(text)
		require.NoError(t, err, text)
		assert.Len(t, list, want, "%q", text)
	}
}

func TestJSONThatIsNoYAMLIsReadAllTheSame(t *testing.T) {
	for text, want := range map[string]any{
		`"\ud83d\ude00"`: "\U0001f600", `"http:\/\/x"`: "http://x", "\"\x7f\"": "\x7f", `9007199254740993`: int64(9007199254740993),
	} {
		list, err := objects(`{"a":` + text + `}`)
		require.NoError(t, err, text)
		assert.Equal(t, map[string]any{"a": want}, list[0], text)
	}
	long := strings.Repeat("k", 1100)
	list, err := objects(`{"` + long + `":1}`)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{long: int64(1)}, list[0])
}

func TestMergeKeysGiveWayToWhatAMappingSaysItself(t *testing.T) {
	for text, want := range map[string]string{
		"b: &b {x: 1, q: 2}\nc:\n  <<: *b\n  q: 3\n":                 "map[q:3 x:1]",
		"b: &b {x: 1, q: 2}\nc:\n  q: 3\n  <<: *b\n":                 "map[q:3 x:1]",
		"b: &b {x: 1, q: 2}\nc:\n  <<: *b\n":                         "map[q:2 x:1]",
		"a: &a {x: 9}\nb: &b {x: 1, q: 2}\nc:\n  <<: [*a, *b]\n":     "map[q:2 x:9]",
		"a: &a {x: 9}\nb: &b {<<: *a, x: 1}\nc:\n  <<: *b\n  z: 3\n": "map[x:1 z:3]",
		"b: &b {x: 1}\nc:\n  d: {<<: *b, x: 2}\n  e: {<<: *b}\n":     "map[d:map[x:2] e:map[x:1]]",
	} {
		list, err := objects(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, fmt.Sprint(list[0]["c"]), text)
	}
}

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\nb: [":                 "f:2: not YAML",
		"a: 1\n---\nb: 2\nb: 3":      "f:4: ",
		"- 1\n":                      "f:1:1: not an object",
		"text":                       "f:1:1: not an object",
		`[1]`:                        "f:1:1: not an object",
		`{"a":1,"a":2}`:              `duplicate field "a"`,
		"a: 1\n...\nb: 2\n":          "f:1: not YAML: documents must be separated by ---",
		"c: {<<: *nope}":             "f:1: not YAML",
		"a: &a {<<: *a, b: 1, b: 2}": "f:1",
	} {
		_, err := objects(text)
		assert.ErrorContains(t, err, want, text)
	}
}

func FuzzObject(f *testing.F) {
	for _, text := range []string{"a: 1", `{"a":1}{"b":2}`, "b: &b {x: 1}\nc: {<<: *b, x: 2}", "a: &a [*a]", "\xff\xfea", "? a\n: b", "%YAML 1.1\n---\na: 1", "a: 1e400", "a: .nan"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		docs := manifest.Split("f", data)
		for i := range docs {
			object, err := docs[i].Object()
			if err == nil && object != nil {
				root, err := docs[i].Root()
				if err != nil || root == nil {
					t.Fatalf("an object without a tree: %v", err)
				}
			}
		}
	})
}

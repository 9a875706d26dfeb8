package definition_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	jsonutil "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubeinterpret/interpret/interpreter/definition"
)

// FuzzParse reads anything as CRDs: there is an error or something that can be asked, never a panic.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"app.yaml", "broken.yaml"} {
		text, err := os.ReadFile("testdata/" + name)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		list, _ := definition.Parse("f", text)
		for _, d := range list {
			d.Problems(t.Context())
			for _, v := range d.Versions() {
				if _, err := v.Schema(); err != nil {
					continue
				}
				obj := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
				obj.SetGroupVersionKind(v.Kind())
				if _, err := v.Validate(t.Context(), obj, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// FuzzVerdict compares the quick check with the API server's code: what the one passes, the other must not refuse.
func FuzzVerdict(f *testing.F) {
	for _, text := range []string{
		`{"spec":{"mode":"fast","replicas":3,"ports":[{"name":"a","port":1}],"labels":{"a":"b"},"at":80}}`,
		`{"spec":{"ports":[{"name":"a"},{"name":"a"}]}}`, `{"spec":{"mode":null,"ratio":1.5,"open":{"a":[{}]}}}`, `{"spec":{"replicas":-1}}`, `{"spec":[]}`,
	} {
		f.Add([]byte(text))
	}
	v := read(f, "app.yaml").Version("v1beta1")
	f.Fuzz(func(t *testing.T, text []byte) {
		var object map[string]any
		if json.Unmarshal(text, &object) != nil || jsonutil.Unmarshal(text, &object) != nil || object == nil {
			return
		}
		obj := &unstructured.Unstructured{Object: object}
		obj.SetGroupVersionKind(v.Kind())
		quick, full, err := definition.Verdicts(t.Context(), v, obj)
		require.NoError(t, err)
		if quick && len(full) > 0 {
			t.Fatalf("passed, and refused: %v", full)
		}
	})
}

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

func addTestdata(f *testing.F) {
	for _, name := range []string{"app.yaml", "broken.yaml"} {
		text, err := os.ReadFile("testdata/" + name)
		require.NoError(f, err)
		f.Add(text)
	}
}

// FuzzParse reads anything as CRDs: there is an error or something that can be asked, never a panic. What was read
// without the schemas is what is there with them.
func FuzzParse(f *testing.F) {
	addTestdata(f)
	for _, text := range []string{
		"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}\n",
		"kind: CustomResourceDefinition\napiVersion: apiextensions.k8s.io/v1\nmetadata: {name: a}\nspec:\n  names: {kind: A, plural: a}\n  group: b\n  versions:\n  - name: v1\n    schema:\n      openAPIV3Schema: # x\n        type: object\n\n    served: true\n",
		`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"versions":[{"name":"v1"}]}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		list, _ := definition.Parse("f", text)
		for _, d := range list {
			d.Mentions("spec")
			d.File()
			crd, err := d.CRD()
			if err != nil {
				continue
			}
			require.Equal(t, crd.Name, d.Name())
			require.Len(t, crd.Spec.Versions, len(d.Versions()))
			for _, v := range crd.Spec.Versions {
				require.NotNil(t, d.Version(v.Name))
				require.Equal(t, v.Served, d.Version(v.Name).Served)
			}
		}
	})
}

// FuzzSchema asks for everything that can be told of a CRD, which takes seconds where it is instrumented.
func FuzzSchema(f *testing.F) {
	addTestdata(f)
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

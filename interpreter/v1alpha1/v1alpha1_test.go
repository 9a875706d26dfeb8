package v1alpha1_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// ourPackage tells this package's types from the ones they are made of.
var ourPackage = reflect.TypeFor[v1alpha1.LuaRule]().PkgPath()

func newScheme(t *testing.T) *runtime.Scheme {
	s := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(s))
	return s
}

// Every document under testdata is decoded strictly through the scheme and encoded again; what comes out
// must be what went in. Together the documents must use every field of every type, so that no field
// escapes the comparison.
func TestManifestsSurviveARoundTrip(t *testing.T) {
	s := newScheme(t)
	decoder := serializer.NewCodecFactory(s, serializer.EnableStrict).UniversalDeserializer()
	used := map[string]bool{}
	for name, doc := range documents(t) {
		t.Run(name, func(t *testing.T) {
			object, _, err := decoder.Decode(doc, nil, nil)
			require.NoError(t, err)
			assert.Equal(t, ourPackage, reflect.TypeOf(object).Elem().PkgPath())

			encoded, err := json.Marshal(object)
			require.NoError(t, err)
			if diff := cmp.Diff(decodeJSON(t, doc), decodeJSON(t, encoded)); diff != "" {
				t.Errorf("the round trip changed the document (-written +read back):\n%s", diff)
			}
			if diff := cmp.Diff(object, object.DeepCopyObject()); diff != "" {
				t.Errorf("the copy differs:\n%s", diff)
			}
			markUsed(used, reflect.ValueOf(object))
		})
	}
	for kind, typ := range s.KnownTypes(v1alpha1.GroupVersion) {
		if typ.PkgPath() != ourPackage {
			continue
		}
		for _, field := range fieldsOf(typ, nil) {
			assert.True(t, used[field], "no document under testdata sets %s (reached from %s)", field, kind)
		}
	}
}

func TestStrictDecodingRefusesForeignFields(t *testing.T) {
	decoder := serializer.NewCodecFactory(newScheme(t), serializer.EnableStrict).UniversalDeserializer()
	_, _, err := decoder.Decode([]byte(`{"apiVersion": "config.karmada.io/v1alpha1",
		"kind": "ResourceInterpreterContext", "request": {"desiredReplicas": 3}}`), nil, nil)
	require.ErrorContains(t, err, `unknown field "request.desiredReplicas"`)
}

func TestTheSchemeKnowsEveryKind(t *testing.T) {
	s := newScheme(t)
	for _, kind := range []string{
		v1alpha1.KindResourceInterpreterCustomization,
		v1alpha1.KindResourceInterpreterCustomization + "List",
		v1alpha1.KindResourceInterpreterWebhookConfiguration,
		v1alpha1.KindResourceInterpreterWebhookConfiguration + "List",
		v1alpha1.KindResourceInterpreterContext,
	} {
		object, err := s.New(v1alpha1.GroupVersion.WithKind(kind))
		require.NoError(t, err)
		kinds, _, err := s.ObjectKinds(object)
		require.NoError(t, err)
		assert.Equal(t, v1alpha1.GroupVersion.WithKind(kind), kinds[0])
	}
}

func TestCRDsHaveKarmadasNames(t *testing.T) {
	crds := crdsByKind(t)
	for kind, shortNames := range map[string][]string{
		v1alpha1.KindResourceInterpreterCustomization:        {"ric"},
		v1alpha1.KindResourceInterpreterWebhookConfiguration: nil,
	} {
		crd, ok := crds[kind]
		require.True(t, ok, "no CRD for %s", kind)
		delete(crds, kind)
		plural := strings.ToLower(kind) + "s"
		assert.Equal(t, plural+".config.karmada.io", crd.GetName())
		want := map[string]any{
			"kind": kind, "listKind": kind + "List", "plural": plural, "singular": strings.ToLower(kind),
			"categories": []any{"karmada-io"},
		}
		for _, short := range shortNames {
			want["shortNames"] = []any{short}
		}
		assert.Equal(t, want, at(t, crd.Object, "spec", "names"))
		assert.Equal(t, "Cluster", at(t, crd.Object, "spec", "scope"))
		assert.Equal(t, "config.karmada.io", at(t, crd.Object, "spec", "group"))

		version := theVersion(t, crd)
		assert.Equal(t, "v1alpha1", version["name"])
		assert.Equal(t, true, version["served"])
		assert.Equal(t, true, version["storage"])
	}
	assert.Empty(t, crds, "CRDs of kinds that no API server stores")
}

func TestTheCustomizationCRDHasOurFields(t *testing.T) {
	spec := at(t, schemaOf(t, crdsByKind(t)[v1alpha1.KindResourceInterpreterCustomization]), "properties", "spec")
	assert.ElementsMatch(t, []any{"target", "customizations"}, at(t, spec, "required"))
	target := at(t, spec, "properties", "target")
	assert.ElementsMatch(t, []any{"apiVersion", "kind"}, at(t, target, "required"))
	assert.Contains(t, at(t, target, "properties"), "labelSelector")
	pruning := at(t, spec, "properties", "customizations", "properties", "pruning")
	assert.Equal(t, []any{"luaScript"}, at(t, pruning, "required"))
}

// An API server drops the fields that a CRD does not know.
func TestAPIServersKeepEveryField(t *testing.T) {
	crds := crdsByKind(t)
	kept := 0
	for name, doc := range documents(t) {
		object := decodeJSON(t, doc).(map[string]any)
		crd, ok := crds[object["kind"].(string)]
		if !ok {
			continue
		}
		kept++
		delete(object, "metadata") // the API server's own
		assert.Empty(t, unknownFields(schemaOf(t, crd), object, ""), "fields of %s that the CRD does not know", name)
	}
	assert.Equal(t, len(crds), kept, "every CRD needs a document under testdata")

	schema := schemaOf(t, crds[v1alpha1.KindResourceInterpreterCustomization])
	made := map[string]any{"spec": map[string]any{"customizations": map[string]any{"made": "up"}}}
	assert.Equal(t, []string{".spec.customizations.made"}, unknownFields(schema, made, ""))
}

// documents gives every YAML document under testdata by file and number.
func documents(t *testing.T) map[string][]byte {
	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	docs := map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		for i, doc := range bytes.Split(data, []byte("\n---\n")) {
			docs[fmt.Sprintf("%s/%d", filepath.Base(file), i)] = doc
		}
	}
	require.NotEmpty(t, docs)
	return docs
}

// decodeJSON reads YAML or JSON as plain values, numbers as their digits.
func decodeJSON(t *testing.T, data []byte) any {
	asJSON, err := yaml.YAMLToJSONStrict(data)
	require.NoError(t, err)
	d := json.NewDecoder(bytes.NewReader(asJSON))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v))
	return v
}

func fieldName(typ reflect.Type, i int) string { return typ.Name() + "." + typ.Field(i).Name }

// markUsed notes the fields of this package's types that are not zero.
func markUsed(used map[string]bool, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		markUsed(used, v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			markUsed(used, v.Index(i))
		}
	case reflect.Struct:
		if v.Type().PkgPath() != ourPackage {
			return
		}
		for i := range v.NumField() {
			if !v.Field(i).IsZero() {
				used[fieldName(v.Type(), i)] = true
				markUsed(used, v.Field(i))
			}
		}
	}
}

// fieldsOf lists the fields of this package's types that can be reached from a type.
func fieldsOf(typ reflect.Type, fields []string) []string {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ.PkgPath() != ourPackage {
		return fields
	}
	for i := range typ.NumField() {
		if name := fieldName(typ, i); !slices.Contains(fields, name) {
			fields = fieldsOf(typ.Field(i).Type, append(fields, name))
		}
	}
	return fields
}

func crdsByKind(t *testing.T) map[string]*unstructured.Unstructured {
	files, err := fs.Glob(v1alpha1.CRDs, "crds/*.yaml")
	require.NoError(t, err)
	crds := map[string]*unstructured.Unstructured{}
	for _, file := range files {
		data, err := fs.ReadFile(v1alpha1.CRDs, file)
		require.NoError(t, err)
		crd := &unstructured.Unstructured{}
		require.NoError(t, yaml.UnmarshalStrict(data, &crd.Object), file)
		assert.Equal(t, "apiextensions.k8s.io/v1", crd.GetAPIVersion(), file)
		assert.Equal(t, "CustomResourceDefinition", crd.GetKind(), file)
		crds[at(t, crd.Object, "spec", "names", "kind").(string)] = crd
	}
	return crds
}

func theVersion(t *testing.T, crd *unstructured.Unstructured) map[string]any {
	versions := at(t, crd.Object, "spec", "versions").([]any)
	require.Len(t, versions, 1)
	return versions[0].(map[string]any)
}

func schemaOf(t *testing.T, crd *unstructured.Unstructured) map[string]any {
	return at(t, theVersion(t, crd), "schema", "openAPIV3Schema").(map[string]any)
}

func at(t *testing.T, v any, path ...string) any {
	t.Helper()
	for i, key := range path {
		m, _ := v.(map[string]any)
		var ok bool
		v, ok = m[key]
		require.True(t, ok, "nothing at %s", strings.Join(path[:i+1], "."))
	}
	return v
}

// unknownFields lists the paths in a value that a structural schema has no place for.
func unknownFields(schema map[string]any, v any, path string) []string {
	var unknown []string
	switch v := v.(type) {
	case []any:
		items, _ := schema["items"].(map[string]any)
		for _, item := range v {
			unknown = append(unknown, unknownFields(items, item, path+"[]")...)
		}
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for key, val := range v {
			next, ok := properties[key].(map[string]any)
			if !ok {
				next, ok = schema["additionalProperties"].(map[string]any)
			}
			if !ok {
				unknown = append(unknown, path+"."+key)
				continue
			}
			unknown = append(unknown, unknownFields(next, val, path+"."+key)...)
		}
	}
	return unknown
}

package definition_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/interpreter/definition"
)

func read(t testing.TB, name string) *definition.Definition {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	list, err := definition.Parse(name, text)
	require.NoError(t, err)
	require.Len(t, list, 1)
	return list[0]
}

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSONStrict([]byte(text))
	require.NoError(t, err)
	obj := &unstructured.Unstructured{}
	require.NoError(t, obj.UnmarshalJSON(raw))
	return obj
}

func TestADefinitionTellsItsVersions(t *testing.T) {
	t.Parallel()
	d := read(t, "app.yaml")
	assert.Equal(t, "apps.demo.io", d.Name())
	assert.Equal(t, schema.GroupKind{Group: "demo.io", Kind: "App"}, d.GroupKind())
	assert.True(t, d.Namespaced())
	assert.Equal(t, "app", d.Names().Singular)
	assert.Equal(t, "AppList", d.Names().ListKind)
	assert.Equal(t, apiextensionsv1.NoneConverter, d.Conversion().Strategy)
	var names []string
	for _, v := range d.Versions() {
		names = append(names, v.Name)
	}
	assert.Equal(t, []string{"v1", "v1beta1"}, names)
	v := d.Version("v1")
	assert.Equal(t, ".spec.replicas", v.Scale.SpecReplicasPath)
	assert.True(t, v.HasStatus && v.Served && v.Storage)
	assert.Same(t, v, d.Storage())
	assert.Equal(t, schema.GroupVersionResource{Group: "demo.io", Version: "v1", Resource: "apps"}, v.Resource())
	assert.Nil(t, d.Version("v2"))
	assert.Empty(t, d.Problems(t.Context()))

	// The same from an object.
	crd, err := d.CRD()
	require.NoError(t, err)
	again, err := definition.New(crd)
	require.NoError(t, err)
	assert.Equal(t, d.Name(), again.Name())
	_, err = again.Version("v1").Schema()
	require.NoError(t, err)
}

func TestSchemasAreReadWhenSomebodyAsks(t *testing.T) {
	t.Parallel()
	app, err := os.ReadFile("testdata/app.yaml")
	require.NoError(t, err)
	const plain = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: foos.demo.io
  annotations:
    text: |
      openAPIV3Schema:
        not: a schema
spec:
  group: demo.io
  names: {kind: Foo, plural: foos}
  scope: Namespaced
  versions:
  - name: v1
    schema:
      openAPIV3Schema: # of v1
        type: object

        properties:
          spec:
            type: object
            description: |
              openAPIV3Schema:

                is a word
            properties: {replicas: {type: integer}}
    served: true
    storage: true
  - name: v2
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {replicas: {type: integer}}}}`
	indented := "  " + strings.ReplaceAll(plain, "\n", "\n  ")
	for name, text := range map[string]string{
		"plain":        plain,
		"line ends":    strings.ReplaceAll(plain, "\n", "\r\n"),
		"in a list":    "apiVersion: v1\nkind: List\nitems:\n-" + indented[1:] + "\n",
		"of a list":    "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinitionList\nitems:\n-" + indented[1:] + "\n",
		"after others": string(app) + "\n---\n" + plain,
		"a comment":    strings.Replace(plain, "        type: object\n\n", "        type: object\n# here\n", 1),
	} {
		list, err := definition.Parse("f.yaml", []byte(text))
		require.NoError(t, err, name)
		d := list[len(list)-1]
		assert.Equal(t, "foos.demo.io", d.Name(), name)
		require.Len(t, d.Versions(), 2, name)
		for _, v := range d.Versions() {
			assert.True(t, v.Served, name)
			known, _, _ := v.HasField("spec", "replicas")
			assert.True(t, known, name)
			known, _, near := v.HasField("spec", "replcas")
			assert.False(t, known, name)
			assert.Equal(t, "replicas", near, name)
		}
	}

	list, err := definition.Parse("f.yaml", []byte(strings.Replace(plain, "properties: {replicas: {type: integer}}", "properties: {replicas: {type: integer}", 1)))
	require.NoError(t, err)
	_, err = list[0].Version("v1").Schema()
	require.ErrorContains(t, err, "f.yaml:")
	require.ErrorContains(t, err, "CRD foos.demo.io: not YAML")
	problems := list[0].Problems(t.Context())
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0].String(), "CRD foos.demo.io: not YAML")
	assert.Equal(t, "f.yaml", problems[0].File)
	assert.Positive(t, problems[0].Line)
	_, err = definition.Parse("f.yaml", []byte(strings.Replace(plain, "  scope: Namespaced", "  scope: [Namespaced", 1)))
	require.ErrorContains(t, err, "f.yaml:")
	_, err = definition.Parse("f.yaml", []byte(strings.Replace(plain, "    served: true", "    served: yes please", 1)))
	require.ErrorContains(t, err, "f.yaml:27:")
}

func TestSetsAreLookedUpByKind(t *testing.T) {
	t.Parallel()
	d := read(t, "app.yaml")
	set, err := definition.NewSet(d)
	require.NoError(t, err)
	found, err := set.Definition(schema.GroupKind{Group: "demo.io", Kind: "App"})
	require.NoError(t, err)
	assert.Same(t, d, found)
	found, err = set.Definition(schema.GroupKind{Group: "demo.io", Kind: "Other"})
	require.NoError(t, err)
	assert.Nil(t, found)
	_, err = definition.NewSet(d, read(t, "app.yaml"))
	assert.EqualError(t, err, "app.yaml:4:3: CRD apps.demo.io defines App.demo.io, as does CRD apps.demo.io in app.yaml:1")
}

func TestWhatIsNoDefinitionIsRefused(t *testing.T) {
	t.Parallel()
	head := "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
	for text, want := range map[string]string{
		"apiVersion: v1\nkind: Pod\n": "f:1:1: not a CustomResourceDefinition, got v1 Pod",
		"a: [":                        "f:1: not YAML",
		"[1]":                         "f:1:1: not a CustomResourceDefinition: apiVersion and kind must be texts of an object",
		"apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\n": "f:1:1: a CustomResourceDefinition must be apiextensions.k8s.io/v1, got apiextensions.k8s.io/v1beta1",
		head:                                     "f:1:1: CRD without a name: metadata.name is missing",
		head + "metadata: {name: a.b}\nspec: []": "f:4:1: CRD a.b: spec must be an object, got: a list",
		head + "metadata: {name: a.b}\nspec: {group: b, names: {kind: A, plural: a}}":                                               "f:4:1: CRD a.b: spec.versions is missing",
		head + "metadata: {name: a.b}\nspec:\n  group: b\n  names: {kind: A, plural: a}\n  versions:\n  - name: v1\n  - name: v1\n": "f:9:5: CRD a.b: spec.versions[1].name: there is a version v1 already",
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n":                                                       "f:4:3: not a CustomResourceDefinition, got v1 Pod",
	} {
		_, err := definition.Parse("f", []byte(text))
		assert.ErrorIs(t, err, err)
		if assert.Error(t, err, text) {
			assert.Contains(t, err.Error(), want, text)
		}
	}
	none, err := definition.Parse("f", []byte("# nothing\n---\n"))
	require.NoError(t, err)
	assert.Empty(t, none)
}

func TestProblemsHavePlaces(t *testing.T) {
	t.Parallel()
	d := read(t, "broken.yaml")
	var got []string
	for _, p := range d.Problems(t.Context()) {
		got = append(got, p.String())
	}
	all := strings.Join(got, "\n")
	for _, want := range []string{
		`broken.yaml:9:3: CRD broken.demo.io: spec.shortNames: unknown field`,
		`broken.yaml:25:15: CRD broken.demo.io: spec.versions[0].schema.openAPIV3Schema.properties[spec].properties[replicas].type: Required value`,
	} {
		assert.Contains(t, all, want)
	}
	_, err := d.Version("v1").Schema()
	require.Error(t, err)
	// Rules are looked at when there is structure.
	text, err2 := os.ReadFile("testdata/broken.yaml")
	require.NoError(t, err2)
	list, err2 := definition.Parse("f", []byte(strings.Replace(string(text), "minimum: 0", "type: integer", 1)))
	require.NoError(t, err2)
	problems := list[0].Problems(t.Context())
	require.Len(t, problems, 2)
	assert.Contains(t, problems[1].String(), "f:29:19: CRD broken.demo.io: spec.versions[0].schema.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid value")
	assert.Contains(t, err.Error(), "CRD broken.demo.io, version v1: the schema has no structure")
}

func TestFieldsOfACRDAreNamedWithTheirPlaces(t *testing.T) {
	t.Parallel()
	const text = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.demo.io, lables: {}}
spec:
  group: demo.io
  names: {kind: Foo, plural: foos}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    sheme: {}
    schema:
      openAPIV3Schema:
        type: [object]
        properties:
          spec:
            type: object
            additionalProperties: sometimes
            propertis: {}
            required: all
          status:
            items: [1]
            default: {a: [1]}
            properties:
              a.b: {minimum: low, maxLength: 1.5, nullable: null}
`
	list, err := definition.Parse("f.yaml", []byte(text))
	require.NoError(t, err)
	var got []string
	for _, p := range list[0].Problems(t.Context()) {
		got = append(got, strings.Replace(p.String(), "CRD foos.demo.io: ", "", 1))
	}
	const schema = "spec.versions[0].schema.openAPIV3Schema"
	assert.Equal(t, []string{
		"f.yaml:3:32: metadata.lables: unknown field, did you mean labels?",
		"f.yaml:19:13: " + schema + ".properties[spec].additionalProperties: must be a schema, or true or false, got: the text \"sometimes\"",
		"f.yaml:20:13: " + schema + ".properties[spec].propertis: unknown field, did you mean properties?",
		"f.yaml:21:13: " + schema + ".properties[spec].required: must be an array, got: the text \"all\"",
		"f.yaml:23:21: " + schema + ".properties[status].items[0]: must be an object, got: 1",
		"f.yaml:26:35: " + schema + ".properties[status].properties[a.b].maxLength: must be a whole number, got: 1.5",
		"f.yaml:26:21: " + schema + ".properties[status].properties[a.b].minimum: must be a number, got: the text \"low\"",
		"f.yaml:15:9: " + schema + ".type: must be a string, got: a list",
		"f.yaml:12:5: spec.versions[0].sheme: unknown field, did you mean schema?",
	}, got)
	_, err = list[0].CRD()
	require.ErrorContains(t, err, "f.yaml:15:9: CRD foos.demo.io: "+schema+".type must be a string, got: a list")
	_, err = definition.Parse("f.yaml", []byte(strings.Replace(text, "served: true", "served: 1", 1)))
	require.ErrorContains(t, err, "f.yaml:10:5: CRD foos.demo.io: spec.versions[0].served must be true or false, got: 1")
}

func TestObjectsAreValidatedAsAServerDoes(t *testing.T) {
	t.Parallel()
	v := read(t, "app.yaml").Version("v1")
	const head = "apiVersion: demo.io/v1\nkind: App\nmetadata: {name: a}\n"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"sound":                    {"spec: {mode: fast, replicas: 3, ports: [{name: a, port: 1}], labels: {a: b}, at: 80}\nstatus: {ready: 1}", nil},
		"with an int or string":    {"spec: {at: http}", nil},
		"defaults":                 {"spec: {}", nil},
		"other kind":               {"kind: Other", []string{"kind: Invalid value"}},
		"wrong type":               {"spec: {replicas: three}", []string{`spec.replicas: Invalid value: "string"`, "of the type string, expected int64"}},
		"not in the enum":          {"spec: {mode: slow}", []string{"spec.mode: Unsupported value"}},
		"unknown field":            {"spec: {replcas: 1}", []string{"spec.replcas: Forbidden: the schema has no such field, did you mean replicas?"}},
		"in a list":                {"spec: {ports: [{name: a, prt: 1}]}", []string{"spec.ports[0].prt: Forbidden"}},
		"twice in a map":           {"spec: {ports: [{name: a, port: 1}, {name: a, port: 2}]}", []string{"spec.ports[1]: Duplicate value"}},
		"missing":                  {"spec: {ports: [{port: 1}]}", []string{"spec.ports[0].name: Required value"}},
		"out of range":             {"spec: {replicas: -1}", []string{"should be greater than or equal to 0", "must be from 0 to 2147483647"}},
		"against the rule":         {"spec: {replicas: 7, max: 5}", []string{"spec: Invalid value: at most max replicas"}},
		"a null":                   {"spec: {mode: null}", nil},
		"a wrong pattern":          {"spec: {labels: {a: B}}", []string{"spec.labels.a: Invalid value"}},
		"a scale too large":        {"status: {ready: 3000000000}", []string{"status.ready: Invalid value"}},
		"no name":                  {"metadata: {}", []string{"metadata.name: Required value"}},
		"metadata of a wrong type": {"metadata: []", []string{"metadata: Invalid value"}},
		"a label that is no text":  {"metadata: {name: a, labels: {a.io/x: 1}}", []string{"metadata.labels[a.io/x]: Invalid value: 1: must be a text"}},
		"labels that are a list":   {"metadata: {name: a, labels: []}", []string{"metadata.labels: Invalid value"}},
		"a wrong label":            {"metadata: {name: a, labels: {a: 'b c'}}", []string{"metadata.labels: Invalid value: \"b c\""}},
		"unknown metadata":         {"metadata: {name: 1, lables: {}}", []string{"metadata.lables: Forbidden: the schema has no such field, did you mean labels?", "metadata.name: Invalid value: 1: must be a text"}},
		"all metadata":             {"metadata: {name: a, uid: u, generation: 3, creationTimestamp: '2024-01-01T00:00:00Z', finalizers: [a.io/b], ownerReferences: [{apiVersion: v1, kind: A, name: a, uid: u}]}", nil},
		"a wrong owner":            {"metadata: {name: a, ownerReferences: [{apiVersion: v1, kind: A, name: a}]}", []string{"metadata.ownerReferences[0].uid: Required value"}},
		"a generation of letters":  {"metadata: {name: a, generation: x}", []string{"cannot unmarshal string into Go struct field ObjectMeta.generation of type int64"}},
		"an unknown owner field":   {"metadata: {name: a, ownerReferences: [{apiVersion: v1, kind: A, name: a, uid: u, x: 1}]}", []string{"metadata.ownerReferences[0].x: Forbidden"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := head + c.text
			switch {
			case strings.HasPrefix(c.text, "kind"):
				text = "apiVersion: demo.io/v1\n" + c.text
			case strings.HasPrefix(c.text, "metadata"):
				text = "apiVersion: demo.io/v1\nkind: App\n" + c.text
			}
			obj := object(t, text)
			before := obj.DeepCopy()
			errs, err := v.Validate(t.Context(), obj, nil)
			require.NoError(t, err)
			assert.Equal(t, before, obj, "the object was changed")
			require.Len(t, errs, len(c.want), "%v", errs)
			for i, want := range c.want {
				assert.Contains(t, errs[i].Error(), want)
			}
		})
	}
}

func TestAnUpdateIsComparedWithWhatWas(t *testing.T) {
	t.Parallel()
	v := read(t, "app.yaml").Version("v1")
	old := object(t, "apiVersion: demo.io/v1\nkind: App\nmetadata: {name: a}\nspec: {class: a, mode: slow}")
	// What was wrong already and did not change is borne; a rule that compares is kept.
	errs, err := v.Validate(t.Context(), object(t, "apiVersion: demo.io/v1\nkind: App\nmetadata: {name: a}\nspec: {class: a, mode: slow, replicas: 1}"), old)
	require.NoError(t, err)
	assert.Empty(t, errs)
	errs, err = v.Validate(t.Context(), object(t, "apiVersion: demo.io/v1\nkind: App\nmetadata: {name: a}\nspec: {class: b, mode: fast}"), old)
	require.NoError(t, err)
	require.Len(t, errs, 1)
	assert.Contains(t, errs[0].Error(), "class cannot change")
}

func TestEmptiesAndNumbersBecomeWhatTheSchemaSays(t *testing.T) {
	t.Parallel()
	v := read(t, "app.yaml").Version("v1")
	obj := map[string]any{"spec": map[string]any{
		"ports": map[string]any{}, "labels": []any{}, "replicas": 2.0, "at": 80.0, "ratio": 2.0,
		"open": map[string]any{"list": map[string]any{}},
	}}
	changed, err := v.Coerce(obj)
	require.NoError(t, err)
	assert.True(t, changed)
	assert.Equal(t, map[string]any{"spec": map[string]any{
		"ports": []any{}, "labels": map[string]any{}, "replicas": int64(2), "at": int64(80), "ratio": 2.0,
		"open": map[string]any{"list": map[string]any{}},
	}}, obj)
	changed, err = v.Coerce(obj)
	require.NoError(t, err)
	assert.False(t, changed)
}

func TestFieldsAreKnown(t *testing.T) {
	t.Parallel()
	v := read(t, "app.yaml").Version("v1")
	for path, want := range map[string]string{
		"spec.replicas": "", "spec.ports..name": "", "spec.labels.x": "", "spec.open.any.thing": "", "metadata.labels.x": "",
		"kind": "", "status.ready": "",
		"spec.replcas": "1 replicas", "spec.ports..nme": "3 name", "metadata.lables": "1 labels", "sttus": "0 status",
	} {
		known, at, nearest := v.HasField(strings.Split(path, ".")...)
		got := ""
		if !known {
			got = fmt.Sprintf("%d %s", at, nearest)
		}
		assert.Equal(t, want, got, path)
	}
}

// many generates CRDs of 30 to 80 KB each, as operators have them: a page of words for each field, and a pod template's
// worth of fields, or two.
func many(n int) []byte {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: kinds%[1]d.demo.io
spec:
  group: demo.io
  names: {plural: kinds%[1]d, singular: kind%[1]d, kind: Kind%[1]d, listKind: Kind%[1]dList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
`, i)
		for group := range 24 + i%43 {
			fmt.Fprintf(&b, `              group%d:
                description: |-
                  What this group of fields is about, told at some length, because generators take all that
                  stands in front of a field in its Go type, and people explain there what they mean.
                type: object
                properties:
`, group)
			for f := range 6 {
				fmt.Fprintf(&b, `                  field%d:
                    description: What the field is for, and what happens without it.
                    type: string
`, f)
			}
		}
	}
	return []byte(b.String())
}

// BenchmarkLoad reads 500 CRDs: the time of one round is to be under 2 s, and the memory under 200 MB.
func BenchmarkLoad(b *testing.B) {
	text := many(500)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	start, rounds := processTime(b), 0
	for b.Loop() {
		list, err := definition.Parse("many.yaml", text)
		if err != nil {
			b.Fatal(err)
		}
		set, err := definition.NewSet(list...)
		if err != nil {
			b.Fatal(err)
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc)/1e6, "MB-heap")
		runtime.KeepAlive(set)
		rounds++
	}
	b.ReportMetric((processTime(b)-start).Seconds()/float64(rounds), "CPU-s/op")
}

// processTime is the processor time that the process has had: on a busy machine time says little.
func processTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func BenchmarkLookup(b *testing.B) {
	list, err := definition.Parse("many.yaml", many(500))
	require.NoError(b, err)
	set, err := definition.NewSet(list...)
	require.NoError(b, err)
	kind := schema.GroupKind{Group: "demo.io", Kind: "Kind250"}
	b.ReportAllocs()
	for b.Loop() {
		if d, _ := set.Definition(kind); d.Version("v1") == nil {
			b.Fatal("not found")
		}
	}
}

// BenchmarkValidate compares with copies of the same object, of which five are the budget. Both are timed in turns, since
// the machine may be busy with other things for a while.
func BenchmarkValidate(b *testing.B) {
	text, err := os.ReadFile("testdata/runner-object.yaml")
	require.NoError(b, err)
	d := read(b, "runner.yaml")
	for _, c := range []struct {
		name, version string
		update        bool
	}{{"plain", "v1beta1", false}, {"rules", "v1", false}, {"update", "v1beta1", true}, {"update-rules", "v1", true}} {
		v := d.Version(c.version)
		obj := object(b, string(text))
		obj.SetAPIVersion("demo.io/" + c.version)
		var old *unstructured.Unstructured
		if c.update {
			old = obj.DeepCopy()
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			_, err := v.Validate(b.Context(), obj, old) // Now the schema has been read.
			require.NoError(b, err)
			var validating, copying time.Duration
			for b.Loop() {
				start := time.Now()
				if errs, err := v.Validate(b.Context(), obj, old); err != nil || len(errs) > 0 {
					b.Fatal(errs, err)
				}
				middle := time.Now()
				obj.DeepCopy()
				validating += middle.Sub(start)
				copying += time.Since(middle)
			}
			b.ReportMetric(validating.Seconds()/copying.Seconds(), "copies")
			b.ReportMetric(float64(validating.Nanoseconds())/float64(b.N), "ns-validate/op")
			b.ReportMetric(float64(copying.Nanoseconds())/float64(b.N), "ns-copy/op")
		})
	}
}

func TestManyMayAskAtOnce(t *testing.T) {
	t.Parallel()
	app, err := os.ReadFile("testdata/app.yaml")
	require.NoError(t, err)
	broken, err := os.ReadFile("testdata/broken.yaml")
	require.NoError(t, err)
	list, err := definition.Parse("f.yaml", []byte(string(app)+"\n---\n"+string(broken)))
	require.NoError(t, err)
	s, err := definition.NewSet(list...)
	require.NoError(t, err)
	obj := object(t, "apiVersion: demo.io/v1\nkind: App\nmetadata: {name: a}\nspec: {replcas: 1}")
	var asking sync.WaitGroup
	for range 16 {
		asking.Go(func() {
			for _, d := range list {
				d.File()
				d.Mentions("containers")
				for _, v := range d.Versions() {
					_, err := v.Schema()
					assert.Equal(t, d.Name() == "broken.demo.io", err != nil)
				}
			}
			d, err := s.Definition(schema.GroupKind{Group: "demo.io", Kind: "App"})
			if assert.NoError(t, err) {
				found, err := d.Version("v1").Validate(t.Context(), obj, obj)
				assert.NoError(t, err)
				assert.Len(t, found, 1)
			}
		})
	}
	asking.Wait()
}

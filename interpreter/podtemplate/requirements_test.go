package podtemplate

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	resourcehelper "k8s.io/component-helpers/resource"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/interpreter"
)

// parse makes an unstructured value of YAML, with whole numbers as int64.
func parse(t testing.TB, text string) map[string]any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	var m map[string]any
	require.NoError(t, utiljson.Unmarshal(data, &m))
	return m
}

// spec is a template with the given pod spec.
func spec(t testing.TB, text string) map[string]any {
	t.Helper()
	return map[string]any{"spec": parse(t, text)}
}

func TestRequirements(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, spec string
		// want is JSON; empty means nil.
		want string
	}{
		{"nothing", `{}`, ``},
		{"null fields are missing fields",
			`{containers: null, initContainers: null, overhead: null, resources: null, nodeSelector: null, tolerations: null, affinity: null, priorityClassName: null}`, ``},
		{"a container without resources", `{containers: [{name: a}, {name: b, resources: {requests: null, limits: {cpu: null}}}]}`, ``},
		{"a null container", `{containers: [null, {resources: {requests: {cpu: 1}}}]}`, `{"resourceRequest":{"cpu":"1"}}`},
		{"containers add up", `{containers: [{resources: {requests: {cpu: 100m, memory: 1Gi}}}, {resources: {requests: {cpu: 200m}}}]}`,
			`{"resourceRequest":{"cpu":"300m","memory":"1Gi"}}`},
		{"numbers are quantities", `{containers: [{resources: {requests: {cpu: 0.5, memory: 1073741824}}}]}`,
			`{"resourceRequest":{"cpu":"500m","memory":"1Gi"}}`},
		{"every resource name counts", `{containers: [{resources: {requests: {pods: 2, storage: 1Gi, foo: 1, hugepages-2Mi: 4Mi, nvidia.com/gpu: 1}}}]}`,
			`{"resourceRequest":{"pods":"2","storage":"1Gi","foo":"1","hugepages-2Mi":"4Mi","nvidia.com/gpu":"1"}}`},
		{"a limit stands in for a missing request, resource by resource",
			`{containers: [{resources: {limits: {cpu: 2, memory: 1Gi}, requests: {cpu: 1}}}, {resources: {limits: {cpu: 500m}}}]}`,
			`{"resourceRequest":{"cpu":"1500m","memory":"1Gi"}}`},
		{"a request of zero hides the limit", `{containers: [{resources: {limits: {cpu: 2}, requests: {cpu: 0}}}]}`, ``},
		{"an init container runs before the containers",
			`{containers: [{resources: {requests: {cpu: 1, memory: 1Gi}}}], initContainers: [{resources: {requests: {cpu: 4, memory: 512Mi, nvidia.com/gpu: 1}}}]}`,
			`{"resourceRequest":{"cpu":"4","memory":"1Gi","nvidia.com/gpu":"1"}}`},
		{"a sidecar runs beside them, and beside init containers after it",
			`{containers: [{resources: {requests: {cpu: 100m}}}], overhead: {cpu: 50m},
			  initContainers: [{restartPolicy: Always, resources: {requests: {cpu: 200m}}}, {resources: {requests: {cpu: 300m}}}]}`,
			`{"resourceRequest":{"cpu":"550m"}}`},
		{"a sidecar after the init container does not run beside it",
			`{containers: [{resources: {requests: {cpu: 100m}}}],
			  initContainers: [{resources: {requests: {cpu: 300m}}}, {restartPolicy: Always, resources: {requests: {cpu: 150m}}}]}`,
			`{"resourceRequest":{"cpu":"300m"}}`},
		{"overhead alone", `{overhead: {memory: 64Mi}}`, `{"resourceRequest":{"memory":"64Mi"}}`},
		{"pod-level requests replace the sum",
			`{containers: [{resources: {requests: {cpu: 1, memory: 1Gi}}}], resources: {requests: {cpu: 4}}, overhead: {cpu: 100m}}`,
			`{"resourceRequest":{"cpu":"4100m","memory":"1Gi"}}`},
		{"a pod-level limit is a request where no container requests",
			`{containers: [{resources: {requests: {cpu: 1}}}], resources: {limits: {cpu: 4, memory: 4Gi}}}`,
			`{"resourceRequest":{"cpu":"1","memory":"4Gi"}}`},
		{"a pod-level request goes before the limit", `{resources: {limits: {cpu: 4}, requests: {cpu: 2}}}`, `{"resourceRequest":{"cpu":"2"}}`},
		{"pod-level huge pages are not overcommitted",
			`{containers: [{resources: {requests: {hugepages-2Mi: 4Mi}}}], resources: {limits: {hugepages-2Mi: 8Mi}}}`,
			`{"resourceRequest":{"hugepages-2Mi":"8Mi"}}`},
		{"pod level knows no devices", `{resources: {requests: {nvidia.com/gpu: 1}, limits: {example.com/x: 1}}}`, ``},
		{"ephemeral containers have no resources", `{ephemeralContainers: [{resources: {requests: {cpu: 1}}}]}`, ``},
		{"the node selector", `{nodeSelector: {disk: ssd}}`, `{"nodeClaim":{"nodeSelector":{"disk":"ssd"}}}`},
		{"an empty node selector is a claim", `{nodeSelector: {}}`, `{"nodeClaim":{}}`},
		{"tolerations", `{tolerations: [{key: a, operator: Equal, value: b, effect: NoExecute, tolerationSeconds: 30}, {operator: Exists}, null]}`,
			`{"nodeClaim":{"tolerations":[{"key":"a","operator":"Equal","value":"b","effect":"NoExecute","tolerationSeconds":30},{"operator":"Exists"},{}]}}`},
		{"no tolerations", `{tolerations: []}`, ``},
		{"required node affinity",
			`{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
			   {matchExpressions: [{key: zone, operator: In, values: [a, b]}]}, {matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}}}}`,
			`{"nodeClaim":{"hardNodeAffinity":{"nodeSelectorTerms":[
			   {"matchExpressions":[{"key":"zone","operator":"In","values":["a","b"]}]},{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]}}}`},
		{"preferences are no requirements",
			`{affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1}]}, podAffinity: {}, podAntiAffinity: 7}}`, ``},
		{"the priority class alone", `{priorityClassName: high}`, `{"priorityClassName":"high"}`},
		{"all of it", `{priorityClassName: high, nodeSelector: {a: b}, containers: [{resources: {requests: {cpu: 1}}}]}`,
			`{"priorityClassName":"high","nodeClaim":{"nodeSelector":{"a":"b"}},"resourceRequest":{"cpu":"1"}}`},
		{"what is not read may be anything", `{containers: [{env: 7, image: {}, volumeMounts: x}], volumes: x, brandNew: {a: 1}}`, ``},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			template := spec(t, tc.spec)
			got, err := Requirements(template)
			require.NoError(t, err)
			assert.Equal(t, spec(t, tc.spec), template, "the template must stay as it is")
			if tc.want == "" {
				assert.Nil(t, got)
				return
			}
			var want interpreter.ReplicaRequirements
			require.NoError(t, json.Unmarshal([]byte(tc.want), &want))
			assert.True(t, equality.Semantic.DeepEqual(&want, got), "want %s\ngot  %s", tc.want, toJSON(t, got))
		})
	}
}

func TestRequirementsOfNoTemplate(t *testing.T) {
	t.Parallel()
	for _, template := range []map[string]any{nil, {}, {"spec": nil}, {"containers": []any{}}} {
		got, err := Requirements(template)
		require.NoError(t, err)
		assert.Nil(t, got)
	}
}

func TestRequirementsSayWhichFieldIsWrong(t *testing.T) {
	t.Parallel()
	const affinity = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
	for _, tc := range []struct{ spec, want string }{
		{`{containers: {name: x}}`, `spec.containers: must be a list, got an object`},
		{`{containers: [x]}`, `spec.containers[0]: must be an object, got the text "x"`},
		{`{containers: [{}, {resources: []}]}`, `spec.containers[1].resources: must be an object, got a list`},
		{`{containers: [{resources: {requests: 1}}]}`, `spec.containers[0].resources.requests: must be an object, got 1`},
		{`{containers: [{resources: {requests: {cpu: [1]}}}]}`, `spec.containers[0].resources.requests.cpu: must be a quantity, got a list`},
		{`{containers: [{resources: {requests: {cpu: true}}}]}`, `spec.containers[0].resources.requests.cpu: must be a quantity, got true`},
		{`{containers: [{resources: {limits: {memory: 64mb}}}]}`,
			`spec.containers[0].resources.limits.memory: must be a quantity such as 500m or 64Mi, got the text "64mb"`},
		{`{containers: [{restartPolicy: 1}]}`, `spec.containers[0].restartPolicy: must be text, got 1`},
		{`{initContainers: x}`, `spec.initContainers: must be a list, got the text "x"`},
		{`{initContainers: [{resources: x}]}`, `spec.initContainers[0].resources: must be an object, got the text "x"`},
		{`{overhead: {cpu: x}}`, `spec.overhead.cpu: must be a quantity such as 500m or 64Mi, got the text "x"`},
		{`{resources: {requests: []}}`, `spec.resources.requests: must be an object, got a list`},
		{`{resources: {limits: {cpu: {}}}}`, `spec.resources.limits.cpu: must be a quantity, got an object`},
		{`{priorityClassName: 7}`, `spec.priorityClassName: must be text, got 7`},
		{`{nodeSelector: []}`, `spec.nodeSelector: must be an object, got a list`},
		{`{nodeSelector: {a: 1}}`, `spec.nodeSelector.a: must be text, got 1`},
		{`{tolerations: {}}`, `spec.tolerations: must be a list, got an object`},
		{`{tolerations: [1]}`, `spec.tolerations[0]: must be an object, got 1`},
		{`{tolerations: [{key: 1}]}`, `spec.tolerations[0].key: must be text, got 1`},
		{`{tolerations: [{operator: 1}]}`, `spec.tolerations[0].operator: must be text, got 1`},
		{`{tolerations: [{value: 1}]}`, `spec.tolerations[0].value: must be text, got 1`},
		{`{tolerations: [{effect: 1}]}`, `spec.tolerations[0].effect: must be text, got 1`},
		{`{tolerations: [{tolerationSeconds: 1.5}]}`, `spec.tolerations[0].tolerationSeconds: must be a whole number, got 1.5`},
		{`{affinity: []}`, `spec.affinity: must be an object, got a list`},
		{`{affinity: {nodeAffinity: 1}}`, `spec.affinity.nodeAffinity: must be an object, got 1`},
		{`{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: []}}}`, affinity + `: must be an object, got a list`},
		{`{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: {}}}}}`,
			affinity + `.nodeSelectorTerms: must be a list, got an object`},
		{`{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [1]}}}}`,
			affinity + `.nodeSelectorTerms[0]: must be an object, got 1`},
		{`{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: {}}]}}}}`,
			affinity + `.nodeSelectorTerms[0].matchExpressions: must be a list, got an object`},
		{`{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [1]}]}}}}`,
			affinity + `.nodeSelectorTerms[0].matchFields[0]: must be an object, got 1`},
		{`{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: 1}]}]}}}}`,
			affinity + `.nodeSelectorTerms[0].matchFields[0].key: must be text, got 1`},
		{`{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{operator: 1}]}]}}}}`,
			affinity + `.nodeSelectorTerms[0].matchFields[0].operator: must be text, got 1`},
		{`{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{values: x}]}]}}}}`,
			affinity + `.nodeSelectorTerms[0].matchFields[0].values: must be a list, got the text "x"`},
		{`{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{values: [a, 1]}]}]}}}}`,
			affinity + `.nodeSelectorTerms[0].matchFields[0].values[1]: must be text, got 1`},
	} {
		_, err := Requirements(spec(t, tc.spec))
		assert.EqualError(t, err, tc.want, tc.spec)
		var fe *FieldError
		assert.ErrorAs(t, err, &fe)
	}
	_, err := Requirements(map[string]any{"spec": []any{}})
	assert.EqualError(t, err, "spec: must be an object, got a list")
	for _, v := range []any{math.NaN(), math.Inf(1), int32(1)} {
		_, err := Requirements(map[string]any{"spec": map[string]any{"overhead": map[string]any{"cpu": v}}})
		assert.ErrorContains(t, err, "spec.overhead.cpu: must be a quantity", "%T", v)
	}
}

func TestQuantity(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   any
		want string
	}{
		{"500m", "500m"}, {" 1Gi ", "1Gi"}, {int64(3), "3"}, {0.5, "500m"}, {1e21, "1e21"}, {"1E", "1E"}, {"1e-3", "1m"}, {1e-3, "1m"},
	} {
		q, err := Quantity(tc.in)
		require.NoError(t, err)
		want := resource.MustParse(tc.want)
		assert.Zero(t, want.Cmp(q), "%v is %s, got %s", tc.in, tc.want, &q)
	}
	// Each of the last three would keep the parser busy for longer than a test may run.
	for _, in := range []any{nil, "", "x", "1e", []any{}, 1e-300, "1e-2147483647", "1E-2147483647", "0." + strings.Repeat("0", 1<<20) + "1"} {
		_, err := Quantity(in)
		assert.ErrorContains(t, err, "must be a quantity")
	}
}

func TestRequirementsShareNothing(t *testing.T) {
	t.Parallel()
	template := spec(t, `{nodeSelector: {a: b}, tolerations: [{key: k}], containers: [{resources: {requests: {cpu: 1}}}]}`)
	before := spec(t, `{nodeSelector: {a: b}, tolerations: [{key: k}], containers: [{resources: {requests: {cpu: 1}}}]}`)
	got, err := Requirements(template)
	require.NoError(t, err)
	got.NodeClaim.NodeSelector["a"] = "changed"
	got.NodeClaim.Tolerations[0].Key = "changed"
	delete(got.ResourceRequest, "cpu")
	assert.Equal(t, before, template)
}

func TestForComponent(t *testing.T) {
	t.Parallel()
	assert.Nil(t, ForComponent(nil))
	r, err := Requirements(spec(t, `{priorityClassName: high, nodeSelector: {a: b}, containers: [{resources: {requests: {cpu: 1}}}]}`))
	require.NoError(t, err)
	r.Namespace = "ns"
	c := ForComponent(r)
	assert.Equal(t, r.NodeClaim, c.NodeClaim)
	assert.Equal(t, r.ResourceRequest, c.ResourceRequest)
	assert.Equal(t, "high", c.PriorityClassName)
}

// large is a template with many environment variables, none of which refers to anything.
func large(t testing.TB, variables int) map[string]any {
	t.Helper()
	template := spec(t, `{containers: [{resources: {requests: {cpu: 250m, memory: 64Mi}, limits: {memory: 128Mi}}}, {resources: {requests: {cpu: 100m}}}]}`)
	env := make([]any, variables)
	for i := range env {
		env[i] = map[string]any{"name": fmt.Sprint("V", i), "value": "x"}
	}
	template["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["env"] = env
	return template
}

func TestRequirementsIgnoreTheSizeOfTheEnvironment(t *testing.T) {
	few, many := large(t, 2), large(t, 1000)
	count := func(template map[string]any) float64 {
		return testing.AllocsPerRun(20, func() { _, _ = Requirements(template) })
	}
	assert.Equal(t, count(few), count(many))
	assert.LessOrEqual(t, count(many), 50.0)
}

func toJSON(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

// FuzzRequirements compares with what a typed client reads from the same template, where it can read it.
func FuzzRequirements(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"spec":{}}`,
		`{"spec":{"containers":[{"resources":{"requests":{"cpu":"100m"},"limits":{"cpu":1,"memory":"1e3"}}}],"initContainers":[{"restartPolicy":"Always","resources":{"limits":{"cpu":"2"}}},{}]}}`,
		`{"spec":{"overhead":{"cpu":0.1},"resources":{"requests":{"memory":"1Gi"}},"nodeSelector":{"a":"b"},"tolerations":[{"tolerationSeconds":3}],"priorityClassName":"x"}}`,
		`{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchFields":[{"values":["a"]}]}]}}}}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		var template map[string]any
		if utiljson.Unmarshal([]byte(data), &template) != nil {
			return
		}
		got, err := Requirements(template)
		// Marshalled again, so that the typed reader sees each field once and in its own letter case.
		canonical, marshalErr := json.Marshal(template)
		require.NoError(t, marshalErr)
		var typed corev1.PodTemplateSpec
		if typedErr := utiljson.Unmarshal(canonical, &typed); err != nil || typedErr != nil {
			return
		}
		pod := &corev1.Pod{Spec: typed.Spec}
		if pod.Spec.Resources != nil && len(pod.Spec.Resources.Limits) > 0 {
			return // defaulted by the API server, which the typed reader is not
		}
		for _, cs := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range cs {
				for name, q := range cs[i].Resources.Limits {
					if cs[i].Resources.Requests == nil {
						cs[i].Resources.Requests = corev1.ResourceList{}
					}
					if _, ok := cs[i].Resources.Requests[name]; !ok {
						cs[i].Resources.Requests[name] = q
					}
				}
			}
		}
		want := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
		for name, q := range want {
			if q.Sign() <= 0 {
				delete(want, name)
			}
		}
		if got == nil {
			got = &interpreter.ReplicaRequirements{}
		}
		assert.True(t, equality.Semantic.DeepEqual(corev1.ResourceList(want), got.ResourceRequest) || len(want)+len(got.ResourceRequest) == 0,
			"want %v\ngot  %v", want, got.ResourceRequest)
		assert.Equal(t, pod.Spec.PriorityClassName, got.PriorityClassName)
	})
}

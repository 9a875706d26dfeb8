package podtemplate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubeinterpret/interpret/interpreter"
)

func TestDependencies(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, spec string
		// want are kind/name pairs.
		want []string
	}{
		{"nothing", `{}`, nil},
		{"null fields are missing fields", `{containers: null, volumes: null, imagePullSecrets: null, serviceAccountName: null, serviceAccount: null}`, nil},
		{"nulls inside", `{containers: [null, {env: [null, {valueFrom: null}, {valueFrom: {secretKeyRef: null}}], envFrom: [null, {secretRef: {name: null}}]}], volumes: [null, {secret: null}]}`, nil},
		{"pull secrets", `{imagePullSecrets: [{name: b}, {name: a}, {name: ""}, {}]}`, []string{"Secret/a", "Secret/b"}},
		{"the service account", `{serviceAccountName: robot}`, []string{"ServiceAccount/robot"}},
		{"the service account by its old name", `{serviceAccount: old}`, []string{"ServiceAccount/old"}},
		{"the old name does not count beside the new one", `{serviceAccount: old, serviceAccountName: new}`, []string{"ServiceAccount/new"}},
		{"every namespace has a default service account", `{serviceAccountName: default, serviceAccount: old}`, nil},
		{"all kinds of containers",
			`{containers: [{envFrom: [{secretRef: {name: a}}]}], initContainers: [{envFrom: [{secretRef: {name: b}}]}], ephemeralContainers: [{envFrom: [{configMapRef: {name: c}}]}]}`,
			[]string{"ConfigMap/c", "Secret/a", "Secret/b"}},
		{"environment", `{containers: [{env: [{name: A, value: plain}, {name: B, valueFrom: {configMapKeyRef: {name: cm, key: k, optional: true}}},
			{name: C, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: D, valueFrom: {fieldRef: {fieldPath: metadata.name}}}],
			envFrom: [{prefix: P, configMapRef: {name: cm2}}, {secretRef: {name: s2, optional: true}}]}]}`,
			[]string{"ConfigMap/cm", "ConfigMap/cm2", "Secret/s", "Secret/s2"}},
		{"a name used twice is one dependency, a name of two kinds is two",
			`{imagePullSecrets: [{name: x}, {name: x}], volumes: [{secret: {secretName: x}}, {configMap: {name: x}}]}`, []string{"ConfigMap/x", "Secret/x"}},
		{"volumes",
			`{volumes: [{configMap: {name: cm}}, {secret: {secretName: s}}, {persistentVolumeClaim: {claimName: c}}, {csi: {nodePublishSecretRef: {name: csi}}},
			  {azureFile: {secretName: azure}}, {cephfs: {secretRef: {name: ceph}}}, {cinder: {secretRef: {name: cinder}}}, {flexVolume: {secretRef: {name: flex}}},
			  {iscsi: {secretRef: {name: iscsi}}}, {rbd: {secretRef: {name: rbd}}}, {scaleIO: {secretRef: {name: scale}}}, {storageos: {secretRef: {name: storageos}}},
			  {projected: {sources: [{configMap: {name: pcm}}, {secret: {name: ps}}, {serviceAccountToken: {path: t}}, {downwardAPI: {}}, null]}},
			  {emptyDir: {}}, {hostPath: {path: /x}}, {csi: {driver: d}}, {projected: {}}]}`,
			[]string{"ConfigMap/cm", "ConfigMap/pcm", "PersistentVolumeClaim/c", "Secret/azure", "Secret/ceph", "Secret/cinder", "Secret/csi", "Secret/flex",
				"Secret/iscsi", "Secret/ps", "Secret/rbd", "Secret/s", "Secret/scale", "Secret/storageos"}},
		{"every source of one volume", `{volumes: [{configMap: {name: a}, secret: {secretName: b}, projected: {sources: [{secret: {name: c}, configMap: {name: d}}]}}]}`,
			[]string{"ConfigMap/a", "ConfigMap/d", "Secret/b", "Secret/c"}},
		{"a generic ephemeral volume makes its own claim",
			`{volumes: [{ephemeral: {volumeClaimTemplate: {spec: {volumeName: pv, dataSource: {kind: PersistentVolumeClaim, name: x}}}}}]}`, nil},
		{"what is not read may be anything", `{containers: [{resources: x, image: 1}], nodeSelector: x, affinity: []}`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			template := spec(t, tc.spec)
			got, err := Dependencies(template, "ns")
			require.NoError(t, err)
			assert.Equal(t, spec(t, tc.spec), template, "the template must stay as it is")
			assert.Equal(t, tc.want, pairs(t, got, "ns"))
		})
	}
}

func pairs(t testing.TB, refs []interpreter.DependentObjectReference, namespace string) (names []string) {
	t.Helper()
	for _, r := range refs {
		assert.Equal(t, "v1", r.APIVersion)
		assert.Equal(t, namespace, r.Namespace)
		assert.Nil(t, r.LabelSelector)
		names = append(names, r.Kind+"/"+r.Name)
	}
	return names
}

func TestDependenciesOfNoTemplate(t *testing.T) {
	t.Parallel()
	for _, template := range []map[string]any{nil, {}, {"spec": nil}, {"volumes": []any{}}} {
		got, err := Dependencies(template, "ns")
		require.NoError(t, err)
		assert.Empty(t, got)
	}
}

func TestDependenciesWithoutNamespace(t *testing.T) {
	t.Parallel()
	got, err := Dependencies(spec(t, `{serviceAccountName: robot}`), "")
	require.NoError(t, err)
	assert.Equal(t, []string{"ServiceAccount/robot"}, pairs(t, got, ""))
}

func TestDependenciesSayWhichFieldIsWrong(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ spec, want string }{
		{`{serviceAccountName: 1}`, `spec.serviceAccountName: must be text, got 1`},
		{`{serviceAccount: []}`, `spec.serviceAccount: must be text, got a list`},
		{`{imagePullSecrets: x}`, `spec.imagePullSecrets: must be a list, got the text "x"`},
		{`{imagePullSecrets: [x]}`, `spec.imagePullSecrets[0]: must be an object, got the text "x"`},
		{`{imagePullSecrets: [{name: a}, {name: 1}]}`, `spec.imagePullSecrets[1].name: must be text, got 1`},
		{`{containers: {}}`, `spec.containers: must be a list, got an object`},
		{`{containers: [x]}`, `spec.containers[0]: must be an object, got the text "x"`},
		{`{initContainers: [{envFrom: x}]}`, `spec.initContainers[0].envFrom: must be a list, got the text "x"`},
		{`{containers: [{envFrom: [1]}]}`, `spec.containers[0].envFrom[0]: must be an object, got 1`},
		{`{containers: [{envFrom: [{secretRef: x}]}]}`, `spec.containers[0].envFrom[0].secretRef: must be an object, got the text "x"`},
		{`{containers: [{envFrom: [{configMapRef: {name: 1}}]}]}`, `spec.containers[0].envFrom[0].configMapRef.name: must be text, got 1`},
		{`{containers: [{env: x}]}`, `spec.containers[0].env: must be a list, got the text "x"`},
		{`{containers: [{env: [1]}]}`, `spec.containers[0].env[0]: must be an object, got 1`},
		{`{containers: [{env: [{valueFrom: x}]}]}`, `spec.containers[0].env[0].valueFrom: must be an object, got the text "x"`},
		{`{ephemeralContainers: [{env: [{}, {valueFrom: {secretKeyRef: {name: true}}}]}]}`,
			`spec.ephemeralContainers[0].env[1].valueFrom.secretKeyRef.name: must be text, got true`},
		{`{volumes: x}`, `spec.volumes: must be a list, got the text "x"`},
		{`{volumes: [1]}`, `spec.volumes[0]: must be an object, got 1`},
		{`{volumes: [{secret: x}]}`, `spec.volumes[0].secret: must be an object, got the text "x"`},
		{`{volumes: [{secret: {secretName: 1}}]}`, `spec.volumes[0].secret.secretName: must be text, got 1`},
		{`{volumes: [{csi: {nodePublishSecretRef: 1}}]}`, `spec.volumes[0].csi.nodePublishSecretRef: must be an object, got 1`},
		{`{volumes: [{projected: 1}]}`, `spec.volumes[0].projected: must be an object, got 1`},
		{`{volumes: [{projected: {sources: {}}}]}`, `spec.volumes[0].projected.sources: must be a list, got an object`},
		{`{volumes: [{projected: {sources: [1]}}]}`, `spec.volumes[0].projected.sources[0]: must be an object, got 1`},
		{`{volumes: [{projected: {sources: [{secret: {name: 1}}]}}]}`, `spec.volumes[0].projected.sources[0].secret.name: must be text, got 1`},
	} {
		_, err := Dependencies(spec(t, tc.spec), "ns")
		assert.EqualError(t, err, tc.want, tc.spec)
	}
	_, err := Dependencies(map[string]any{"spec": "x"}, "ns")
	assert.EqualError(t, err, `spec: must be an object, got the text "x"`)
}

func TestDependenciesWalkAnEnvironmentWithoutAllocating(t *testing.T) {
	template := large(t, 1000)
	assert.Zero(t, testing.AllocsPerRun(20, func() { _, _ = Dependencies(template, "ns") }))
}

func TestDependenciesAreInOrderWhateverTheOrderOfTheTemplate(t *testing.T) {
	t.Parallel()
	var secrets []any
	for i := range 100 {
		secrets = append(secrets, map[string]any{"name": fmt.Sprintf("s%03d", i%50)})
	}
	got, err := Dependencies(map[string]any{"spec": map[string]any{"imagePullSecrets": secrets}}, "ns")
	require.NoError(t, err)
	slices.Reverse(secrets)
	again, err := Dependencies(map[string]any{"spec": map[string]any{"imagePullSecrets": secrets}}, "ns")
	require.NoError(t, err)
	assert.Len(t, got, 50)
	assert.Equal(t, got, again)
}

func FuzzDependencies(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"spec":{"serviceAccount":"a","imagePullSecrets":[{"name":"b"}]}}`,
		`{"spec":{"containers":[{"env":[{"valueFrom":{"secretKeyRef":{"name":"a"}}}],"envFrom":[{"configMapRef":{"name":"b"}}]}]}}`,
		`{"spec":{"volumes":[{"projected":{"sources":[{"secret":{"name":"x"}}]},"csi":{"nodePublishSecretRef":{"name":"y"}}}]}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data string) {
		var template map[string]any
		if utiljson.Unmarshal([]byte(data), &template) != nil {
			return
		}
		got, err := Dependencies(template, "ns")
		if err != nil {
			var fe *FieldError
			require.ErrorAs(t, err, &fe)
			require.NotEmpty(t, fe.Path)
			return
		}
		for i, r := range got {
			require.NotEmpty(t, r.Name)
			if i > 0 {
				require.NotEqual(t, got[i-1], r)
			}
		}
	})
}

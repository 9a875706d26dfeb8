package e2e

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/kubeinterpret/interpret/declarative"
	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/interpreter/versions"
	"github.com/kubeinterpret/interpret/luakube"
	"github.com/kubeinterpret/interpret/webhook/conversion"
)

// fooDefinition has two versions, of which the second knows an alias, and is stored.
const fooDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.sample.webhook.io}
spec:
  group: sample.webhook.io
  names: {plural: foos, singular: foo, kind: Foo, listKind: FooList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, minimum: 0}}}
  - name: v2
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, minimum: 0}, alias: {type: string}}}
  conversion:
    strategy: Webhook
    webhook:
      conversionReviewVersions: [v1]
      clientConfig: {url: %q, caBundle: %s}
`

// aliasKey is where the alias is kept in the version that does not know it.
const aliasKey = "sample.webhook.io/alias"

// fooConverters convert by rules in Lua, as a user would write them.
const fooConverters = `
apiVersion: kubeinterpret.io/v1alpha1
kind: Converter
metadata: {name: foo}
spec:
  target: {group: sample.webhook.io, kind: Foo, versions: [v1, v2]}
  luaScript: |
    function Convert(obj, desiredAPIVersion)
      obj.apiVersion = desiredAPIVersion
      local annotations = obj.metadata.annotations or {}
      obj.spec = obj.spec or {}
      if obj.spec.size == 13 then
        error("no size is 13")
      end
      if desiredAPIVersion == "sample.webhook.io/v2" then
        obj.spec.alias = annotations["` + aliasKey + `"] or obj.metadata.name
        annotations["` + aliasKey + `"] = nil
      else
        annotations["` + aliasKey + `"] = obj.spec.alias
        obj.spec.alias = nil
      end
      obj.metadata.annotations = next(annotations) and annotations or nil
      return obj
    end
`

// install has a CRD stored and served, and gives it as it was read.
func install(t *testing.T, text string) *definition.Definition {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	must(t, yaml.UnmarshalStrict([]byte(text), crd))
	_, err := envtest.InstallCRDs(server.config, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}, MaxTime: time.Minute})
	must(t, err)
	list, err := definition.Parse("crd.yaml", []byte(text))
	must(t, err)
	require.Len(t, list, 1)
	assert.Empty(t, list[0].Problems(t.Context()))
	return list[0]
}

// installFoo serves the converters and has the CRD lead to them.
func installFoo(t *testing.T) *definition.Definition {
	t.Helper()
	converters, err := conversion.Parse("converters.yaml", []byte(fooConverters))
	must(t, err)
	// The machine has other things to do.
	limits := luakube.DefaultLimits()
	limits.Time = inStep
	engine, err := luakube.New(luakube.WithLimits(limits))
	must(t, err)
	registration, err := converters[0].Compile(engine)
	must(t, err)
	set, err := conversion.NewSet(registration)
	must(t, err)
	handler, err := conversion.NewHandler(set)
	must(t, err)
	hook := httptest.NewTLSServer(handler)
	t.Cleanup(hook.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})
	return install(t, fmt.Sprintf(fooDefinition, hook.URL, base64.StdEncoding.EncodeToString(ca)))
}

// asVersion reads an object in one of its versions.
func asVersion(t *testing.T, obj *unstructured.Unstructured, version string) *unstructured.Unstructured {
	t.Helper()
	read := &unstructured.Unstructured{}
	read.SetGroupVersionKind(schema.GroupVersionKind{Group: "sample.webhook.io", Version: version, Kind: "Foo"})
	must(t, server.Get(t.Context(), client.ObjectKeyFromObject(obj), read))
	return read
}

// Objects written in one version are read in the other, and stored in the one that the CRD says.
func TestObjectsAreConvertedByOurServer(t *testing.T) {
	d := installFoo(t)
	namespace := newNamespace(t)
	first := create(t, placed(t, object(t, "{apiVersion: sample.webhook.io/v1, kind: Foo, metadata: {name: first}, spec: {size: 1}}"), namespace))
	second := create(t, placed(t, object(t, "{apiVersion: sample.webhook.io/v2, kind: Foo, metadata: {name: second}, spec: {size: 2, alias: other}}"), namespace))

	read := asVersion(t, first, "v2")
	assert.Equal(t, map[string]any{"size": int64(1), "alias": "first"}, read.Object["spec"])
	assert.Empty(t, read.GetAnnotations())
	read = asVersion(t, second, "v1")
	assert.Equal(t, map[string]any{"size": int64(2)}, read.Object["spec"])
	assert.Equal(t, map[string]string{aliasKey: "other"}, read.GetAnnotations())
	// There and back nothing is lost.
	must(t, unstructured.SetNestedField(read.Object, int64(3), "spec", "size"))
	update(t, read)
	assert.Equal(t, map[string]any{"size": int64(3), "alias": "other"}, asVersion(t, second, "v2").Object["spec"])

	// Many at once.
	for i := range 20 {
		create(t, placed(t, object(t, fmt.Sprintf("{apiVersion: sample.webhook.io/v1, kind: Foo, metadata: {name: many%d}, spec: {size: %d}}", i, 100+i)), namespace))
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "sample.webhook.io", Version: "v1", Kind: "FooList"})
	must(t, server.List(t.Context(), list, client.InNamespace(namespace)))
	require.Len(t, list.Items, 22)
	for _, item := range list.Items {
		assert.Equal(t, "sample.webhook.io/v1", item.GetAPIVersion())
	}

	// What lies in etcd.
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{server.env.ControlPlane.Etcd.URL.String()}, DialTimeout: 10 * time.Second})
	must(t, err)
	defer etcd.Close()
	found, err := etcd.Get(t.Context(), "/registry/sample.webhook.io/foos/"+namespace+"/", clientv3.WithPrefix())
	must(t, err)
	require.Len(t, found.Kvs, 22)
	for _, kv := range found.Kvs {
		var stored struct {
			APIVersion string         `json:"apiVersion"`
			Spec       map[string]any `json:"spec"`
		}
		require.NoError(t, json.Unmarshal(kv.Value, &stored), "%s", kv.Key)
		assert.Equal(t, "sample.webhook.io/v2", stored.APIVersion, "%s", kv.Key)
		assert.NotEmpty(t, stored.Spec["alias"], "%s", kv.Key)
	}

	// An object that cannot be converted is not stored, and whoever wrote it reads why.
	bad := placed(t, object(t, "{apiVersion: sample.webhook.io/v1, kind: Foo, metadata: {name: bad}, spec: {size: 13}}"), namespace)
	mustBeRefused(t, server.Create(t.Context(), bad), "no size is 13")

	// Our client asks as the server does.
	caller, err := conversion.NewClient()
	must(t, err)
	defer caller.Close()
	converted, err := caller.Convert(t.Context(), d, []*unstructured.Unstructured{asVersion(t, first, "v2"), asVersion(t, second, "v2")}, "v1")
	must(t, err)
	for i, obj := range []*unstructured.Unstructured{first, second} {
		assert.Equal(t, asVersion(t, obj, "v1").Object["spec"], converted[i].Object["spec"])
	}
}

// A customization for one version answers for objects of the other, and what it gives is taken by the server.
func TestACustomizationServesAllVersions(t *testing.T) {
	d := installFoo(t)
	set, err := definition.NewSet(d)
	must(t, err)
	customizations, err := declarative.Parse("foo.yaml", []byte(`
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: foo}
spec:
  target: {apiVersion: sample.webhook.io/v1, kind: Foo}
  customizations:
    replicaResource:
      luaScript: |
        function GetReplicas(obj)
          assert(obj.apiVersion == "sample.webhook.io/v1" and obj.spec.alias == nil)
          return obj.spec.size
        end
    replicaRevision:
      luaScript: |
        function ReviseReplica(obj, n)
          assert(obj.apiVersion == "sample.webhook.io/v1" and obj.spec.alias == nil)
          obj.spec.size = n
          return obj
        end
`))
	must(t, err)
	layer := rules(t)
	must(t, layer.Replace(customizations))
	caller, err := conversion.NewClient()
	must(t, err)
	defer caller.Close()
	chain := interpreter.NewChain(versions.New(layer, set, caller))

	namespace := newNamespace(t)
	stored := create(t, placed(t, object(t, "{apiVersion: sample.webhook.io/v2, kind: Foo, metadata: {name: x}, spec: {size: 2, alias: other}}"), namespace))
	n, _, err := interpreter.Replicas(t.Context(), chain, stored)
	must(t, err)
	assert.EqualValues(t, 2, n)
	revised, err := interpreter.Revised(t.Context(), chain, stored, 5)
	must(t, err)
	assert.Equal(t, map[string]any{"size": int64(5), "alias": "other"}, revised.Object["spec"])
	assert.Equal(t, stored.GetAPIVersion(), revised.GetAPIVersion())
	assert.Equal(t, stored.Object["metadata"], revised.Object["metadata"])
	again := update(t, revised)
	assert.Equal(t, revised.Object["spec"], again.Object["spec"])
}

// userDefinition is a CRD with something of everything that may be wrong with an object.
const userDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: users.auth.example.com}
spec:
  group: auth.example.com
  names: {plural: users, singular: user, kind: User, listKind: UserList, shortNames: [usr], categories: [all]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: ID, type: integer, jsonPath: .spec.userID}
    - {name: Groups, type: string, jsonPath: .spec.groups}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [userID, groups]
            properties:
              userID: {type: integer, minimum: 1, maximum: 65535}
              groups:
                type: array
                minItems: 1
                maxItems: 5
                x-kubernetes-list-type: set
                items: {type: string, minLength: 1}
              shell: {type: string, enum: [/bin/sh, /bin/bash], default: /bin/sh}
              email: {type: string, format: email}
              home: {type: string, pattern: "^/home/", maxLength: 20}
              keys:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, value: {type: string}}
              quota:
                x-kubernetes-int-or-string: true
              expires: {type: string, format: date-time, nullable: true}
            x-kubernetes-validations:
            - rule: "self.userID != 1000 || 'admin' in self.groups"
              message: the user 1000 is an admin
              fieldPath: .groups
`

// noField is where the server's code says something twice, or that rules were not checked.
const noField = "<nil>"

// What the server refuses our check refuses, field by field, and the other way round.
func TestVerdictsAreThoseOfTheServer(t *testing.T) {
	v := install(t, userDefinition).Version("v1")
	namespace := newNamespace(t)
	refused := 0
	for _, spec := range []string{
		"{userID: 1, groups: [a]}", "{userID: 65535, groups: [a, b], shell: /bin/bash, email: a@b.io, home: /home/a, keys: [{name: k, value: v}], quota: 5, expires: null}",
		"{userID: 1, groups: [a], quota: 5Gi, expires: '2030-01-01T00:00:00Z'}", "{userID: 1, groups: [a], shell: null}",
		"{userID: 0, groups: [a]}", "{userID: 65536, groups: [a]}", "{userID: -1, groups: []}", "{userID: one, groups: [a]}", "{userID: 1.5, groups: [a]}",
		"{}", "{userID: 1}", "{groups: [a]}", "{userID: 1, groups: []}", "{userID: 1, groups: [a, a]}", "{userID: 1, groups: ['']}", "{userID: 1, groups: a}",
		"{userID: 1, groups: [1]}", "{userID: 1, groups: [a, b, c, d, e, f]}", "{userID: 1, groups: {}}", "{userID: 1, groups: null}",
		"{userID: 1, groups: [a], shell: /bin/zsh}", "{userID: 1, groups: [a], shell: 5}", "{userID: 1, groups: [a], email: nobody}",
		"{userID: 1, groups: [a], home: /root}", "{userID: 1, groups: [a], home: /home/aaaaaaaaaaaaaaaaaaaaaaaa}",
		"{userID: 1, groups: [a], keys: [{name: k}, {name: k}]}", "{userID: 1, groups: [a], keys: [{value: v}]}", "{userID: 1, groups: [a], keys: [k]}",
		"{userID: 1, groups: [a], quota: 1.5}", "{userID: 1, groups: [a], quota: [1]}", "{userID: 1, groups: [a], expires: soon}",
		"{userID: 1000, groups: [a]}", "{userID: 1000, groups: [admin]}", "{userID: 0, groups: [], shell: no, home: /, keys: [{}]}",
		"[]", "null", "text", "{userID: 1, groups: [a], user: x}", "{userID: 1, groups: [a], keys: [{name: k, vlaue: x}]}",
		"{userID: true, groups: false, shell: {}, email: [], keys: 7}",
	} {
		t.Run(spec, func(t *testing.T) {
			obj := placed(t, object(t, "{apiVersion: auth.example.com/v1, kind: User, metadata: {name: x}, spec: "+spec+"}"), namespace)
			ours, err := v.Validate(t.Context(), obj, nil)
			must(t, err)
			var mine []string
			unknown := false
			for _, e := range ours {
				if e.Field != noField {
					mine = append(mine, e.Field)
				}
				unknown = unknown || e.Type == "FieldValueForbidden"
			}
			err = server.Create(t.Context(), obj.DeepCopy(), client.DryRunAll)
			var status *apierrors.StatusError
			switch {
			case err == nil:
				assert.Empty(t, ours)
				return
			case !errors.As(err, &status):
				t.Fatal(err)
			}
			refused++
			server.expected.Add(1)
			if unknown {
				// The server has no list for these, only text.
				for _, field := range mine {
					assert.ErrorContains(t, err, fmt.Sprintf("unknown field %q", field))
				}
				return
			}
			var theirs []string
			for _, cause := range status.ErrStatus.Details.Causes {
				if cause.Field != noField {
					theirs = append(theirs, cause.Field)
				}
			}
			slices.Sort(mine)
			slices.Sort(theirs)
			assert.Equal(t, slices.Compact(theirs), slices.Compact(mine), "server: %v\nours: %v", err, ours)
		})
	}
	assert.Positive(t, refused)
}

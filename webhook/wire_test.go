package webhook_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
	"github.com/kubeinterpret/interpret/webhook"
)

const workloadJSON = `{"apiVersion":"workload.example.io/v1alpha1","kind":"Workload","metadata":{"name":"web","namespace":"demo"},"spec":{"paused":false,"replicas":1}}`

// with is a whole request body; "more" goes before the number of replicas.
func with(op, more string, replicas int, after string) string {
	return fmt.Sprintf(`{"kind":"ResourceInterpreterContext","apiVersion":"config.karmada.io/v1alpha1","request":{"uid":"u1",`+
		`"kind":{"group":"workload.example.io","version":"v1alpha1","kind":"Workload"},"name":"web","namespace":"demo",`+
		`"operation":%q,"object":%s%s,"replicas":%d%s}}`, op, workloadJSON, more, replicas, after)
}

// answering is a whole response body of our server.
func answering(more string) string {
	return `{"kind":"ResourceInterpreterContext","apiVersion":"config.karmada.io/v1alpha1","response":{"uid":"u1","successful":true,"status":{"code":200}` + more + `}}`
}

func patching(patch string) string {
	return fmt.Sprintf(`,"patch":%q,"patchType":"JSONPatch"`, base64.StdEncoding.EncodeToString([]byte(patch)))
}

func ptr[T any](v T) *T { return &v }

// exchanges are, for every operation, the question, the answer, and the bodies that carry them.
var exchanges = []struct {
	req      *interpreter.Request
	res      *interpreter.Result
	request  string
	response string
}{
	{
		req:      &interpreter.Request{Operation: interpreter.Retain, Object: workload(), Observed: object(`{apiVersion: workload.example.io/v1alpha1, kind: Workload, spec: {replicas: 4}}`)},
		res:      &interpreter.Result{Object: object(strings.Replace(workloadJSON, `"replicas":1`, `"replicas":4`, 1))},
		request:  with("Retain", `,"observedObject":{"apiVersion":"workload.example.io/v1alpha1","kind":"Workload","spec":{"replicas":4}}`, 0, ""),
		response: answering(patching(`[{"op":"replace","path":"/spec/replicas","value":4}]`)),
	},
	{
		req: &interpreter.Request{Operation: interpreter.InterpretReplica, Object: workload()},
		res: &interpreter.Result{Replicas: 0, Requirements: &interpreter.ReplicaRequirements{
			ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}, Namespace: "demo"}},
		request:  with("InterpretReplica", "", 0, ""),
		response: answering(`,"replicaRequirements":{"resourceRequest":{"cpu":"500m"},"namespace":"demo"},"replicas":0`),
	},
	{
		req:      &interpreter.Request{Operation: interpreter.InterpretComponent, Object: workload()},
		res:      &interpreter.Result{Components: []interpreter.Component{{Name: "jm", Replicas: 1}}},
		request:  with("InterpretComponent", "", 0, ""),
		response: answering(`,"components":[{"name":"jm","replicas":1}]`),
	},
	{
		req:      &interpreter.Request{Operation: interpreter.ReviseReplica, Object: workload(), Replicas: ptr(int32(1))},
		res:      &interpreter.Result{Object: workload()},
		request:  with("ReviseReplica", "", 1, ""),
		response: answering(""),
	},
	{
		req:      &interpreter.Request{Operation: interpreter.InterpretStatus, Object: workload()},
		res:      &interpreter.Result{Status: map[string]any{"big": int64(9007199254740993)}},
		request:  with("InterpretStatus", "", 0, ""),
		response: answering(`,"rawStatus":{"big":9007199254740993}`),
	},
	{
		req: &interpreter.Request{Operation: interpreter.AggregateStatus, Object: workload(), Statuses: []interpreter.AggregatedStatusItem{
			{ClusterName: "m1", Status: &runtime.RawExtension{Raw: []byte(`{"ready":2}`)}, Applied: true, Health: v1alpha1.ResourceHealthy}}},
		res:      &interpreter.Result{Object: object(strings.TrimSuffix(workloadJSON, "}") + `,"status":{"ready":2}}`)},
		request:  with("AggregateStatus", "", 0, `,"aggregatedStatus":[{"clusterName":"m1","status":{"ready":2},"applied":true,"health":"Healthy"}]`),
		response: answering(patching(`[{"op":"add","path":"/status","value":{"ready":2}}]`)),
	},
	{
		req:      healthRequest(),
		res:      &interpreter.Result{Health: interpreter.Health{Status: interpreter.Degraded, Message: "1 of 2"}},
		request:  with("InterpretHealth", "", 0, ""),
		response: strings.Replace(answering(`,"healthy":false`), `{"code":200}`, `{"message":"1 of 2","code":200}`, 1),
	},
	{
		req:      &interpreter.Request{Operation: interpreter.InterpretDependency, Object: workload()},
		res:      &interpreter.Result{Dependencies: []interpreter.DependentObjectReference{{APIVersion: "v1", Kind: "ConfigMap", Namespace: "demo", Name: "c"}}},
		request:  with("InterpretDependency", "", 0, ""),
		response: answering(`,"dependencies":[{"apiVersion":"v1","kind":"ConfigMap","namespace":"demo","name":"c"}]`),
	},
	{
		req:      &interpreter.Request{Operation: interpreter.Prune, Object: workload()},
		res:      &interpreter.Result{Object: object(strings.Replace(workloadJSON, `"paused":false,`, "", 1))},
		request:  with("Prune", "", 0, ""),
		response: answering(patching(`[{"op":"remove","path":"/spec/paused"}]`)),
	},
}

func TestEveryOperationCrossesTheWire(t *testing.T) {
	var missing []interpreter.Operation
	for _, op := range interpreter.Operations() {
		found := false
		for _, x := range exchanges {
			found = found || x.req.Operation == op
		}
		if !found {
			missing = append(missing, op)
		}
	}
	require.Empty(t, missing)
	for _, x := range exchanges {
		t.Run(string(x.req.Operation), func(t *testing.T) {
			before := interpreter.Clone(x.req.Object)
			asked, err := webhook.ContextOf("u1", x.req)
			require.NoError(t, err)
			body, err := json.Marshal(asked)
			require.NoError(t, err)
			assert.Equal(t, x.request, string(body))

			uid, req, err := webhook.DecodeRequest(body)
			require.NoError(t, err)
			assert.EqualValues(t, "u1", uid)
			assert.Equal(t, x.req, req)

			response, err := webhook.ResponseOf(req, x.res)
			require.NoError(t, err)
			response.UID = uid
			body, err = webhook.EncodeResponse(response)
			require.NoError(t, err)
			assert.Equal(t, x.response, string(body))

			res, err := webhook.DecodeResponse(body, uid, x.req)
			require.NoError(t, err)
			contract, _ := interpreter.ContractOf(x.req.Operation)
			want, err := interpreter.Named(contract, x.res)
			require.NoError(t, err)
			got, err := interpreter.Named(contract, res)
			require.NoError(t, err)
			assert.Equal(t, want, got)
			assert.Equal(t, before, x.req.Object, "the request was modified")
		})
	}
}

func TestNoStatusIsAnEmptyStatusOnTheWire(t *testing.T) {
	response, err := webhook.ResponseOf(&interpreter.Request{Operation: interpreter.InterpretStatus, Object: workload()}, &interpreter.Result{})
	require.NoError(t, err)
	assert.JSONEq(t, `{"uid":"","successful":true,"status":{"code":200},"rawStatus":{}}`, string(must(json.Marshal(response))))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestRequestsThatMakeNoSense(t *testing.T) {
	good := with("InterpretHealth", "", 0, "")
	for name, c := range map[string]struct{ body, uid, says string }{
		"empty":                            {"", "", "unexpected end of JSON input"},
		"truncated":                        {good[:len(good)-30], "u1", "unexpected end of JSON input"},
		"truncated uid":                    {good[:80], "", "unexpected end of JSON input"},
		"no request":                       {`{"kind":"ResourceInterpreterContext"}`, "", "no request"},
		"null":                             {`null`, "", "no request"},
		"a list":                           {`[]`, "", "cannot unmarshal array"},
		"wrong kind":                       {strings.Replace(good, "ResourceInterpreterContext", "AdmissionReview", 1), "u1", `it is a "AdmissionReview" of "config.karmada.io/v1alpha1", not a ResourceInterpreterContext of config.karmada.io/v1alpha1`},
		"other version":                    {strings.Replace(good, "config.karmada.io/v1alpha1", "config.karmada.io/v2", 1), "u1", `of "config.karmada.io/v2", not`},
		"other letter case":                {strings.Replace(good, `"request"`, `"Request"`, 1), "", "no request"},
		"no operation":                     {strings.Replace(good, "InterpretHealth", "", 1), "u1", `unknown operation ""`},
		"unknown operation":                {strings.Replace(good, "InterpretHealth", "InterpretHelth", 1), "u1", `unknown operation "InterpretHelth", did you mean InterpretHealth? (have AggregateStatus`},
		"operation in another letter case": {strings.Replace(good, "InterpretHealth", "interprethealth", 1), "u1", "did you mean InterpretHealth?"},
		"no object":                        {strings.Replace(good, `"object":`, `"objekt":`, 1), "u1", "no obj for InterpretHealth"},
		"null object":                      {strings.Replace(good, workloadJSON, "null", 1), "u1", "no obj for InterpretHealth"},
		"text object":                      {strings.Replace(good, workloadJSON, `"x"`, 1), "u1", "cannot unmarshal string"},
		"another kind":                     {strings.Replace(good, `"kind":"Workload"},"name"`, `"kind":"Other"},"name"`, 1), "u1", "the request is about"},
		"no observed object":               {with("Retain", "", 0, ""), "u1", "no observed for Retain"},
		"no replicas":                      {strings.Replace(with("ReviseReplica", "", 0, ""), `,"replicas":0`, "", 1), "u1", "no replicas for ReviseReplica"},
		"null replicas":                    {strings.Replace(with("ReviseReplica", "", 7, ""), `,"replicas":7`, `,"replicas":null`, 1), "u1", "no replicas for ReviseReplica"},
		"too many replicas":                {with("ReviseReplica", "", 1<<31, ""), "u1", "2147483648"},
		"broken replicas":                  {strings.Replace(with("ReviseReplica", "", 7, ""), `"replicas":7`, `"replicas":2.5`, 1), "u1", "2.5"},
		"more after the end":               {good + `{"x":1}`, "u1", "after top-level value"},
	} {
		t.Run(name, func(t *testing.T) {
			uid, req, err := webhook.DecodeRequest([]byte(c.body))
			require.ErrorIs(t, err, interpreter.ErrInvalidRequest)
			require.ErrorContains(t, err, c.says)
			assert.Nil(t, req)
			assert.Equal(t, c.uid, string(uid))
		})
	}
}

func TestRequestsMayLackWhatIsNotNeeded(t *testing.T) {
	for name, body := range map[string]string{
		"the envelope's type": strings.Replace(with("InterpretHealth", "", 0, ""), `"kind":"ResourceInterpreterContext","apiVersion":"config.karmada.io/v1alpha1",`, "", 1),
		"the kind":            strings.Replace(with("InterpretHealth", "", 0, ""), `"kind":{"group":"workload.example.io","version":"v1alpha1","kind":"Workload"},`, "", 1),
		"replicas":            strings.Replace(with("InterpretHealth", "", 0, ""), `,"replicas":0`, "", 1),
		"unknown fields":      strings.Replace(with("InterpretHealth", "", 0, `,"later":{"x":[]}`), `{"kind"`, `{"more":1,"kind"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			_, req, err := webhook.DecodeRequest([]byte(body))
			require.NoError(t, err)
			assert.Equal(t, healthRequest(), req)
		})
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	for name, c := range map[string]struct {
		op   interpreter.Operation
		body string
		says string
	}{
		"empty":                  {"InterpretHealth", ``, "unexpected end of JSON input"},
		"an empty object":        {"InterpretHealth", `{}`, "no response in the body"},
		"null":                   {"InterpretHealth", `null`, "no response in the body"},
		"null response":          {"InterpretHealth", `{"response":null}`, "no response in the body"},
		"HTML":                   {"InterpretHealth", `<html></html>`, "invalid character '<'"},
		"truncated":              {"InterpretHealth", `{"response":{"uid":"u1","succ`, "unexpected end of JSON input"},
		"another kind":           {"InterpretHealth", `{"kind":"Status","apiVersion":"v1"}`, `it is a "Status" of "v1"`},
		"another uid":            {"InterpretHealth", `{"response":{"uid":"u2","successful":true,"healthy":true}}`, `the uid is "u2", it must be the request's, "u1"`},
		"no uid":                 {"InterpretHealth", `{"response":{"successful":true,"healthy":true}}`, `the uid is ""`},
		"failure without status": {"InterpretHealth", `{"response":{"uid":"u1","healthy":true}}`, "no status says why"},
		"no healthy":             {"InterpretHealth", `{"response":{"uid":"u1","successful":true}}`, "no healthy"},
		"other letter case":      {"InterpretHealth", `{"response":{"uid":"u1","successful":true,"Healthy":true}}`, "no healthy"},
		"no replicas":            {"InterpretReplica", `{"response":{"uid":"u1","successful":true,"replicas":null}}`, "no replicas"},
		"too many replicas":      {"InterpretReplica", `{"response":{"uid":"u1","successful":true,"replicas":3000000000}}`, "3000000000"},
		"no status":              {"InterpretStatus", `{"response":{"uid":"u1","successful":true,"rawStatus":null}}`, "no rawStatus"},
		"patch without type":     {"Prune", `{"response":{"uid":"u1","successful":true,"patch":"W10="}}`, "a patch without patchType"},
		"type without patch":     {"Prune", `{"response":{"uid":"u1","successful":true,"patchType":"JSONPatch"}}`, "a patchType without patch"},
		"empty patch type":       {"Prune", `{"response":{"uid":"u1","successful":true,"patchType":"","patch":"W10="}}`, `the patchType is ""`},
		"another patch type":     {"Prune", `{"response":{"uid":"u1","successful":true,"patchType":"MergePatch","patch":"e30="}}`, `the patchType is "MergePatch", it must be "JSONPatch"`},
		"not base64":             {"Prune", `{"response":{"uid":"u1","successful":true,"patchType":"JSONPatch","patch":"?"}}`, "illegal base64"},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := webhook.DecodeResponse([]byte(c.body), "u1", &interpreter.Request{Operation: c.op, Object: workload()})
			require.ErrorIs(t, err, interpreter.ErrInvalidResult)
			require.ErrorContains(t, err, c.says)
			assert.Nil(t, res)
		})
	}
}

func TestPatches(t *testing.T) {
	for name, c := range map[string]struct {
		op    interpreter.Operation
		patch string
		// want replaces the spec and what follows; says is the error instead.
		want, says string
	}{
		"none":             {patch: `[]`, want: `"spec":{"paused":false,"replicas":1}}`},
		"add":              {patch: `[{"op":"add","path":"/spec/list","value":[9007199254740993]},{"op":"add","path":"/spec/list/-","value":null}]`, want: `"spec":{"list":[9007199254740993,null],"paused":false,"replicas":1}}`},
		"copy and move":    {patch: `[{"op":"copy","from":"/spec/replicas","path":"/spec/n"},{"op":"move","from":"/spec/paused","path":"/p"}]`, want: `"spec":{"n":1,"replicas":1},"p":false}`},
		"test that holds":  {patch: `[{"op":"test","path":"/spec/replicas","value":1},{"op":"remove","path":"/spec/paused"}]`, want: `"spec":{"replicas":1}}`},
		"test that fails":  {patch: `[{"op":"test","path":"/spec/replicas","value":2}]`, says: "test"},
		"missing path":     {patch: `[{"op":"remove","path":"/spec/x"}]`, says: "/spec/x"},
		"unknown op":       {patch: `[{"op":"merge","path":"/spec"}]`, says: "not an RFC 6902 patch"},
		"a merge patch":    {patch: `{"spec":{}}`, says: "not an RFC 6902 patch"},
		"null":             {patch: `null`, says: "not an RFC 6902 patch"},
		"null operation":   {patch: `[null]`, says: "not an RFC 6902 patch"},
		"garbage":          {patch: `hello`, says: "not an RFC 6902 patch"},
		"no object":        {patch: `[{"op":"replace","path":"","value":[]}]`, says: "the patch: "},
		"null object":      {patch: `[{"op":"replace","path":"","value":null}]`, says: "the patch: "},
		"another name":     {patch: `[{"op":"replace","path":"/metadata/name","value":"x"}]`, says: `it makes another object: metadata.name is "x", was "web"`},
		"no namespace":     {patch: `[{"op":"remove","path":"/metadata/namespace"}]`, says: `metadata.namespace is "", was "demo"`},
		"another kind":     {patch: `[{"op":"replace","path":"/kind","value":"X"}]`, says: `kind is "X", was "Workload"`},
		"too many":         {patch: "[" + strings.Repeat(`{"op":"test","path":"/kind","value":"Workload"},`, 10000) + `{"op":"test","path":"/kind","value":"Workload"}]`, says: "10001 operations, at most 10000 are allowed"},
		"a doubling patch": {patch: `[{"op":"add","path":"/a","value":[1]}` + strings.Repeat(`,{"op":"copy","from":"/a","path":"/a/-"}`, 40) + `]`, says: "copy"},
		"status only":      {op: interpreter.AggregateStatus, patch: `[{"op":"add","path":"/status","value":{"a":1}},{"op":"remove","path":"/spec"}]`, want: `"spec":{"paused":false,"replicas":1},"status":{"a":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			op := c.op
			if op == "" {
				op = interpreter.Prune
			}
			req := &interpreter.Request{Operation: op, Object: workload(), Statuses: []interpreter.AggregatedStatusItem{}}
			form := v1alpha1.PatchTypeJSONPatch
			res, err := webhook.ResultOf(req, &v1alpha1.ResourceInterpreterResponse{Successful: true, Patch: []byte(c.patch), PatchType: &form})
			assert.Equal(t, workload(), req.Object, "the request was modified")
			if c.says != "" {
				require.ErrorIs(t, err, interpreter.ErrInvalidResult)
				require.ErrorContains(t, err, c.says)
				return
			}
			require.NoError(t, err)
			prefix, _, _ := strings.Cut(workloadJSON, `"spec"`)
			assert.Equal(t, object(prefix+c.want), res.Object)
		})
	}
}

func TestNoPatchGivesACopy(t *testing.T) {
	req := &interpreter.Request{Operation: interpreter.Prune, Object: workload()}
	res, err := webhook.ResultOf(req, &v1alpha1.ResourceInterpreterResponse{Successful: true})
	require.NoError(t, err)
	assert.Equal(t, workload(), res.Object)
	res.Object.SetName("changed")
	assert.Equal(t, workload(), req.Object)
}

func TestNamesThatPatchesCannotHave(t *testing.T) {
	from, to := workload(), workload()
	from.Object["spec"] = map[string]any{"": []any{int64(1)}}
	to.Object["spec"] = map[string]any{"": []any{}}
	from.Object["a~/b"], to.Object["status"] = int64(1), map[string]any{}
	req := &interpreter.Request{Operation: interpreter.Prune, Object: from}
	response, err := webhook.ResponseOf(req, &interpreter.Result{Object: to})
	require.NoError(t, err)
	assert.Equal(t, `[{"op":"remove","path":"/a~0~1b"},{"op":"add","path":"/spec","value":{"":[]}},{"op":"add","path":"/status","value":{}}]`, string(response.Patch))
	res, err := webhook.ResultOf(req, response)
	require.NoError(t, err)
	assert.Equal(t, to, res.Object)

	to.Object[""] = true
	_, err = webhook.ResponseOf(req, &interpreter.Result{Object: to})
	require.ErrorContains(t, err, "a patch cannot change a field without a name")
	assert.EqualValues(t, 500, webhook.Code(err))
}

func TestErrorsTravelAsCodes(t *testing.T) {
	for _, c := range []struct {
		err     error
		code    int32
		message string
	}{
		{interpreter.ErrInvalidRequest, 400, "invalid request"},
		{interpreter.ErrNoRule, 404, "no rule"},
		{interpreter.ErrInvalidResult, 422, "invalid result"},
		{errors.New("spec.mode is unknown"), 422, "spec.mode is unknown"},
		{interpreter.ErrNotReady, 503, "not ready"},
		{webhook.ErrUnavailable, 503, "hook unavailable"},
		{webhook.ErrUnreachable, 502, "hook unreachable"},
		{t.Context().Err(), 0, ""},
		{&webhook.StatusError{Code: 403, Message: "not you"}, 403, "not you"},
		{&webhook.StatusError{Message: "not you"}, 422, "not you"},
		{fmt.Errorf("by a hook: %w", &webhook.StatusError{Code: 409, Message: "busy"}), 409, "by a hook: code 409: busy"},
	} {
		if c.err == nil {
			continue
		}
		got := webhook.FailureOf(c.err)
		assert.Equal(t, &v1alpha1.ResourceInterpreterResponse{Status: &v1alpha1.RequestStatus{Code: c.code, Message: c.message}}, got)
	}
}

// FuzzDecodeRequest: no body makes the server panic, and what is understood can be asked again.
func FuzzDecodeRequest(f *testing.F) {
	for _, x := range exchanges {
		f.Add([]byte(x.request))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		uid, req, err := webhook.DecodeRequest(body)
		if err != nil {
			require.ErrorIs(t, err, interpreter.ErrInvalidRequest)
			return
		}
		asked, err := webhook.ContextOf(uid, req)
		require.NoError(t, err)
		again, err := json.Marshal(asked)
		if err != nil {
			return // A status item may hold what was valid JSON only in another place.
		}
		uid2, req2, err := webhook.DecodeRequest(again)
		require.NoError(t, err, "%s", again)
		assert.Equal(t, uid, uid2)
		assert.Equal(t, req.Operation, req2.Operation)
		assert.Equal(t, req.Object, req2.Object)
	})
}

// FuzzDecodeResponse: no answer makes the client panic, or makes it modify the request.
func FuzzDecodeResponse(f *testing.F) {
	for i, x := range exchanges {
		f.Add(i, []byte(x.response))
	}
	f.Fuzz(func(t *testing.T, i int, body []byte) {
		x := exchanges[((i%len(exchanges))+len(exchanges))%len(exchanges)]
		before := interpreter.Clone(x.req.Object)
		res, err := webhook.DecodeResponse(body, "u1", x.req)
		require.Equal(t, before, x.req.Object)
		var status *webhook.StatusError
		if err != nil {
			require.True(t, errors.Is(err, interpreter.ErrInvalidResult) || errors.As(err, &status), "%v", err)
			return
		}
		require.NotNil(t, res)
	})
}

// FuzzPatch: the patch from one object to another makes the other of the one.
func FuzzPatch(f *testing.F) {
	f.Add([]byte(`{"a":[1,2,3],"b":{"~/":null}}`), []byte(`{"a":[3,{"x":1}],"c":9007199254740993}`))
	f.Add([]byte(`{"a":[]}`), []byte(`{"a":{},"":{"":1.5}}`))
	f.Add([]byte(`{"a":[[1],[2],[3]]}`), []byte(`{"a":[[2],[3]]}`))
	f.Fuzz(func(t *testing.T, from, to []byte) {
		var a, b map[string]any
		if json.Unmarshal(from, &a) != nil || json.Unmarshal(to, &b) != nil || a == nil || b == nil {
			return
		}
		one, other := workload(), workload()
		one.Object["x"], other.Object["x"] = a, b
		req := &interpreter.Request{Operation: interpreter.Prune, Object: one}
		response, err := webhook.ResponseOf(req, &interpreter.Result{Object: other})
		require.NoError(t, err)
		res, err := webhook.ResultOf(req, response)
		if err != nil && strings.Contains(err.Error(), "at most 10000") {
			return
		}
		require.NoError(t, err, "%s", response.Patch)
		require.JSONEq(t, string(must(json.Marshal(other.Object))), string(must(json.Marshal(res.Object.Object))), "%s", response.Patch)
	})
}

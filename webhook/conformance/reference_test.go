package conformance_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/kubeinterpret/interpret/webhook/conformance"
)

// A hook by somebody else, who has read how Karmada's own server behaves and uses nothing of ours. It has that
// server's habits: it cuts bodies off at 1 MiB, wants exactly one Content-Type, answers everything with HTTP status
// 200, and forgets the uid where it fails before it has read it.

type theirRequest struct {
	UID       string          `json:"uid"`
	Kind      theirKind       `json:"kind"`
	Operation string          `json:"operation"`
	Object    json.RawMessage `json:"object"`
	Replicas  *int32          `json:"replicas"`
	Items     []struct {
		Status *struct {
			Ready int32 `json:"readyReplicas"`
		} `json:"status"`
	} `json:"aggregatedStatus"`
}

type theirKind struct{ Group, Version, Kind string }

type theirResponse struct {
	UID          string           `json:"uid"`
	Successful   bool             `json:"successful"`
	Status       *theirStatus     `json:"status,omitempty"`
	Patch        []byte           `json:"patch,omitempty"`
	PatchType    string           `json:"patchType,omitempty"`
	Replicas     *int32           `json:"replicas,omitempty"`
	RawStatus    *json.RawMessage `json:"rawStatus,omitempty"`
	Healthy      *bool            `json:"healthy,omitempty"`
	Components   []map[string]any `json:"components,omitempty"`
	Dependencies []map[string]any `json:"dependencies,omitempty"`
}

type theirStatus struct {
	Message string `json:"message,omitempty"`
	Code    int32  `json:"code,omitempty"`
}

func theirFailure(code int32, err error) *theirResponse {
	return &theirResponse{Status: &theirStatus{Code: code, Message: err.Error()}}
}

// theirHook is the server around their handler.
func theirHook(w http.ResponseWriter, r *http.Request) {
	var envelope struct {
		Request *theirRequest `json:"request"`
	}
	response := func() *theirResponse {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		switch {
		case err != nil:
			return theirFailure(400, err)
		case len(body) == 0:
			return theirFailure(400, errors.New("request body is empty"))
		case r.Header.Get("Content-Type") != "application/json":
			return theirFailure(400, fmt.Errorf("contentType=%s, expected application/json", r.Header.Get("Content-Type")))
		}
		if err := json.Unmarshal(body, &envelope); err != nil {
			return theirFailure(400, err)
		}
		if envelope.Request == nil {
			return theirFailure(400, errors.New("no request"))
		}
		response := theirHandler(envelope.Request)
		response.UID = envelope.Request.UID
		if response.Status == nil {
			response.Status = &theirStatus{Code: 200}
		}
		return response
	}()
	// No envelope type, and the Content-Type that net/http makes of it.
	_ = json.NewEncoder(w).Encode(map[string]any{"response": response})
}

// theirHandler knows Workloads.
func theirHandler(req *theirRequest) *theirResponse {
	var workload struct {
		Kind string
		Spec struct {
			Replicas *int32
			Config   string
		}
		Status *json.RawMessage
	}
	if err := json.Unmarshal(req.Object, &workload); err != nil {
		return theirFailure(400, err)
	}
	if workload.Kind != "Workload" {
		return theirFailure(400, fmt.Errorf("wrong kind %q", workload.Kind))
	}
	response := &theirResponse{Successful: true}
	patch := func(path string, value any) *theirResponse {
		response.Patch, _ = json.Marshal([]map[string]any{{"op": "add", "path": path, "value": value}})
		response.PatchType = "JSONPatch"
		return response
	}
	yes := true
	switch req.Operation {
	case "InterpretReplica":
		response.Replicas = workload.Spec.Replicas
	case "InterpretComponent":
		response.Components = []map[string]any{{"name": "main", "replicas": workload.Spec.Replicas}}
	case "ReviseReplica":
		return patch("/spec/replicas", req.Replicas)
	case "Retain":
		// Nothing to retain.
	case "AggregateStatus":
		ready := int32(0)
		for _, item := range req.Items {
			if item.Status != nil {
				ready += item.Status.Ready
			}
		}
		return patch("/status", map[string]any{"readyReplicas": ready})
	case "InterpretStatus":
		if response.RawStatus = workload.Status; response.RawStatus == nil {
			return theirFailure(400, errors.New("no status"))
		}
	case "InterpretHealth":
		response.Healthy = &yes
	case "InterpretDependency":
		response.Dependencies = []map[string]any{{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "demo", "name": workload.Spec.Config}}
	default:
		return theirFailure(400, fmt.Errorf("wrong request operation type: %s", req.Operation))
	}
	return response
}

func TestAHookBySomebodyElseKeepsAllThatItMust(t *testing.T) {
	t.Parallel()
	report := run(t, served(t, http.HandlerFunc(theirHook), workloadRules(), nil), workloadQuestions(t))
	assert.Empty(t, verdicts(report, conformance.Fail), story(report))
	assert.Empty(t, verdicts(report, conformance.Skipped), story(report))
	// The habits that the protocol calls safe to improve.
	assert.Equal(t, []string{"content-type-charset", "large-object", "too-large", "uid-early"}, verdicts(report, conformance.Warn), story(report))
}

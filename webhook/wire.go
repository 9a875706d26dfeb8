package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	jsonutil "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// input is how one argument of a contract travels. Putting may share memory with the request, which nobody
// modifies; taking may share it with the wire's, which nobody has but the taker.
type input struct {
	put  func(*v1alpha1.ResourceInterpreterRequest, *interpreter.Request) error
	take func(*interpreter.Request, *v1alpha1.ResourceInterpreterRequest) error
}

var object = input{
	put: func(w *v1alpha1.ResourceInterpreterRequest, r *interpreter.Request) (err error) {
		w.Object.Raw, err = json.Marshal(r.Object.Object)
		return err
	},
	take: func(r *interpreter.Request, w *v1alpha1.ResourceInterpreterRequest) (err error) {
		r.Object, err = readObject(w.Object.Raw)
		return err
	},
}

// inputs are the arguments by the names that contracts give them.
var inputs = map[string]input{
	"obj":     object,
	"desired": object,
	"observed": {
		put: func(w *v1alpha1.ResourceInterpreterRequest, r *interpreter.Request) error {
			raw, err := json.Marshal(r.Observed.Object)
			w.ObservedObject = &runtime.RawExtension{Raw: raw}
			return err
		},
		take: func(r *interpreter.Request, w *v1alpha1.ResourceInterpreterRequest) (err error) {
			if w.ObservedObject != nil {
				r.Observed, err = readObject(w.ObservedObject.Raw)
			}
			return err
		},
	},
	"replica": {
		put: func(w *v1alpha1.ResourceInterpreterRequest, r *interpreter.Request) error {
			w.DesiredReplicas = *r.Replicas
			return nil
		},
		take: func(r *interpreter.Request, w *v1alpha1.ResourceInterpreterRequest) error {
			r.Replicas = &w.DesiredReplicas
			return nil
		},
	},
	"items": {
		put: func(w *v1alpha1.ResourceInterpreterRequest, r *interpreter.Request) error {
			w.AggregatedStatus = r.Statuses
			return nil
		},
		take: func(r *interpreter.Request, w *v1alpha1.ResourceInterpreterRequest) error {
			r.Statuses = w.AggregatedStatus
			return nil
		},
	},
}

// readObject reads an object's JSON; nothing and null are nil. Whole numbers come out as int64, as everywhere
// in unstructured objects.
func readObject(raw []byte) (*unstructured.Unstructured, error) {
	var content map[string]any
	if len(raw) > 0 {
		if err := jsonutil.Unmarshal(raw, &content); err != nil {
			return nil, err
		}
	}
	if content == nil {
		return nil, nil
	}
	return &unstructured.Unstructured{Object: content}, nil
}

var envelope = metav1.TypeMeta{
	APIVersion: v1alpha1.GroupVersion.String(),
	Kind:       v1alpha1.KindResourceInterpreterContext,
}

// checkEnvelope refuses another type. Both fields may be left out, as Karmada's own sample hook does.
func checkEnvelope(t metav1.TypeMeta) error {
	if t.APIVersion != "" && t.APIVersion != envelope.APIVersion || t.Kind != "" && t.Kind != envelope.Kind {
		return fmt.Errorf("it is a %q of %q, not a %s of %s", t.Kind, t.APIVersion, envelope.Kind, envelope.APIVersion)
	}
	return nil
}

// ContextOf puts a question into the envelope that travels to a hook. The envelope may share memory with the
// request. The error of a request that lacks something is interpreter.ErrInvalidRequest.
func ContextOf(uid types.UID, req *interpreter.Request) (*v1alpha1.ResourceInterpreterContext, error) {
	contract, err := complete(req)
	if err != nil {
		return nil, err
	}
	w := &v1alpha1.ResourceInterpreterRequest{
		UID:       uid,
		Kind:      metav1.GroupVersionKind(req.Kind()),
		Name:      req.Object.GetName(),
		Namespace: req.Object.GetNamespace(),
		Operation: req.Operation,
	}
	for _, in := range contract.In {
		if err := inputs[in.Name].put(w, req); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", interpreter.ErrInvalidRequest, in.Name, err)
		}
	}
	return &v1alpha1.ResourceInterpreterContext{TypeMeta: envelope, Request: w}, nil
}

// complete finds the contract of a request, and says which of its arguments are missing.
func complete(req *interpreter.Request) (*interpreter.Contract, error) {
	contract, ok := interpreter.ContractOf(req.Operation)
	if !ok {
		name, err := interpreter.ParseOperation(string(req.Operation))
		if err == nil {
			err = fmt.Errorf("%w: unknown operation %q, did you mean %s?", interpreter.ErrInvalidRequest, req.Operation, name)
		}
		return nil, err
	}
	for _, in := range contract.In {
		if in.Of(req) == nil {
			return nil, fmt.Errorf("%w: no %s for %s", interpreter.ErrInvalidRequest, in.Name, req.Operation)
		}
	}
	return contract, nil
}

// RequestOf reads the question from an envelope's request. The error is interpreter.ErrInvalidRequest. What
// the wire calls the kind is the object's own; it is refused if it says otherwise.
func RequestOf(w *v1alpha1.ResourceInterpreterRequest) (*interpreter.Request, error) {
	req := &interpreter.Request{Operation: w.Operation}
	contract, ok := interpreter.ContractOf(w.Operation)
	if !ok {
		_, err := complete(req)
		return nil, err
	}
	for _, in := range contract.In {
		if err := inputs[in.Name].take(req, w); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", interpreter.ErrInvalidRequest, in.Name, err)
		}
	}
	if _, err := complete(req); err != nil {
		return nil, err
	}
	if asked := metav1.GroupVersionKind(req.Kind()); w.Kind != asked && w.Kind != (metav1.GroupVersionKind{}) {
		return nil, fmt.Errorf("%w: the request is about %s, and its object is %s", interpreter.ErrInvalidRequest, &w.Kind, &asked)
	}
	return req, nil
}

// incoming is an envelope on its way to a hook. It knows a missing number of replicas from zero, to which
// nothing must be scaled because somebody forgot a field.
type incoming struct {
	metav1.TypeMeta `json:",inline"`
	Request         *struct {
		v1alpha1.ResourceInterpreterRequest `json:",inline"`
		Replicas                            *int32 `json:"replicas"`
	} `json:"request"`
}

// DecodeRequest reads a question from the body of an HTTP request. The UID is returned also with an error, if
// one can be found in what may be half a body: whoever asked wants it back. The error is
// interpreter.ErrInvalidRequest.
func DecodeRequest(body []byte) (types.UID, *interpreter.Request, error) {
	var in incoming
	err := jsonutil.Unmarshal(body, &in)
	if err == nil {
		err = checkEnvelope(in.TypeMeta)
	}
	if err == nil && in.Request == nil {
		err = errors.New("no request")
	}
	if err != nil {
		return findUID(body), nil, fmt.Errorf("%w: the body is not a %s: %w", interpreter.ErrInvalidRequest, envelope.Kind, err)
	}
	w := &in.Request.ResourceInterpreterRequest
	if in.Request.Replicas != nil {
		w.DesiredReplicas = *in.Request.Replicas
	} else if w.Operation == interpreter.ReviseReplica {
		return w.UID, nil, fmt.Errorf("%w: no replicas for %s", interpreter.ErrInvalidRequest, w.Operation)
	}
	req, err := RequestOf(w)
	return w.UID, req, err
}

// findUID looks for request.uid in the beginning of an envelope that may be broken further on. It is empty
// when there is none.
func findUID(body []byte) types.UID {
	d := json.NewDecoder(bytes.NewReader(body))
	if !enter(d, "request") || !enter(d, "uid") {
		return ""
	}
	token, err := d.Token()
	uid, ok := token.(string)
	if err != nil || !ok {
		return ""
	}
	return types.UID(uid)
}

// enter moves into the object that comes next, up to the value of one of its fields.
func enter(d *json.Decoder, name string) bool {
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return false
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return false
		}
		if key == name {
			return true
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return false
		}
	}
	return false
}

// ResponseOf puts the answer to a question into a response; the UID is left to the caller. The response may
// share memory with the result.
func ResponseOf(req *interpreter.Request, res *interpreter.Result) (*v1alpha1.ResourceInterpreterResponse, error) {
	contract, err := complete(req)
	if err != nil {
		return nil, err
	}
	if res == nil {
		return nil, fmt.Errorf("%w: no answer and no error", interpreter.ErrInvalidResult)
	}
	w := &v1alpha1.ResourceInterpreterResponse{
		Successful: true,
		Status:     &v1alpha1.RequestStatus{Code: http.StatusOK},
	}
	for _, out := range contract.Out {
		switch v := out.In(res).(type) {
		case *int32:
			w.Replicas = v
		case **interpreter.ReplicaRequirements:
			w.ReplicaRequirements = *v
		case *[]interpreter.Component:
			w.Components = *v
		case *[]interpreter.DependentObjectReference:
			w.Dependencies = *v
		case *any:
			status := *v
			if status == nil {
				status = struct{}{}
			}
			raw, err := json.Marshal(status)
			if err != nil {
				return nil, fmt.Errorf("%w: %s: %w", errInternal, out.Name, err)
			}
			w.RawStatus = &runtime.RawExtension{Raw: raw}
		case *interpreter.Health:
			healthy := v.IsHealthy()
			w.Healthy = &healthy
			// Of a successful answer nobody reads the status; it can carry to people what a boolean cannot.
			w.Status.Message = v.Message
		case **unstructured.Unstructured:
			if *v == nil {
				return nil, fmt.Errorf("%w: no %s", interpreter.ErrInvalidResult, out.Noun)
			}
			patch, err := makePatch(req.Object.Object, (*v).Object)
			if err != nil {
				return nil, fmt.Errorf("%w: %s: %w", errInternal, out.Name, err)
			}
			if patch != nil {
				form := v1alpha1.PatchTypeJSONPatch
				w.Patch, w.PatchType = patch, &form
			}
		}
	}
	return w, nil
}

// FailureOf is the response that says why there is no answer; the UID is left to the caller.
func FailureOf(err error) *v1alpha1.ResourceInterpreterResponse {
	return &v1alpha1.ResourceInterpreterResponse{Status: &v1alpha1.RequestStatus{Code: Code(err), Message: failureMessage(err)}}
}

// EncodeResponse writes a response in its envelope as the body of an HTTP response.
func EncodeResponse(w *v1alpha1.ResourceInterpreterResponse) ([]byte, error) {
	return json.Marshal(envelop(w))
}

func envelop(w *v1alpha1.ResourceInterpreterResponse) *v1alpha1.ResourceInterpreterContext {
	return &v1alpha1.ResourceInterpreterContext{TypeMeta: envelope, Response: w}
}

// DecodeResponse reads the answer to a question from the body of an HTTP response. A *StatusError is the
// hook's own failure; every other error is interpreter.ErrInvalidResult.
func DecodeResponse(body []byte, uid types.UID, req *interpreter.Request) (*interpreter.Result, error) {
	var in v1alpha1.ResourceInterpreterContext
	err := jsonutil.Unmarshal(body, &in)
	if err == nil {
		err = checkEnvelope(in.TypeMeta)
	}
	switch {
	case err != nil:
		err = fmt.Errorf("the body is not a %s: %w", envelope.Kind, err)
	case in.Response == nil:
		err = errors.New("no response in the body")
	case in.Response.UID != uid:
		err = fmt.Errorf("the uid is %q, it must be the request's, %q", in.Response.UID, uid)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", interpreter.ErrInvalidResult, err)
	}
	return ResultOf(req, in.Response)
}

// ResultOf reads the answer to a question from a response, whose UID is not looked at. Errors are those of
// DecodeResponse. The result shares nothing with the request.
//
// Health has less on the wire than here: false is Degraded, and the reason is lost.
func ResultOf(req *interpreter.Request, w *v1alpha1.ResourceInterpreterResponse) (*interpreter.Result, error) {
	contract, err := complete(req)
	if err != nil {
		return nil, err
	}
	if !w.Successful {
		if w.Status == nil {
			return nil, fmt.Errorf("%w: it is not successful, and no status says why", interpreter.ErrInvalidResult)
		}
		return nil, &StatusError{Code: w.Status.Code, Message: w.Status.Message}
	}
	res := &interpreter.Result{}
	for _, out := range contract.Out {
		if err := take(out, res, req, w); err != nil {
			return nil, fmt.Errorf("%w: %w", interpreter.ErrInvalidResult, err)
		}
	}
	return res, nil
}

// take reads one output of the contract, and insists on what the protocol insists on for it. What a response
// has beyond that is ignored: Karmada does so, and later versions may have more.
func take(out interpreter.Output, res *interpreter.Result, req *interpreter.Request, w *v1alpha1.ResourceInterpreterResponse) error {
	switch p := out.In(res).(type) {
	case *int32:
		if w.Replicas == nil {
			return errors.New("no replicas")
		}
		*p = *w.Replicas
	case **interpreter.ReplicaRequirements:
		*p = w.ReplicaRequirements
	case *[]interpreter.Component:
		*p = w.Components
	case *[]interpreter.DependentObjectReference:
		*p = w.Dependencies
	case *any:
		if w.RawStatus == nil || len(w.RawStatus.Raw) == 0 {
			return errors.New("no rawStatus")
		}
		// Only in maps and lists are whole numbers decoded as such, hence the list around it.
		var wrapped []any
		if err := jsonutil.Unmarshal(slices.Concat([]byte{'['}, w.RawStatus.Raw, []byte{']'}), &wrapped); err != nil {
			return fmt.Errorf("rawStatus: %w", err)
		}
		if *p = wrapped[0]; *p == nil {
			return errors.New("no rawStatus")
		}
	case *interpreter.Health:
		if w.Healthy == nil {
			return errors.New("no healthy")
		}
		*p = interpreter.HealthOfBool(*w.Healthy)
		if w.Status != nil {
			p.Message = w.Status.Message
		}
	case **unstructured.Unstructured:
		patched, err := patchedObject(out, req, w)
		if err != nil {
			return err
		}
		*p = &unstructured.Unstructured{Object: patched}
	}
	return nil
}

// patchedObject applies a response's patch to a copy of the object asked about. Without a patch the answer is
// that nothing changes; half a patch is no answer. Where the contract lets only some fields change, changes of
// the others are dropped, as the caller would drop them.
func patchedObject(out interpreter.Output, req *interpreter.Request, w *v1alpha1.ResourceInterpreterResponse) (map[string]any, error) {
	switch {
	case len(w.Patch) == 0 && w.PatchType == nil:
		return interpreter.Clone(req.Object).Object, nil
	case w.PatchType == nil:
		return nil, errors.New("a patch without patchType")
	case len(w.Patch) == 0:
		return nil, errors.New("a patchType without patch")
	case *w.PatchType != v1alpha1.PatchTypeJSONPatch:
		return nil, fmt.Errorf("the patchType is %q, it must be %q", *w.PatchType, v1alpha1.PatchTypeJSONPatch)
	}
	raw, err := json.Marshal(req.Object.Object)
	if err != nil {
		return nil, err
	}
	patched, err := applyPatch(raw, w.Patch)
	if err != nil {
		return nil, fmt.Errorf("the patch: %w", err)
	}
	if err := sameObject(patched, req.Object); err != nil {
		return nil, fmt.Errorf("the patch: %w", err)
	}
	if out.Only != nil {
		patched = only(out.Only, patched, req.Object)
	}
	return patched, nil
}

package webhook

import (
	"context"
	"errors"
	"log/slog"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// Handler answers questions over HTTP, by whatever method and on whatever path, as a hook for Karmada does.
type Handler struct {
	*Endpoint
	interpreter interpreter.Interpreter
	// via is the handler's name among those that pass questions on.
	via string
}

// NewHandler makes a handler that answers with an interpreter.
func NewHandler(in interpreter.Interpreter, options ...HandlerOption) (*Handler, error) {
	if in == nil {
		return nil, errors.New("the interpreter is nil")
	}
	h := &Handler{interpreter: in, via: newVia()}
	var err error
	h.Endpoint, err = NewEndpoint(Protocol{
		Name:    "interpret",
		Metrics: "interpret_webhook",
		Label:   "operation",
		Answer:  h.answer,
		Failure: func(uid types.UID, code int32, message string) any {
			return &v1alpha1.ResourceInterpreterResponse{UID: uid, Status: &v1alpha1.RequestStatus{Code: code, Message: message}}
		},
		Envelop: func(response any) any {
			return envelop(response.(*v1alpha1.ResourceInterpreterResponse))
		},
	}, options...)
	return h, err
}

// answer answers the question in a body.
func (h *Handler) answer(ctx context.Context, x *Exchange, body []byte) (any, error) {
	uid, req, err := DecodeRequest(body)
	x.UID = uid
	if req != nil {
		x.Subject = string(req.Operation)
		x.About = func() []slog.Attr { return about(req) }
	}
	if err != nil {
		return nil, err
	}
	if ctx, err = h.withVia(ctx, x.Header()); err != nil {
		return nil, err
	}
	var res *interpreter.Result
	err = x.Run(ctx, string(req.Operation), func() (err error) {
		res, err = h.interpreter.Interpret(ctx, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	response, err := ResponseOf(req, res)
	if err != nil {
		return nil, err
	}
	response.UID = uid
	return response, nil
}

// about are the attributes that say what was asked.
func about(req *interpreter.Request) []slog.Attr {
	return []slog.Attr{
		slog.String("operation", string(req.Operation)), slog.String("kind", interpreter.KindString(req.Kind())),
		slog.String("namespace", req.Object.GetNamespace()), slog.String("name", req.Object.GetName()),
	}
}

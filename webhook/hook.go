package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// hook is one webhook of a configuration, ready to be asked.
type hook struct {
	configuration string
	webhook       *v1alpha1.ResourceInterpreterWebhook
	identity      string
	policy        failurePolicy
	rules         []*interpreter.Rule
	caller        *Caller
}

// newHook makes a hook of a webhook that Validate has nothing against.
func newHook(s settings, configuration string, w *v1alpha1.ResourceInterpreterWebhook, policy failurePolicy) *hook {
	h := &hook{
		configuration: configuration,
		webhook:       w.DeepCopy(),
		identity:      configuration + "/" + w.Name,
		policy:        policy,
	}
	timeout := s.timeout
	if w.TimeoutSeconds != nil {
		timeout = time.Duration(*w.TimeoutSeconds) * time.Second
	}
	h.caller = newCaller(s, h.identity, &h.webhook.ClientConfig, timeout)
	h.rules = []*interpreter.Rule{{Name: h.identity, Interpreter: h}}
	return h
}

// Interpret asks the hook, and the layers below it if the hook fails and its failure policy says so.
func (h *hook) Interpret(ctx context.Context, req *interpreter.Request) (*interpreter.Result, error) {
	res, err := h.ask(ctx, req)
	if err == nil {
		return res, nil
	}
	failure := &CallError{
		Configuration: h.configuration, Hook: h.webhook.Name, Host: h.caller.Host(),
		Operation: req.Operation, Kind: req.Kind(), Err: err,
	}
	if req.Object != nil {
		failure.Namespace, failure.Name = req.Object.GetNamespace(), req.Object.GetName()
	}
	var gone *callerError
	if h.policy == fail || answered(err) || errors.As(err, &gone) || ctx.Err() != nil {
		return nil, failure
	}
	res, err = req.Next(ctx, req)
	if interpreter.IsNoRule(err) {
		// Nobody else can answer, which is not to say that there is no rule.
		return nil, failure
	}
	return res, err
}

// ask calls the hook.
func (h *hook) ask(ctx context.Context, req *interpreter.Request) (*interpreter.Result, error) {
	uid := uuid.NewUUID()
	asked, err := ContextOf(uid, req)
	if err != nil {
		return nil, &callerError{err}
	}
	body, err := json.Marshal(asked)
	if err != nil {
		return nil, &callerError{fmt.Errorf("%w: %w", interpreter.ErrInvalidRequest, err)}
	}
	var res *interpreter.Result
	err = h.caller.Call(ctx, string(req.Operation), body, func(answer []byte) (err error) {
		res, err = DecodeResponse(answer, uid, req)
		return err
	})
	if err != nil {
		return nil, err
	}
	return res, nil
}

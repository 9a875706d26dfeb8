package conversion

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/webhook"
)

const (
	// DefaultTimeout bounds a call of a conversion webhook, as an API server does.
	DefaultTimeout = 30 * time.Second
	// DefaultAnswerLimit is how many bytes of an answer are read: as many as a review may have.
	DefaultAnswerLimit = DefaultBodyLimit
)

// operation is what conversions are called in the metrics of the calls of hooks. The hook is the CRD's name there.
const operation = "Convert"

// The versions of the review that the client speaks. They differ in what is checked of an answer.
var reviewVersions = []string{"v1", "v1beta1"}

// Client converts objects as their CRDs say and an API server does it. It is safe for many goroutines.
type Client struct {
	callers *webhook.Callers

	mu    sync.Mutex
	hooks map[string]*hook // by the CRD's name
}

// hook is the conversion webhook of a CRD.
type hook struct {
	config *apiextensionsv1.WebhookClientConfig
	caller *webhook.Caller
}

// NewClient makes a client. The options are those of the layer of webhooks; without them the limits are
// DefaultTimeout, DefaultAnswerLimit and those of the layer.
func NewClient(options ...webhook.Option) (*Client, error) {
	defaults := []webhook.Option{webhook.WithTimeout(DefaultTimeout), webhook.WithAnswerLimit(DefaultAnswerLimit)}
	callers, err := webhook.NewCallers(append(defaults, options...)...)
	if err != nil {
		return nil, err
	}
	return &Client{callers: callers, hooks: map[string]*hook{}}, nil
}

// Close closes the connections that no call is using. The client can be used afterwards.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.hooks {
		h.caller.Close()
	}
	c.hooks = map[string]*hook{}
}

// ConvertError says which conversion failed. It is the error of every conversion by a Client.
type ConvertError struct {
	// CRD is the name of the CustomResourceDefinition.
	CRD string
	// Host is the host of the webhook's URL, empty if it was not to be called.
	Host string
	// Kind, Namespace and Name are those of the object that could not be converted, or of the first where there are
	// more.
	Kind            schema.GroupVersionKind
	Namespace, Name string
	// More is how many objects there are besides.
	More int
	// Version is the one that was asked for.
	Version string
	// Err is the cause: a *webhook.StatusError when the webhook said no.
	Err error
}

func (e *ConvertError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s %s", definition.Kind, e.CRD, e.Kind.Kind, objectName(e.Namespace, e.Name))
	if e.More > 0 {
		fmt.Fprintf(&b, " and %d more", e.More)
	}
	fmt.Fprintf(&b, " from %s to %s: ", e.Kind.Version, e.Version)
	if e.Host != "" {
		fmt.Fprintf(&b, "https://%s: ", e.Host)
	}
	b.WriteString(e.Err.Error())
	return b.String()
}

// Unwrap is the cause.
func (e *ConvertError) Unwrap() error { return e.Err }

// indexError is a failure that is about one of the objects.
type indexError struct {
	index int
	err   error
}

func (e *indexError) Error() string { return e.err.Error() }

func (e *indexError) Unwrap() error { return e.err }

// Convert gives objects of a CRD in another version of it, all of them or none, in their order. Objects that are in
// that version are given as they are, and what strategy None gives shares memory with what it was given; no object is
// modified. Every error is a *ConvertError.
func (c *Client) Convert(ctx context.Context, d *definition.Definition, objects []*unstructured.Unstructured, version string) ([]*unstructured.Unstructured, error) {
	if len(objects) == 0 {
		return nil, nil
	}
	converted, host, err := c.convert(ctx, d, objects, version)
	if err == nil {
		return converted, nil
	}
	at, more := objects[0], len(objects)-1
	var one *indexError
	if errors.As(err, &one) {
		at, more = objects[one.index], 0
	}
	return nil, &ConvertError{
		CRD: d.Name(), Host: host, Kind: at.GroupVersionKind(), Namespace: at.GetNamespace(), Name: at.GetName(),
		More: more, Version: version, Err: err,
	}
}

// convert is Convert, with the host of the hook that was to be called.
func (c *Client) convert(ctx context.Context, d *definition.Definition, objects []*unstructured.Unstructured, version string) (_ []*unstructured.Unstructured, host string, err error) {
	if err := check(d, objects, version); err != nil {
		return nil, "", err
	}
	desired := schema.GroupVersion{Group: d.GroupKind().Group, Version: version}
	conversion := d.Conversion()
	// What is sent, and where its answers belong.
	q := &call{desired: desired, uid: uuid.NewUUID(), all: slices.Clone(objects)}
	for i, o := range objects {
		switch {
		case o.GetAPIVersion() == desired.String():
		case conversion.Strategy == apiextensionsv1.NoneConverter, len(o.Object) == 2:
			// An object of apiVersion and kind alone is not sent: there is nothing in it to convert.
			q.all[i] = &unstructured.Unstructured{Object: maps.Clone(o.Object)}
			q.all[i].SetAPIVersion(desired.String())
		default:
			q.sent = append(q.sent, i)
		}
	}
	if len(q.sent) == 0 {
		return q.all, "", nil
	}
	h, err := c.hook(d)
	if err != nil {
		return nil, "", err
	}
	if q.version, err = reviewVersion(conversion.Webhook.ConversionReviewVersions); err != nil {
		return nil, h.caller.Host(), err
	}
	body, err := q.body()
	if err != nil {
		return nil, h.caller.Host(), err
	}
	if err := h.caller.Call(ctx, operation, body, q.read); err != nil {
		return nil, h.caller.Host(), err
	}
	return q.all, "", nil
}

// check says which object is not one of the CRD's, or of a version that the CRD does not have.
func check(d *definition.Definition, objects []*unstructured.Unstructured, version string) error {
	unknown := func(name string) error {
		var have []string
		for _, v := range d.Versions() {
			have = append(have, v.Name)
		}
		return fmt.Errorf("there is no version %q (have %s)", name, strings.Join(have, ", "))
	}
	if d.Version(version) == nil {
		return unknown(version)
	}
	for i, o := range objects {
		if kind := o.GroupVersionKind(); kind.GroupKind() != d.GroupKind() {
			return &indexError{i, fmt.Errorf("it is no %s", d.GroupKind())}
		} else if d.Version(kind.Version) == nil {
			return &indexError{i, unknown(kind.Version)}
		}
	}
	return nil
}

// hook finds the webhook of a CRD. One whose configuration has changed is another one.
func (c *Client) hook(d *definition.Definition) (*hook, error) {
	conversion := d.Conversion()
	if conversion.Strategy != apiextensionsv1.WebhookConverter {
		return nil, fmt.Errorf("unknown conversion strategy %q", conversion.Strategy)
	}
	if conversion.Webhook == nil || conversion.Webhook.ClientConfig == nil {
		return nil, errors.New("spec.conversion.webhook.clientConfig is required for the strategy Webhook")
	}
	config := conversion.Webhook.ClientConfig
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hooks[d.Name()]
	if h != nil && (h.config == config || equality.Semantic.DeepEqual(h.config, config)) {
		return h, nil
	}
	client := &admissionregistrationv1.WebhookClientConfig{URL: config.URL, CABundle: config.CABundle}
	if len(bytes.TrimSpace(client.CABundle)) == 0 {
		client.CABundle = nil
	}
	if s := config.Service; s != nil {
		client.Service = &admissionregistrationv1.ServiceReference{Namespace: s.Namespace, Name: s.Name, Path: s.Path, Port: s.Port}
	}
	if h != nil {
		h.caller.Close()
		delete(c.hooks, d.Name())
	}
	caller, err := c.callers.New(d.Name(), client)
	if err != nil {
		return nil, fmt.Errorf("spec.conversion.webhook: %w", err)
	}
	h = &hook{config: config, caller: caller}
	c.hooks[d.Name()] = h
	return h, nil
}

// reviewVersion is the first version of the review that both sides speak.
func reviewVersion(preferred []string) (string, error) {
	for _, v := range preferred {
		if slices.Contains(reviewVersions, v) {
			return v, nil
		}
	}
	return "", fmt.Errorf("spec.conversion.webhook.conversionReviewVersions: none of %q is spoken here (have %s)", preferred, strings.Join(reviewVersions, ", "))
}

// call is one review on its way.
type call struct {
	version string
	uid     types.UID
	desired schema.GroupVersion
	// all are the objects in their order; sent are the indexes of those that the hook converts. What it gives takes
	// their places.
	all  []*unstructured.Unstructured
	sent []int
}

func (q *call) envelope() metav1.TypeMeta {
	gv := schema.GroupVersion{Group: apiextensionsv1.GroupName, Version: q.version}
	return metav1.TypeMeta{APIVersion: gv.String(), Kind: reviewKind}
}

func (q *call) body() ([]byte, error) {
	req := &apiextensionsv1.ConversionRequest{UID: q.uid, DesiredAPIVersion: q.desired.String()}
	for _, i := range q.sent {
		raw, err := encodeObject(q.all[i])
		if err != nil {
			return nil, &indexError{i, err}
		}
		req.Objects = append(req.Objects, runtime.RawExtension{Raw: raw})
	}
	return json.Marshal(&apiextensionsv1.ConversionReview{TypeMeta: q.envelope(), Request: req})
}

// read takes an answer, whole or not at all.
func (q *call) read(answer []byte) error {
	var review apiextensionsv1.ConversionReview
	if err := json.Unmarshal(answer, &review); err != nil {
		return invalid("the body is no %s: %w", reviewKind, err)
	}
	// Of v1beta1 an API server checks neither.
	v1 := q.version == apiextensionsv1.SchemeGroupVersion.Version
	if want := q.envelope(); v1 && review.TypeMeta != want {
		return invalid("the body must be a %s of %s, got %q of %q", want.Kind, want.APIVersion, review.Kind, review.APIVersion)
	}
	r := review.Response
	switch {
	case r == nil:
		return invalid("no response in the body")
	case v1 && r.UID != q.uid:
		return invalid("the uid is %q, it must be the request's, %q", r.UID, q.uid)
	case r.Result.Status != metav1.StatusSuccess:
		return refused(&r.Result)
	case len(r.ConvertedObjects) != len(q.sent):
		return invalid("%d objects were to be converted, %d came back", len(q.sent), len(r.ConvertedObjects))
	}
	converted := make([]*unstructured.Unstructured, len(q.sent))
	for n, i := range q.sent {
		obj, err := decodeObject(r.ConvertedObjects[n].Raw)
		if err == nil {
			err = checkConverted(q.all[i], obj, q.desired)
		}
		if err != nil {
			return &indexError{i, invalid("convertedObjects[%d]: %w", n, err)}
		}
		converted[n] = obj
	}
	for n, i := range q.sent {
		q.all[i] = converted[n]
	}
	return nil
}

// refused is the error of a hook that says no.
func refused(result *metav1.Status) error {
	message := result.Message
	switch {
	case message != "":
	case result.Status == metav1.StatusFailure:
		message = "it does not say why"
	default:
		return invalid("result.status must be %s or %s, got %q", metav1.StatusSuccess, metav1.StatusFailure, result.Status)
	}
	code := result.Code
	if code == 0 {
		code = http.StatusUnprocessableEntity
	}
	return &webhook.StatusError{Code: code, Message: message}
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", interpreter.ErrInvalidResult, fmt.Errorf(format, args...))
}

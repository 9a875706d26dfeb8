package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/interpreter/kinds"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// What is asked for: tables, which have the columns that kubectl prints, or only the metadata of objects. Servers that
// know neither give the objects.
const (
	acceptTable    = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
	acceptMetadata = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
	acceptObject   = "application/json"
)

// How many requests a second one run may make, and at once: as kubectl, whose users are not slowed down either.
const (
	requestsPerSecond = 50
	requestsAtOnce    = 300
)

// apiReader reads an API server.
type apiReader struct {
	client  rest.Interface
	kinds   *kinds.Kinds
	session *session

	mu sync.Mutex
	// warned are the permissions that have been told to be missing.
	warned map[string]bool
	// looked are dependencies that have been looked up.
	looked map[string]*lookup
}

// newAPIReader makes a client as kubectl does. Nothing is asked yet.
func newAPIReader(flags *genericclioptions.ConfigFlags, s *session) (*apiReader, error) {
	// client-go also logs some of the errors that it gives.
	logClients(slog.New(slog.DiscardHandler))
	files, err := flags.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	if len(files.Clusters) == 0 && *flags.APIServer == "" && os.Getenv("KUBERNETES_SERVICE_HOST") == "" {
		return nil, errNoServer() // Rather than a try at localhost:8080, which is what kubectl does.
	}
	config, err := flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = requestsPerSecond, requestsAtOnce
	config.UserAgent = "interpret/" + versionText()
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.WarningHandler = rest.NewWarningWriter(s.stderr, rest.WarningWriterOptions{Deduplicate: true})
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	discovery, err := flags.ToDiscoveryClient()
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	return &apiReader{
		client: client, kinds: kinds.New(kinds.Discovery(discovery)), session: s,
		warned: map[string]bool{}, looked: map[string]*lookup{},
	}, nil
}

// request is one about a resource. The namespace does not matter where there are none.
func (a *apiReader) request(r *kinds.Resource, namespace, name, accept string) *rest.Request {
	path := "/apis/" + r.Name.Group + "/" + r.Name.Version
	if r.Name.Group == "" {
		path = "/api/" + r.Name.Version
	}
	req := a.client.Get().AbsPath(path).NamespaceIfScoped(namespace, r.Namespaced && namespace != "").
		Resource(r.Name.Resource).SetHeader("Accept", accept)
	if name != "" {
		req = req.Name(name)
	}
	return req
}

// listOptions say which objects are wanted.
type listOptions struct {
	// namespace is empty for all.
	namespace      string
	labels, fields string
	// chunk is how many are asked for at a time, 0 for all.
	chunk int64
}

func (o listOptions) on(req *rest.Request) *rest.Request {
	if o.labels != "" {
		req = req.Param("labelSelector", o.labels)
	}
	if o.fields != "" {
		req = req.Param("fieldSelector", o.fields)
	}
	return req
}

// page is some objects, and what the server prints of each.
type page struct {
	columns []metav1.TableColumnDefinition
	rows    []row
	// next continues the list; empty at its end.
	next string
	// version is where a watch goes on.
	version string
}

type row struct {
	cells  []any
	object *unstructured.Unstructured
}

// get reads one object, which is the only row.
func (a *apiReader) get(ctx context.Context, r *kinds.Resource, namespace, name string) (*page, error) {
	p, err := a.read(ctx, r, "get", namespace, name, func(accept string) *rest.Request {
		return a.request(r, namespace, name, accept).Param("includeObject", string(metav1.IncludeObject))
	})
	if err == nil && len(p.rows) != 1 {
		return nil, fmt.Errorf("%s %s: the answer of the server has %d objects", r.Short(), name, len(p.rows))
	}
	return p, err
}

// list calls fn with the objects, page by page. If a list has got too old to be continued, what was given is void, and
// everything comes again in one page: fn is told so.
func (a *apiReader) list(ctx context.Context, r *kinds.Resource, o listOptions, fn func(p *page, again bool) error) error {
	chunk, next, again := o.chunk, "", false
	for {
		p, err := a.read(ctx, r, "list", o.namespace, "", func(accept string) *rest.Request {
			req := o.on(a.request(r, o.namespace, "", accept)).Param("includeObject", string(metav1.IncludeObject))
			if chunk > 0 {
				req = req.Param("limit", strconv.FormatInt(chunk, 10))
			}
			if next != "" {
				req = req.Param("continue", next)
			}
			return req
		})
		if apierrors.IsResourceExpired(err) && next != "" {
			chunk, next, again = 0, "", true
			continue
		}
		if err != nil {
			return err
		}
		if err := fn(p, again); err != nil {
			return err
		}
		again = false
		if next = p.next; next == "" {
			return nil
		}
	}
}

// read makes a request for a table, or for the objects where a server does not give them with it.
func (a *apiReader) read(ctx context.Context, r *kinds.Resource, verb, namespace, name string, request func(accept string) *rest.Request) (*page, error) {
	for _, accept := range []string{acceptTable, acceptObject} {
		data, err := body(ctx, request(accept))
		if err != nil {
			return nil, a.blame(ctx, err, verb, r, namespace, name)
		}
		p, err := parsePage(data, r)
		if err != nil {
			return nil, fmt.Errorf("%s: the answer of the server: %w", r.Short(), err)
		}
		if p.complete(r) {
			return p, nil
		}
	}
	return nil, fmt.Errorf("%s: the answer of the server has no objects of the kind %s", r.Short(), r.Kind.Kind)
}

// body makes a request, and gives what comes. The error is what the server says in its own words.
func body(ctx context.Context, req *rest.Request) ([]byte, error) {
	res := req.Do(ctx)
	if err := res.Error(); err != nil {
		return nil, err
	}
	return res.Raw()
}

// complete says whether the objects are there rather than only their metadata.
func (p *page) complete(r *kinds.Resource) bool {
	for _, row := range p.rows {
		if row.object.GetKind() != r.Kind.Kind {
			return false
		}
	}
	return true
}

// parsePage reads a table, a list, or one object.
func parsePage(data []byte, r *kinds.Resource) (*page, error) {
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metav1.ListMeta   `json:"metadata"`
		Items           []json.RawMessage `json:"items"`
		Rows            []struct {
			Cells  []any           `json:"cells"`
			Object json.RawMessage `json:"object"`
		} `json:"rows"`
		Columns []metav1.TableColumnDefinition `json:"columnDefinitions"`
	}
	if err := utiljson.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	p := &page{next: head.Metadata.Continue, version: head.Metadata.ResourceVersion}
	add := func(cells []any, object []byte) error {
		o := &unstructured.Unstructured{}
		if len(object) > 0 {
			if err := utiljson.Unmarshal(object, &o.Object); err != nil {
				return err
			}
		}
		if o.Object != nil && o.GetKind() == "" {
			// The items of a list leave out what they are.
			o.SetGroupVersionKind(r.Kind)
		}
		p.rows = append(p.rows, row{cells, o})
		return nil
	}
	switch {
	case head.Kind == "Table" && head.GroupVersionKind().Group == metav1.GroupName:
		p.columns = head.Columns
		for _, row := range head.Rows {
			if err := add(row.Cells, row.Object); err != nil {
				return nil, err
			}
		}
	case head.Kind == r.Kind.Kind:
		return p, add(nil, data)
	default:
		for _, item := range head.Items {
			if err := add(nil, item); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// event is a change of an object.
type event struct {
	typ     watch.EventType
	row     row
	columns []metav1.TableColumnDefinition
}

// errExpired means that a watch cannot go on from where it was.
var errExpired = errors.New("the server does not remember what has changed since")

// follow calls fn with every change after a version, until the server ends the watch; it gives the version then
// reached. Afterwards a new watch goes on.
func (a *apiReader) follow(ctx context.Context, r *kinds.Resource, o listOptions, version string, fn func(event) error) (string, error) {
	stream, err := o.on(a.request(r, o.namespace, "", acceptTable)).
		Param("includeObject", string(metav1.IncludeObject)).Param("watch", "true").
		Param("allowWatchBookmarks", "true").Param("resourceVersion", version).Stream(ctx)
	if err != nil {
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			return version, errExpired
		}
		return version, a.blame(ctx, err, "watch", r, o.namespace, "")
	}
	defer stream.Close()
	for decoder := json.NewDecoder(stream); ; {
		var e struct {
			Type   watch.EventType `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := decoder.Decode(&e); err != nil {
			// The server has ended the watch, or the connection broke; a new watch tells whether that lasts.
			return version, ctx.Err()
		}
		if e.Type == watch.Error {
			var status metav1.Status
			if err := json.Unmarshal(e.Object, &status); err != nil {
				return version, fmt.Errorf("watching %s: %w", r.Short(), err)
			}
			err := apierrors.FromObject(&status)
			if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				return version, errExpired
			}
			return version, fmt.Errorf("watching %s: %w", r.Short(), err)
		}
		p, err := parsePage(e.Object, r)
		if err == nil && !p.complete(r) {
			err = fmt.Errorf("the server tells of another kind than %s", r.Kind.Kind)
		}
		if err != nil {
			return version, fmt.Errorf("watching %s: %w", r.Short(), err)
		}
		for _, row := range p.rows {
			if v := row.object.GetResourceVersion(); v != "" {
				version = v
			}
			if e.Type == watch.Bookmark {
				continue
			}
			if err := fn(event{e.Type, row, p.columns}); err != nil {
				return version, err
			}
		}
	}
}

// missingPermission is a permission that the user does not have.
type missingPermission struct {
	verb, resource, namespace string
	scoped                    bool
	err                       error
}

func (e *missingPermission) permission() string {
	text := fmt.Sprintf("%s %s", e.verb, e.resource)
	switch {
	case e.namespace != "":
		return text + " in namespace " + e.namespace
	case e.scoped:
		return text + " in all namespaces"
	}
	return text + " at cluster scope"
}

func (e *missingPermission) Error() string {
	return fmt.Sprintf("no permission to %s: %v", e.permission(), e.err)
}

func (e *missingPermission) Unwrap() error { return e.err }

// blame says what was asked for when the server, or the way to it, gave an error.
func (a *apiReader) blame(ctx context.Context, err error, verb string, r *kinds.Resource, namespace, name string) error {
	if !r.Namespaced {
		namespace = ""
	}
	in := ""
	if namespace != "" {
		in = " in namespace " + namespace
	}
	switch {
	case ctx.Err() != nil:
		return interrupted(ctx)
	case apierrors.IsForbidden(err):
		return &missingPermission{verb, r.Short(), namespace, r.Namespaced, err}
	case apierrors.IsNotFound(err) && name != "":
		return fmt.Errorf("there is no %s %q%s: %w", r.Short(), name, in, err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the server does not know who asks (%w); look at the user of the kubeconfig's context", err)
	}
	return fmt.Errorf("%s %s%s: %w", verb, strings.TrimSpace(r.Short()+" "+name), in, err)
}

// warnOnce tells of a permission that is missing, if it was not told before.
func (a *apiReader) warnOnce(e *missingPermission, consequence string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.warned[e.permission()] {
		a.warned[e.permission()] = true
		a.session.warn("no permission to %s, %s", e.permission(), consequence)
	}
}

// lookup is one dependency, looked up once.
type lookup struct {
	once sync.Once
	// there is nil if it is not known.
	there   *bool
	problem string
}

// exists says whether the object that a dependency names is there, or any that its selector finds. It is nil if that
// cannot be told, and then, or where it is not there for another reason than that, there is a problem to tell. What has
// been looked up is not looked up again.
func (a *apiReader) exists(ctx context.Context, d *interpreter.DependentObjectReference) (there *bool, problem string) {
	key := fmt.Sprintf("%s|%s|%s|%s|%s", d.APIVersion, d.Kind, d.Namespace, d.Name, metav1.FormatLabelSelector(d.LabelSelector))
	a.mu.Lock()
	l := a.looked[key]
	if l == nil {
		l = &lookup{}
		a.looked[key] = l
	}
	a.mu.Unlock()
	l.once.Do(func() { l.there, l.problem = a.look(ctx, d) })
	return l.there, l.problem
}

// forget has dependencies looked up anew.
func (a *apiReader) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.looked)
}

func (a *apiReader) look(ctx context.Context, d *interpreter.DependentObjectReference) (*bool, string) {
	known := func(b bool) *bool { return &b }
	problems, err := a.kinds.CheckDependencies(ctx, nil, []interpreter.DependentObjectReference{*d})
	if err != nil {
		return nil, err.Error()
	}
	if len(problems) > 0 {
		p := problems[0]
		if p.Certain {
			return known(false), p.Err.Error()
		}
		return nil, p.Err.Error()
	}
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(d.APIVersion)
	o.SetKind(d.Kind)
	r, err := a.kinds.ByKind(ctx, o.GroupVersionKind())
	if err != nil {
		return nil, err.Error()
	}
	verb, req := "get", a.request(r, d.Namespace, d.Name, acceptMetadata)
	if d.Name == "" {
		verb = "list"
		req = req.Param("limit", "1").Param("labelSelector", metav1.FormatLabelSelector(d.LabelSelector))
	}
	data, err := body(ctx, req)
	if apierrors.IsNotFound(err) {
		return known(false), ""
	}
	if err != nil {
		err = a.blame(ctx, err, verb, r, d.Namespace, d.Name)
		if missing := (*missingPermission)(nil); errors.As(err, &missing) {
			a.warnOnce(missing, "so it is not known whether dependencies of this kind are there")
		}
		return nil, err.Error()
	}
	if d.Name != "" {
		return known(true), ""
	}
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err.Error()
	}
	return known(len(list.Items) > 0), ""
}

// customizations reads those on the server. A server that does not know the kind has none.
func (a *apiReader) customizations(ctx context.Context) ([]*v1alpha1.ResourceInterpreterCustomization, error) {
	r, err := a.kinds.ByKind(ctx, v1alpha1.GroupVersion.WithKind("ResourceInterpreterCustomization"))
	var unknown *kinds.NoMatchError
	if errors.As(err, &unknown) && unknown.Undiscovered == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []*v1alpha1.ResourceInterpreterCustomization
	err = a.list(ctx, r, listOptions{chunk: defaultChunk}, func(p *page, again bool) error {
		if again {
			list = nil
		}
		for _, row := range p.rows {
			c := &v1alpha1.ResourceInterpreterCustomization{}
			if err := decode(row.object, c); err != nil {
				return fmt.Errorf("customization %s: %w", row.object.GetName(), err)
			}
			list = append(list, c)
		}
		return nil
	})
	return list, err
}

// decode turns an object into one of a Go type. What the type does not know is left out.
func decode(o *unstructured.Unstructured, to any) error {
	text, err := json.Marshal(o.Object)
	if err != nil {
		return err
	}
	return json.NewDecoder(bytes.NewReader(text)).Decode(to)
}

// definitions reads the CRDs of resources, except for those that are given. Without the permission to do so, answers
// that come from CRDs are missing, which is told; a CRD that cannot be read is told as well.
func (a *apiReader) definitions(ctx context.Context, targets []target, given []*definition.Definition) (*definition.Set, error) {
	crds := &kinds.Resource{
		Kind: apiextensionsv1.SchemeGroupVersion.WithKind(definition.Kind),
		Name: apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"),
	}
	list := slices.Clone(given)
	for _, t := range targets {
		if t.resource.Standard || t.resource.Name.Group == "" || slices.ContainsFunc(list, func(d *definition.Definition) bool {
			return d.GroupKind() == t.resource.Kind.GroupKind()
		}) {
			continue
		}
		p, err := a.get(ctx, crds, "", t.resource.Short())
		var missing *missingPermission
		switch {
		case apierrors.IsNotFound(err):
			continue // Another server than this one has the resource.
		case errors.As(err, &missing):
			a.warnOnce(missing, "so what CRDs say does not count")
			continue
		case err != nil:
			return nil, err
		}
		d, err := definition.FromObject(p.rows[0].object)
		if err != nil {
			a.session.warn("%v; what it says does not count", err)
			continue
		}
		list = append(list, d)
	}
	return definition.NewSet(list...)
}

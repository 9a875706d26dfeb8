package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeinterpret/interpret/interpreter"
)

// gotDocument is what interpret get prints for programs.
type gotDocument struct {
	Items []*gotObject `json:"items"`
}

// gotObject is an object, and what the rules say about it. An answer is null if there is no rule.
type gotObject struct {
	reference
	// Deleted is true in a watch, for an object that is no more.
	Deleted      bool             `json:"deleted,omitempty"`
	Health       *gotHealth       `json:"health"`
	Replicas     *gotReplicas     `json:"replicas"`
	Components   *gotComponents   `json:"components,omitempty"`
	Dependencies *gotDependencies `json:"dependencies"`
}

// gotAnswer says who answered, or failed to.
type gotAnswer struct {
	source
	Error *errorDetail `json:"error,omitempty"`
}

type gotHealth struct {
	gotAnswer
	interpreter.Health
}

type gotReplicas struct {
	gotAnswer
	Replica  int32                            `json:"replica"`
	Requires *interpreter.ReplicaRequirements `json:"requires"`
}

// gotComponents are there where the number of replicas alone is not known.
type gotComponents struct {
	gotAnswer
	Items []interpreter.Component `json:"items"`
}

type gotDependencies struct {
	gotAnswer
	Items []gotDependency `json:"items"`
}

type gotDependency struct {
	APIVersion    string                `json:"apiVersion"`
	Kind          string                `json:"kind"`
	Namespace     string                `json:"namespace,omitempty"`
	Name          string                `json:"name,omitempty"`
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
	// Exists is null if it is not known.
	Exists *bool `json:"exists"`
	// Problem says why it is not known, or why such an object cannot be there at all.
	Problem string `json:"problem,omitempty"`
}

// String names the object as short as it can be told: Secret/pull.
func (d *gotDependency) String() string {
	if d.Name != "" {
		return d.Kind + "/" + d.Name
	}
	return d.Kind + "/" + metav1.FormatLabelSelector(d.LabelSelector)
}

// getter puts the questions about objects.
type getter struct {
	session *session
	server  *apiReader
	rules   *rules
	output  string
	options listOptions
}

// answered is a row of the server's with the answers about its object.
type answered struct {
	*gotObject
	cells []any
	// errs are those of rules.
	errs []error
}

// askAtOnce is how many objects are worked on at a time: most of the time goes into looking up dependencies.
const askAtOnce = 16

// askAll answers about the objects of a page, in their order.
func (g *getter) askAll(ctx context.Context, rows []row) []answered {
	list := make([]answered, len(rows))
	var wg sync.WaitGroup
	slots := make(chan struct{}, askAtOnce)
	for i := range rows {
		slots <- struct{}{}
		wg.Go(func() {
			list[i] = g.ask(ctx, rows[i])
			<-slots
		})
	}
	wg.Wait()
	return list
}

// ask answers about one object.
func (g *getter) ask(ctx context.Context, r row) answered {
	a := answered{cells: r.cells, gotObject: &gotObject{reference: *newReference(r.object)}}
	if g.output == outputName {
		return a
	}
	put := func(op interpreter.Operation, fn func(by gotAnswer, res *interpreter.Result)) bool {
		res, err := g.rules.Interpret(ctx, &interpreter.Request{Operation: op, Object: r.object})
		var asked *interpreter.Error
		switch {
		case interpreter.IsNoRule(err):
			return false
		case errors.As(err, &asked):
			err = locate(answerError(err), g.rules.customizations)
			a.errs = append(a.errs, err)
			doc := &answerDocument{}
			doc.fail(err)
			fn(gotAnswer{source(asked.Source), doc.Error}, &interpreter.Result{Health: interpreter.Health{Status: interpreter.Unknown}})
		default:
			fn(gotAnswer{source: source(res.Source)}, res)
		}
		return true
	}
	put(interpreter.InterpretHealth, func(by gotAnswer, res *interpreter.Result) {
		a.Health = &gotHealth{by, res.Health}
	})
	known := put(interpreter.InterpretReplica, func(by gotAnswer, res *interpreter.Result) {
		a.Replicas = &gotReplicas{by, res.Replicas, res.Requirements}
	})
	if !known {
		put(interpreter.InterpretComponent, func(by gotAnswer, res *interpreter.Result) {
			a.Components = &gotComponents{by, res.Components}
			if res.Components == nil {
				a.Components.Items = []interpreter.Component{}
			}
		})
	}
	put(interpreter.InterpretDependency, func(by gotAnswer, res *interpreter.Result) {
		a.Dependencies = &gotDependencies{by, make([]gotDependency, len(res.Dependencies))}
		for i := range res.Dependencies {
			d := &res.Dependencies[i]
			there, problem := g.server.exists(ctx, d)
			a.Dependencies.Items[i] = gotDependency{d.APIVersion, d.Kind, d.Namespace, d.Name, d.LabelSelector, there, problem}
		}
	})
	return a
}

// show prints the objects of all targets.
func (g *getter) show(ctx context.Context, targets []target) error {
	doc := gotDocument{Items: []*gotObject{}}
	out := newGetTable(g, len(targets) > 1)
	var errs []error
	shown, named := 0, false
	for _, t := range targets {
		list, columns, err := g.collect(ctx, t)
		errs = append(errs, err)
		named = named || len(t.names) > 0
		shown += len(list)
		for _, a := range list {
			errs = append(errs, a.errs...)
			doc.Items = append(doc.Items, a.gotObject)
		}
		switch {
		case g.output == outputName:
			for _, a := range list {
				fmt.Fprintln(g.session.out, objectName(t.resource, a.Name))
			}
		case g.output == outputTable || g.output == outputWide:
			if len(list) > 0 {
				errs = append(errs, out.print(t.resource, columns, list))
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	if g.output == outputJSON || g.output == outputYAML {
		errs = append(errs, g.session.document(g.output, doc))
	}
	err := errors.Join(errs...)
	if shown == 0 && !named && err == nil {
		where := "in namespace " + g.options.namespace
		if g.options.namespace == "" {
			where = "in any namespace"
		}
		if !anyNamespaced(targets) {
			where = "on the server"
		}
		fmt.Fprintf(g.session.stderr, "no such objects %s\n", where)
	}
	return err
}

func anyNamespaced(targets []target) bool {
	for _, t := range targets {
		if t.resource.Namespaced {
			return true
		}
	}
	return false
}

// collect reads the objects of a target, and answers about each. What could be read comes beside an error.
func (g *getter) collect(ctx context.Context, t target) (list []answered, columns []metav1.TableColumnDefinition, err error) {
	if len(t.names) > 0 {
		var errs []error
		for _, name := range t.names {
			p, err := g.server.get(ctx, t.resource, g.options.namespace, name)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			if p.columns != nil {
				columns = p.columns
			}
			list = append(list, g.askAll(ctx, p.rows)...)
		}
		return list, columns, errors.Join(errs...)
	}
	err = g.server.list(ctx, t.resource, g.options, func(p *page, again bool) error {
		if again {
			list = nil
		}
		if p.columns != nil {
			columns = p.columns
		}
		list = append(list, g.askAll(ctx, p.rows)...)
		return nil
	})
	return list, columns, err
}

// watchPause is the pause before a watch that ended is begun anew. API servers end them after minutes; one that
// ends them at once must not be asked all the time.
const watchPause = time.Second

// watch prints the objects of a target, and then every change of them.
func (g *getter) watch(ctx context.Context, t target) error {
	out := newGetTable(g, false)
	options := g.options
	if len(t.names) > 0 {
		// A watch of one object is one of a list with one object.
		options.fields = "metadata.name=" + t.names[0]
	}
	// versions are those that have been shown, by namespace/name.
	versions := map[string]string{}
	var columns []metav1.TableColumnDefinition
	show := func(typ watch.EventType, r row) error {
		key := r.object.GetNamespace() + "/" + r.object.GetName()
		if typ != watch.Deleted && versions[key] == r.object.GetResourceVersion() && versions[key] != "" {
			return nil
		}
		versions[key] = r.object.GetResourceVersion()
		// What was missing may have come since.
		g.server.forget()
		a := g.ask(ctx, r)
		if typ == watch.Deleted {
			delete(versions, key)
			a.Deleted = true
		}
		for _, err := range a.errs {
			g.session.report(err)
		}
		if err := g.change(out, t, columns, a); err != nil {
			return err
		}
		return g.session.out.Flush()
	}
	for {
		version := ""
		there := map[string]bool{}
		var rows []row
		err := g.server.list(ctx, t.resource, options, func(p *page, again bool) error {
			if again {
				rows = nil
			}
			rows, version = append(rows, p.rows...), p.version
			if p.columns != nil {
				columns = p.columns
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, r := range rows {
			there[r.object.GetNamespace()+"/"+r.object.GetName()] = true
			if err := show(watch.Added, r); err != nil {
				return err
			}
		}
		if len(t.names) > 0 && len(rows) == 0 && len(versions) == 0 {
			// Somebody who names an object that is not there is told so, as without --watch.
			if _, err := g.server.get(ctx, t.resource, options.namespace, t.names[0]); err != nil {
				return err
			}
		}
		for key := range versions {
			if !there[key] {
				delete(versions, key) // It went while nobody watched.
			}
		}
		for {
			version, err = g.server.follow(ctx, t.resource, options, version, func(e event) error {
				if e.columns != nil {
					columns = e.columns
				}
				return show(e.typ, e.row)
			})
			if ctx.Err() != nil {
				return nil // It goes on until somebody ends it.
			}
			if errors.Is(err, errExpired) {
				break
			}
			if err != nil {
				return err
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(watchPause):
			}
		}
	}
}

// change prints one object of a watch.
func (g *getter) change(out *getTable, t target, columns []metav1.TableColumnDefinition, a answered) error {
	switch g.output {
	case outputJSON:
		return g.session.document(g.output, a.gotObject)
	case outputYAML:
		fmt.Fprintln(g.session.out, "---")
		return g.session.document(g.output, a.gotObject)
	}
	return out.print(t.resource, columns, []answered{a})
}

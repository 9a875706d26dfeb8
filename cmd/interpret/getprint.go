package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kubeinterpret/interpret/interpreter/kinds"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// getTable prints tables, one for each resource. Rows that come later are aligned with those before.
type getTable struct {
	getter *getter
	// prefixed says that there are several resources, so that names are printed with theirs.
	prefixed bool
	// of is the resource of the table that has been begun.
	of      *kinds.Resource
	writer  printersWriter
	columns []metav1.TableColumnDefinition
}

type printersWriter interface {
	Write([]byte) (int, error)
	Flush() error
}

func newGetTable(g *getter, prefixed bool) *getTable { return &getTable{getter: g, prefixed: prefixed} }

// objectName names an object as kubectl does with -o name.
func objectName(r *kinds.Resource, name string) string {
	if r.Name.Group == "" {
		return r.Singular + "/" + name
	}
	return r.Singular + "." + r.Name.Group + "/" + name
}

// print adds rows to the table of a resource, which it begins if need be.
func (t *getTable) print(r *kinds.Resource, columns []metav1.TableColumnDefinition, list []answered) error {
	if t.of != r {
		if t.of != nil {
			fmt.Fprintln(t.getter.session.out)
		}
		t.of, t.columns = r, columns
		t.writer = printers.GetNewTabWriter(t.getter.session.out)
		fmt.Fprintln(t.writer, strings.Join(t.header(r), "\t"))
	}
	for _, a := range list {
		fmt.Fprintln(t.writer, strings.Join(t.row(r, a), "\t"))
	}
	return t.writer.Flush()
}

func (t *getTable) wide() bool { return t.getter.output == outputWide }

// withNamespace says whether rows have to say in which namespace they are.
func (t *getTable) withNamespace(r *kinds.Resource) bool {
	return r.Namespaced && t.getter.options.namespace == ""
}

// printed are the server's columns that are shown: not the name, which comes first anyway.
func (t *getTable) printed() []int {
	var list []int
	for i, c := range t.columns {
		if t.wide() && c.Format != "name" && !strings.EqualFold(c.Name, "name") {
			list = append(list, i)
		}
	}
	return list
}

func (t *getTable) header(r *kinds.Resource) []string {
	var names []string
	if t.withNamespace(r) {
		names = append(names, "NAMESPACE")
	}
	names = append(names, "NAME", "HEALTH", "REASON", "REPLICAS", "NEEDS", "DEPENDENCIES", "BY")
	if t.wide() {
		names = append(names, "NODES")
		for _, i := range t.printed() {
			names = append(names, strings.ToUpper(t.columns[i].Name))
		}
		names = append(names, "MESSAGE")
	}
	return names
}

func (t *getTable) row(r *kinds.Resource, a answered) []string {
	name := a.Name
	if t.prefixed {
		name = objectName(r, name)
	}
	health, reason, message := healthCells(a.gotObject)
	replicas, needs, nodes := replicaCells(a.gotObject)
	var cells []string
	if t.withNamespace(r) {
		cells = append(cells, a.Namespace)
	}
	cells = append(cells, name, health, reason, replicas, needs, dependencyCell(a.Dependencies), a.by(t.wide()))
	if t.wide() {
		cells = append(cells, nodes)
		for _, i := range t.printed() {
			cell := ""
			if i < len(a.cells) && a.cells[i] != nil {
				cell = fmt.Sprint(a.cells[i])
			}
			cells = append(cells, cell)
		}
		cells = append(cells, message)
	}
	for i, cell := range cells {
		cells[i] = orNobody(oneLine(cell))
	}
	return cells
}

// maxCell is how much of a text a table shows. All of it is in the other formats.
const maxCell = 120

// oneLine keeps what objects and rules say from breaking a table, or a terminal.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if runes := []rune(text); len(runes) > maxCell {
		return string(runes[:maxCell-3]) + "..."
	}
	return text
}

// failedCell stands for an answer that a rule failed to give. The error is on standard error.
const failedCell = "error"

func healthCells(o *gotObject) (health, reason, message string) {
	switch h := o.Health; {
	case o.Deleted:
		return "Deleted", "", ""
	case h == nil:
		return "", "", ""
	case h.Error != nil:
		return failedCell, h.Error.Cause, h.Error.Message
	default:
		reason := h.Reason
		if reason == "" {
			reason = h.Message
		}
		return string(h.Status), reason, h.Message
	}
}

// replicaCells tell how many there are, and what each needs of resources and nodes: of the replicas, or of components.
func replicaCells(o *gotObject) (replicas, needs, nodes string) {
	switch r := o.Replicas; {
	case r != nil && r.Error != nil:
		return failedCell, "", ""
	case r != nil && r.Requires != nil:
		return fmt.Sprint(r.Replica), quantities(r.Requires.ResourceRequest), nodesText(r.Requires.NodeClaim)
	case r != nil:
		return fmt.Sprint(r.Replica), "", ""
	}
	c := o.Components
	if c == nil {
		return "", "", ""
	}
	if c.Error != nil {
		return failedCell, "", ""
	}
	var counts, requests, claims []string
	for _, part := range c.Items {
		counts = append(counts, fmt.Sprintf("%s:%d", part.Name, part.Replicas))
		if part.ReplicaRequirements == nil {
			continue
		}
		if text := quantities(part.ReplicaRequirements.ResourceRequest); text != "" {
			requests = append(requests, part.Name+":"+text)
		}
		if text := nodesText(part.ReplicaRequirements.NodeClaim); text != "" {
			claims = append(claims, part.Name+":"+text)
		}
	}
	if len(counts) == 0 {
		counts = []string{"0"}
	}
	return strings.Join(counts, " "), strings.Join(requests, " "), strings.Join(claims, " ")
}

func quantities(list corev1.ResourceList) string {
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		q := list[name]
		texts = append(texts, fmt.Sprintf("%s=%s", name, q.String()))
	}
	return strings.Join(texts, ",")
}

func nodesText(claim *v1alpha1.NodeClaim) string {
	if claim == nil {
		return ""
	}
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(claim.NodeSelector)) {
		texts = append(texts, key+"="+claim.NodeSelector[key])
	}
	if claim.HardNodeAffinity != nil {
		texts = append(texts, "affinity")
	}
	if n := len(claim.Tolerations); n > 0 {
		texts = append(texts, fmt.Sprintf("tolerations:%d", n))
	}
	return strings.Join(texts, ",")
}

// dependencyCell tells how many are there of how many, and the names of the others.
func dependencyCell(d *gotDependencies) string {
	if d == nil {
		return ""
	}
	if d.Error != nil {
		return failedCell
	}
	there := 0
	var missing, unknown []string
	for i := range d.Items {
		switch item := &d.Items[i]; {
		case item.Exists == nil:
			unknown = append(unknown, item.String())
		case *item.Exists:
			there++
		default:
			missing = append(missing, item.String())
		}
	}
	text := fmt.Sprintf("%d/%d", there, len(d.Items))
	if len(missing) > 0 {
		text += " missing " + strings.Join(missing, ",")
	}
	if len(unknown) > 0 {
		text += " unknown " + strings.Join(unknown, ",")
	}
	return text
}

// by names the layers, or the rules as well, that told health, replicas and dependencies: once if it is the same one.
func (o *gotObject) by(rules bool) string {
	var sources []source
	for _, answer := range []*gotAnswer{o.Health.answer(), o.replicasBy(), o.Dependencies.answer()} {
		if answer == nil {
			sources = append(sources, source{})
			continue
		}
		sources = append(sources, answer.source)
	}
	texts := make([]string, len(sources))
	for i, s := range sources {
		if texts[i] = s.Layer; rules {
			texts[i] = s.String()
		}
		texts[i] = orNobody(texts[i])
	}
	if slices.Equal(texts[1:], texts[:len(texts)-1]) {
		return texts[0]
	}
	return strings.Join(texts, " / ")
}

func (h *gotHealth) answer() *gotAnswer {
	if h == nil {
		return nil
	}
	return &h.gotAnswer
}

func (d *gotDependencies) answer() *gotAnswer {
	if d == nil {
		return nil
	}
	return &d.gotAnswer
}

func (o *gotObject) replicasBy() *gotAnswer {
	switch {
	case o.Replicas != nil:
		return &o.Replicas.gotAnswer
	case o.Components != nil:
		return &o.Components.gotAnswer
	}
	return nil
}

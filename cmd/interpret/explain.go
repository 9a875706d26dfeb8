package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/kubeinterpret/interpret/interpreter"
)

// source is a rule as it is shown.
type source struct {
	Layer string `json:"layer"`
	Rule  string `json:"rule"`
}

func (s source) String() string { return interpreter.Source(s).String() }

func sources(list []interpreter.Source) []source {
	shown := make([]source, len(list))
	for i, s := range list {
		shown[i] = source(s)
	}
	return shown
}

// joined names several rules in one cell of a table.
func joined(list []source) string {
	var texts []string
	for _, s := range list {
		texts = append(texts, s.String())
	}
	return strings.Join(texts, ", ")
}

// passedOver names the rules that did not get to answer, for the end of a line.
func passedOver(list []source) string {
	if len(list) == 0 {
		return ""
	}
	return "; passed over: " + joined(list)
}

// explainDocument says who would answer about an object.
type explainDocument struct {
	Object     *reference    `json:"object"`
	Operations []explanation `json:"operations"`
}

// explanation says who would answer one operation. Several answer where their lists are joined, nobody where
// the list is empty.
type explanation struct {
	Operation  interpreter.Operation `json:"operation"`
	Answers    []source              `json:"answers"`
	PassedOver []source              `json:"passedOver"`
}

// explainAll says for every operation who would answer about the object. Nothing is run: only the object's kind
// and labels count.
func (o *options) explainAll(ctx context.Context, s *session) error {
	flag, name := desiredFlag, o.inputs.desired
	switch {
	case name == "" && o.inputs.observed == "":
		return usage("--explain needs %s or %s", desiredFlag, observedFlag)
	case name != "" && o.inputs.observed != "":
		return usage("--explain is about one object; give %s or %s, not both, or name an --operation", desiredFlag, observedFlag)
	case name == "":
		flag, name = observedFlag, o.inputs.observed
	}
	if err := o.claimStdin(s); err != nil {
		return err
	}
	obj, err := s.object(ctx, flag, name)
	if err != nil {
		return err
	}
	rules, err := o.load(ctx, s)
	if err != nil {
		return err
	}
	defer rules.close()
	list, err := rules.Explain(&interpreter.Request{Object: obj})
	if err != nil {
		return err
	}
	doc := explainDocument{Object: newReference(obj)}
	for _, e := range list {
		doc.Operations = append(doc.Operations, explanation{e.Operation, sources(e.Answers), sources(e.PassedOver)})
	}
	if o.output != "" {
		return s.document(o.output, doc)
	}
	fmt.Fprintf(s.out, "# %s\n", describe(obj))
	table := newTable(s)
	fmt.Fprintln(table, "OPERATION\tANSWERED BY\tPASSED OVER")
	for _, e := range doc.Operations {
		fmt.Fprintf(table, "%s\t%s\t%s\n", e.Operation, orNobody(joined(e.Answers)), orNobody(joined(e.PassedOver)))
	}
	return table.Flush()
}

// newTable aligns columns three spaces apart, as kubectl does.
func newTable(s *session) *tabwriter.Writer { return tabwriter.NewWriter(s.out, 0, 0, 3, ' ', 0) }

// orNobody keeps an empty cell visible, also to programs that cut lines at blanks.
func orNobody(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

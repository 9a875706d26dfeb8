package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/webhook/conformance"
)

// maxBody is how many bytes of a body are printed. The bodies that prove that a hook cuts them off are larger.
const maxBody = 16 << 10

// checksDocument lists the checks, for programs.
type checksDocument struct {
	Checks []conformance.Check `json:"checks"`
}

// listChecks prints what there is to be verified.
func listChecks(s *session, output string) error {
	switch output {
	case outputJUnit:
		return usage("--list is printed as text, json or yaml")
	case "":
	default:
		return s.document(output, checksDocument{conformance.Checks()})
	}
	table := newTable(s)
	fmt.Fprintln(table, "CHECK\tSEVERITY\tSECTION\tRULE")
	for _, c := range conformance.Checks() {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", c.ID, c.Severity, c.Section, c.Rule)
	}
	return table.Flush()
}

// hookReport is what interpret hook verify found.
type hookReport struct {
	Passed  int          `json:"passed"`
	Failed  int          `json:"failed"`
	Warned  int          `json:"warned"`
	Skipped int          `json:"skipped"`
	Hooks   []hookResult `json:"hooks"`
}

// hookResult is one hook and what became of the checks.
type hookResult struct {
	// Hook is the configuration and the webhook, empty without a configuration.
	Hook   string        `json:"hook,omitempty"`
	URL    string        `json:"url"`
	Checks []checkResult `json:"checks"`
}

// checkResult is one check of a hook.
type checkResult struct {
	conformance.Check
	Verdict  conformance.Verdict `json:"verdict"`
	Reason   string              `json:"reason,omitempty"`
	Problems []hookProblem       `json:"problems,omitempty"`
}

// hookProblem is one place where a hook breaks a rule.
type hookProblem struct {
	Operation interpreter.Operation `json:"operation,omitempty"`
	Object    string                `json:"object,omitempty"`
	Expected  string                `json:"expected"`
	Got       string                `json:"got"`
	Exchange  *exchange             `json:"exchange,omitempty"`
}

// exchange is what was sent and what came back. Long bodies are cut.
type exchange struct {
	Method   string      `json:"method"`
	URL      string      `json:"url"`
	Header   http.Header `json:"header"`
	Body     string      `json:"body"`
	Status   int         `json:"status,omitempty"`
	Returned http.Header `json:"responseHeader,omitempty"`
	Answer   string      `json:"responseBody,omitempty"`
	Error    string      `json:"error,omitempty"`
}

// newExchange is nil for nil.
func newExchange(x *conformance.Exchange) *exchange {
	if x == nil {
		return nil
	}
	e := &exchange{
		Method: x.Method, URL: x.URL, Header: x.RequestHeader, Body: cut(x.RequestBody),
		Status: x.Status, Returned: x.ResponseHeader, Answer: cut(x.ResponseBody),
	}
	if x.Err != nil {
		e.Error = x.Err.Error()
	}
	return e
}

// cut shortens a long body.
func cut(body string) string {
	if len(body) <= maxBody {
		return body
	}
	return fmt.Sprintf("%s... and %d bytes more", body[:maxBody], len(body)-maxBody)
}

// add takes what was found of one hook. Exchanges are kept if they are asked for.
func (r *hookReport) add(v *verified, found *conformance.Report, exchanges bool) {
	h := hookResult{Hook: v.name, URL: v.hook.URL}
	for i := range found.Results {
		f := &found.Results[i]
		c := checkResult{Check: f.Check, Verdict: f.Verdict, Reason: f.Reason}
		for _, p := range f.Problems {
			problem := hookProblem{Operation: p.Operation, Object: p.Object, Expected: p.Expected, Got: p.Got}
			if exchanges {
				problem.Exchange = newExchange(p.Exchange)
			}
			c.Problems = append(c.Problems, problem)
		}
		h.Checks = append(h.Checks, c)
	}
	r.Passed += found.Count(conformance.Pass)
	r.Failed += found.Count(conformance.Fail)
	r.Warned += found.Count(conformance.Warn)
	r.Skipped += found.Count(conformance.Skipped)
	r.Hooks = append(r.Hooks, h)
}

// print writes the report in a format, or for people.
func (r *hookReport) print(s *session, output string, verbose bool) error {
	switch output {
	case outputJSON, outputYAML:
		return s.document(output, r)
	case outputJUnit:
		return r.junit(s)
	}
	for _, h := range r.Hooks {
		if h.Hook != "" {
			fmt.Fprintf(s.out, "# %s at %s\n", h.Hook, h.URL)
		} else {
			fmt.Fprintf(s.out, "# %s\n", h.URL)
		}
		for i := range h.Checks {
			h.Checks[i].print(s, verbose)
		}
	}
	fmt.Fprintf(s.out, "%d passed, %d failed, %d with warnings, %d skipped\n", r.Passed, r.Failed, r.Warned, r.Skipped)
	return nil
}

// loud are the verdicts as people see them: what is wrong stands out.
var loud = map[conformance.Verdict]string{conformance.Fail: "FAIL"}

// print writes a line, and below it what is wrong.
func (c *checkResult) print(s *session, verbose bool) {
	verdict := string(c.Verdict)
	if text := loud[c.Verdict]; text != "" {
		verdict = text
	}
	text := c.Rule
	switch c.Verdict {
	case conformance.Skipped:
		text = c.Reason
	case conformance.Fail, conformance.Warn:
		text = fmt.Sprintf("%s (%s, %s)", c.Rule, c.Severity, c.Section)
	}
	fmt.Fprintf(s.out, "%-8s %-23s %s\n", verdict, c.ID, text)
	const indent = "         "
	for _, p := range c.Problems {
		fmt.Fprintf(s.out, "%s- %s\n", indent, strings.ReplaceAll(p.details(), "\n", "\n"+indent+"  "))
		if verbose && p.Exchange != nil {
			fmt.Fprintf(s.out, "%s  %s\n", indent, strings.ReplaceAll(p.Exchange.text(), "\n", "\n"+indent+"  "))
		}
	}
}

// details are a problem in a few lines.
func (p *hookProblem) details() string {
	var lines []string
	if p.Operation != "" {
		lines = append(lines, fmt.Sprintf("%s of %s", p.Operation, p.Object))
	}
	return strings.Join(append(lines, "expected: "+p.Expected, "got:      "+p.Got), "\n")
}

// text is an exchange as tools show it that people debug HTTP with.
func (e *exchange) text() string {
	lines := []string{fmt.Sprintf("> %s %s", e.Method, e.URL)}
	lines = append(lines, headerLines("> ", e.Header)...)
	lines = append(lines, "> "+e.Body)
	if e.Status != 0 {
		lines = append(lines, fmt.Sprintf("< %d %s", e.Status, http.StatusText(e.Status)))
		lines = append(lines, headerLines("< ", e.Returned)...)
		lines = append(lines, "< "+strings.TrimSuffix(e.Answer, "\n"))
	}
	if e.Error != "" {
		lines = append(lines, "< "+e.Error)
	}
	return strings.Join(lines, "\n")
}

func headerLines(before string, h http.Header) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			lines = append(lines, fmt.Sprintf("%s%s: %s", before, name, value))
		}
	}
	return lines
}

// junit writes the report as JUnit XML: a suite for each hook. A warning is no failure.
func (r *hookReport) junit(s *session) error {
	var all junitSuites
	for _, h := range r.Hooks {
		suite := junitSuite{Name: strings.TrimPrefix(h.Hook+" "+h.URL, " "), Time: seconds(0)}
		for i := range h.Checks {
			c := &h.Checks[i]
			tested := junitCase{ClassName: c.Section, Name: c.ID, Time: seconds(0)}
			var details []string
			for _, p := range c.Problems {
				details = append(details, p.details())
			}
			switch c.Verdict {
			case conformance.Fail:
				suite.Failures++
				tested.Failure = &junitFailure{Message: c.Rule, Text: strings.Join(details, "\n\n")}
			case conformance.Warn:
				tested.Output = "warning: " + c.Rule + "\n" + strings.Join(details, "\n\n")
			case conformance.Skipped:
				suite.Skipped++
				tested.Skipped = &junitSkipped{Message: c.Reason}
			}
			suite.Tests++
			suite.Cases = append(suite.Cases, tested)
		}
		all.Tests += suite.Tests
		all.Failures += suite.Failures
		all.Suites = append(all.Suites, suite)
	}
	return all.write(s)
}

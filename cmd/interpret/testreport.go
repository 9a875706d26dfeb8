package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"strings"

	"github.com/kubeinterpret/interpret/interpreter"
)

// outputJUnit is the format in which CI systems read test results.
const outputJUnit = "junit"

// testReport is what interpret test found.
type testReport struct {
	Passed int          `json:"passed"`
	Failed int          `json:"failed"`
	Cases  []caseReport `json:"cases"`
}

// caseReport is one case and what became of it.
type caseReport struct {
	File      string                `json:"file"`
	Line      int                   `json:"line"`
	Name      string                `json:"name"`
	Operation interpreter.Operation `json:"operation"`
	Passed    bool                  `json:"passed"`
	// Problem says why the case failed, with the line of the script if one is to blame.
	Problem string `json:"problem,omitempty"`
	// Diff turns the expected answer (-) into the one that came (+).
	Diff string `json:"diff,omitempty"`

	seconds float64
}

// newTestReport gathers the outcomes, in the order of the files and their cases.
func newTestReport(s *session, suites []*suite) *testReport {
	r := &testReport{}
	for _, t := range suites {
		for i, c := range t.cases {
			o := t.outcomes[i]
			report := caseReport{
				File: c.File, Line: c.Line, Name: c.Name, Operation: c.Operation,
				Passed: o.Passed, Problem: o.Problem, Diff: o.Diff, seconds: o.Duration.Seconds(),
			}
			if o.Passed {
				r.Passed++
			} else {
				r.Failed++
				report.Problem = t.problem(s, o.Problem, o.Err)
			}
			r.Cases = append(r.Cases, report)
		}
	}
	return r
}

// problem is an outcome's problem, in which the place in a file stands for the place in a script, with the
// line that stands there.
func (t *suite) problem(s *session, text string, err error) string {
	if err == nil {
		return text
	}
	if t.broken != nil {
		var parts []string
		for _, e := range each(err) {
			parts = append(parts, message(e)+"\n"+s.excerptOf(e))
		}
		return text + ": " + strings.TrimSuffix(strings.Join(parts, ""), "\n")
	}
	at := locate(err, t.rules.customizations)
	var placed *located
	if !errors.As(at, &placed) || !strings.Contains(text, err.Error()) {
		return text
	}
	text = strings.Replace(text, err.Error(), at.Error(), 1)
	return strings.TrimSuffix(text+"\n"+s.excerptOf(at), "\n")
}

// excerptOf shows the line that an error is about, empty if it is about none.
func (s *session) excerptOf(err error) string {
	place := placeOf(err)
	return s.excerpt(place.File, place.Line, place.Column, "  ")
}

// title is where the case is and what it is called, in the form that editors jump to.
func (c *caseReport) title() string { return fmt.Sprintf("%s:%d: %s", c.File, c.Line, c.Name) }

// details are the problem and the difference.
func (c *caseReport) details() string {
	return strings.TrimSuffix(c.Problem+"\n"+c.Diff, "\n")
}

// print writes the report for people: each failure, and the numbers.
func (r *testReport) print(s *session, verbose bool) {
	for i := range r.Cases {
		switch c := &r.Cases[i]; {
		case !c.Passed:
			details := "    " + strings.ReplaceAll(c.details(), "\n", "\n    ")
			fmt.Fprintf(s.out, "FAIL %s\n%s\n", c.title(), details)
		case verbose:
			fmt.Fprintf(s.out, "PASS %s\n", c.title())
		}
	}
	fmt.Fprintf(s.out, "%d passed, %d failed\n", r.Passed, r.Failed)
}

// The JUnit format has no standard; these are the elements and attributes that GitLab, Jenkins and GitHub's
// reporters agree on.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr,omitempty"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
	seconds  float64
}

type junitCase struct {
	ClassName string        `xml:"classname,attr"`
	Name      string        `xml:"name,attr"`
	File      string        `xml:"file,attr,omitempty"`
	Line      int           `xml:"line,attr,omitempty"`
	Time      string        `xml:"time,attr"`
	Failure   *junitFailure `xml:"failure"`
	Skipped   *junitSkipped `xml:"skipped"`
	Output    string        `xml:"system-out,omitempty"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// junit writes the report as JUnit XML: a suite for each file.
func (r *testReport) junit(s *session) error {
	all := junitSuites{Tests: len(r.Cases), Failures: r.Failed}
	for i := range r.Cases {
		c := &r.Cases[i]
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != c.File {
			all.Suites = append(all.Suites, junitSuite{Name: c.File})
		}
		suite := &all.Suites[len(all.Suites)-1]
		tested := junitCase{ClassName: string(c.Operation), Name: c.Name, File: c.File, Line: c.Line, Time: seconds(c.seconds)}
		if !c.Passed {
			suite.Failures++
			first, _, _ := strings.Cut(c.Problem, "\n")
			tested.Failure = &junitFailure{Message: first, Text: c.details()}
		}
		suite.Tests++
		suite.seconds += c.seconds
		suite.Time = seconds(suite.seconds)
		suite.Cases = append(suite.Cases, tested)
	}
	return all.write(s)
}

func (j *junitSuites) write(s *session) error {
	fmt.Fprint(s.out, xml.Header)
	e := xml.NewEncoder(s.out)
	e.Indent("", "  ")
	if err := e.Encode(j); err != nil {
		return err
	}
	_, err := s.out.WriteString("\n")
	return err
}

// seconds writes a duration as JUnit has it, to the millisecond.
func seconds(n float64) string { return fmt.Sprintf("%.3f", n) }

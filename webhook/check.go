package webhook

import (
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/manifest"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// Problem is a mistake in a webhook configuration, or what is most likely one.
type Problem struct {
	// Configuration is the one it is about.
	Configuration *Configuration
	// Webhook is the index of the webhook it is about, -1 if it is about none.
	Webhook int
	// Field is the path of the field it is about.
	Field string
	// File is where it stands, if the configuration was read from one. Line and Column count from 1; 0 is unknown.
	File         string
	Line, Column int
	// Fatal says that because of it a layer does not take the configuration, and Karmada's admission would not;
	// Cause is why, then.
	Fatal bool
	Cause field.ErrorType
	// Warning says that all works as it is written, which may not be as it is meant.
	Warning bool
	Message string
}

func (p *Problem) String() string {
	text := fmt.Sprintf("webhook configuration %q: %s: %s", p.Configuration.Name, p.Field, p.Message)
	if p.File == "" {
		return text
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, text)
}

// Check finds what would go wrong with configurations that are used together, before it does: what Validate says,
// names that several have, fields that the API does not have, hooks that are never asked or never trusted, and,
// as warnings, hooks that keep others from being asked and authorities that have expired. The problems come in the
// order of the configurations, and of each in that of its file.
func Check(list []*Configuration) []Problem {
	byName := map[string]*Configuration{}
	var problems []Problem
	var hooks []checkedHook
	for _, c := range list {
		for i := range c.Webhooks {
			hooks = append(hooks, checkedHook{c, i, c.Name + "/" + c.Webhooks[i].Name})
		}
	}
	for _, c := range list {
		found := c.check()
		if first := byName[c.Name]; first != nil && c.Name != "" {
			found = append(found, c.problem("metadata.name", "there is another configuration of this name%s", first.see("metadata.name")).fatal(field.ErrorTypeDuplicate))
		} else {
			byName[c.Name] = c
		}
		for _, h := range hooks {
			if h.configuration == c {
				found = append(found, h.overlaps(hooks)...)
			}
		}
		slices.SortStableFunc(found, func(a, b Problem) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		problems = append(problems, found...)
	}
	return problems
}

// check looks at a configuration by itself.
func (c *Configuration) check() []Problem {
	var problems []Problem
	if c.Name == "" {
		problems = append(problems, c.problem("metadata.name", "is required").fatal(field.ErrorTypeRequired))
	}
	for _, m := range c.unknown {
		problems = append(problems, c.problem(m.path.String(), "%s", m.message))
	}
	for _, e := range Validate(c.ResourceInterpreterWebhookConfiguration) {
		problems = append(problems, c.problem(e.Field, "%s", e.ErrorBody()).fatal(e.Type))
	}
	for _, key := range slices.Sorted(maps.Keys(c.Annotations)) {
		if strings.HasPrefix(key, annotationPrefix) && key != FailurePolicyAnnotation {
			path := field.NewPath("metadata", "annotations").Key(key).String()
			problems = append(problems, c.problem(path, "unknown annotation, did you mean %s?", FailurePolicyAnnotation))
		}
	}
	if len(c.Webhooks) == 0 {
		problems = append(problems, c.problem("webhooks", "there are none"))
	}
	for i := range c.Webhooks {
		path := field.NewPath("webhooks").Index(i)
		if len(c.Webhooks[i].Rules) == 0 {
			problems = append(problems, c.problem(path.Child("rules").String(), "there are none, so the hook is never asked"))
		}
		mistakes, warnings := checkBundle(c.Webhooks[i].ClientConfig.CABundle, time.Now())
		bundle := path.Child("clientConfig", "caBundle").String()
		for _, text := range mistakes {
			problems = append(problems, c.problem(bundle, "%s", text))
		}
		for _, text := range warnings {
			problems = append(problems, c.problem(bundle, "%s", text).warning())
		}
	}
	return problems
}

// problem makes a problem with the field of a path.
func (c *Configuration) problem(path, format string, args ...any) Problem {
	p := Problem{Configuration: c, Webhook: -1, Field: path, Message: fmt.Sprintf(format, args...)}
	p.File, p.Line, p.Column = c.Place(path)
	if steps := manifest.Steps(path); len(steps) > 1 && steps[0] == "webhooks" {
		if i, err := strconv.Atoi(steps[1]); err == nil {
			p.Webhook = i
		}
	}
	return p
}

func (p Problem) fatal(cause field.ErrorType) Problem {
	p.Fatal, p.Cause = true, cause
	return p
}

func (p Problem) warning() Problem {
	p.Warning = true
	return p
}

// see points at a field, for the end of a message about another.
func (c *Configuration) see(path string) string {
	file, line, column := c.Place(path)
	if file == "" {
		return ""
	}
	return fmt.Sprintf(" (see %s:%d:%d)", file, line, column)
}

// checkBundle looks for what keeps a hook from being trusted. An empty bundle stands for the system's roots.
func checkBundle(bundle []byte, now time.Time) (mistakes, warnings []string) {
	if len(bundle) == 0 {
		return nil, nil
	}
	certificates := 0
	rest := bundle
	for {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			mistakes = append(mistakes, fmt.Sprintf("it holds a %s, and should hold certificates alone", block.Type))
			continue
		}
		certificates++
		certificate, err := x509.ParseCertificate(block.Bytes)
		switch {
		case err != nil:
			mistakes = append(mistakes, fmt.Sprintf("certificate %d: %v", certificates, err))
		case now.After(certificate.NotAfter):
			warnings = append(warnings, fmt.Sprintf("the certificate of %s expired at %s", certificate.Subject, certificate.NotAfter.Format(time.RFC3339)))
		case now.Before(certificate.NotBefore):
			warnings = append(warnings, fmt.Sprintf("the certificate of %s is not valid before %s", certificate.Subject, certificate.NotBefore.Format(time.RFC3339)))
		}
	}
	if certificates == 0 && len(mistakes) == 0 {
		mistakes = append(mistakes, "it holds no certificate in PEM, so no connection will be trusted")
	} else if strings.Contains(string(rest), "-----BEGIN ") {
		mistakes = append(mistakes, "its last block of PEM is not complete")
	}
	return mistakes, warnings
}

// checkedHook is a hook among all those that are checked together.
type checkedHook struct {
	configuration *Configuration
	index         int
	identity      string
}

func (h *checkedHook) rules() []v1alpha1.RuleWithOperations {
	return h.configuration.Webhooks[h.index].Rules
}

func (h *checkedHook) path(rule int) string {
	return field.NewPath("webhooks").Index(h.index).Child("rules").Index(rule).String()
}

// overlaps warns of the rules of a hook to which a question never leads, since it leads to a hook that comes
// before it; of several such hooks the first is named.
func (h *checkedHook) overlaps(all []checkedHook) []Problem {
	var problems []Problem
	rules := h.rules()
	for i := range rules {
		var first *checkedHook
		at, what := 0, ""
		for o := range all {
			other := &all[o]
			if other.identity >= h.identity || first != nil && other.identity >= first.identity {
				continue
			}
			others := other.rules()
			for j := range others {
				if text := common(&rules[i], &others[j]); text != "" {
					first, at, what = other, j, text
					break
				}
			}
		}
		if first != nil {
			problems = append(problems, h.configuration.problem(h.path(i), "%s: the hooks %s and %s both match; %s is asked, being first by name%s",
				what, first.identity, h.identity, first.identity, first.configuration.see(first.path(at))).warning())
		}
	}
	return problems
}

// common names what two rules both match: the first operation and kind, and whether there are others. It is empty
// if there is nothing.
func common(a, b *v1alpha1.RuleWithOperations) string {
	operations := intersection(a.Operations, b.Operations)
	groups := intersection(a.APIGroups, b.APIGroups)
	versions := intersection(a.APIVersions, b.APIVersions)
	kinds := intersection(a.Kinds, b.Kinds)
	count := len(operations) * len(groups) * len(versions) * len(kinds)
	if count == 0 {
		return ""
	}
	operation := string(operations[0])
	if operations[0] == interpreter.Operation(wildcard) {
		operation = "every operation"
	}
	text := fmt.Sprintf("%s of %s %s", operation, strings.TrimPrefix(groups[0]+"/"+versions[0], "/"), kinds[0])
	if count > 1 {
		text += fmt.Sprintf(" and %d more", count-1)
	}
	return text
}

// intersection is what two lists of a rule have in common, where "*" has everything.
func intersection[T ~string](a, b []T) []T {
	if slices.Contains(a, wildcard) {
		return b
	}
	if slices.Contains(b, wildcard) {
		return a
	}
	var list []T
	for _, v := range a {
		if slices.Contains(b, v) {
			list = append(list, v)
		}
	}
	return list
}

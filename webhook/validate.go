package webhook

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

const (
	wildcard = "*"
	// The port of a service reference that names none.
	defaultPort = 443
	// The bounds that the API documents for timeoutSeconds.
	minTimeoutSeconds, maxTimeoutSeconds = 1, 30
)

// Validate says everything that is wrong with a configuration, each mistake with the path of its field. The
// rules are those of Karmada's admission, which also refuses Prune by name, and that of
// FailurePolicyAnnotation. Nil means that nothing is wrong.
func Validate(c *v1alpha1.ResourceInterpreterWebhookConfiguration) field.ErrorList {
	var errs field.ErrorList
	if _, err := parsePolicies(c); err != nil {
		path := field.NewPath("metadata", "annotations").Key(FailurePolicyAnnotation)
		errs = append(errs, field.Invalid(path, c.Annotations[FailurePolicyAnnotation], err.Error()))
	}
	names := sets.New[string]()
	for i := range c.Webhooks {
		path := field.NewPath("webhooks").Index(i)
		w := &c.Webhooks[i]
		errs = append(errs, validation.IsFullyQualifiedDomainName(path.Child("name"), w.Name)...)
		if names.Has(w.Name) {
			errs = append(errs, field.Duplicate(path.Child("name"), w.Name))
		}
		names.Insert(w.Name)
		for j := range w.Rules {
			errs = append(errs, validateRule(&w.Rules[j], path.Child("rules").Index(j))...)
		}
		if s := w.TimeoutSeconds; s != nil && (*s < minTimeoutSeconds || *s > maxTimeoutSeconds) {
			errs = append(errs, field.Invalid(path.Child("timeoutSeconds"), *s,
				fmt.Sprintf("must be from %d to %d", minTimeoutSeconds, maxTimeoutSeconds)))
		}
		errs = append(errs, validateClient(&w.ClientConfig, path.Child("clientConfig"))...)
		errs = append(errs, validateVersions(w.InterpreterContextVersions, path.Child("interpreterContextVersions"))...)
	}
	return errs
}

// ruleOperations are what a rule may name. Prune is not among them: Karmada's API server would refuse it.
func ruleOperations() []interpreter.Operation {
	operations := append([]interpreter.Operation{v1alpha1.InterpreterOperationAll}, interpreter.Operations()...)
	operations = slices.DeleteFunc(operations, func(o interpreter.Operation) bool { return o == interpreter.Prune })
	slices.Sort(operations)
	return operations
}

func validateRule(r *v1alpha1.RuleWithOperations, path *field.Path) field.ErrorList {
	errs := validateList(path.Child("operations"), r.Operations, false)
	for i, o := range r.Operations {
		if supported := ruleOperations(); o != "" && !slices.Contains(supported, o) {
			errs = append(errs, field.NotSupported(path.Child("operations").Index(i), o, supported))
		}
	}
	errs = append(errs, validateList(path.Child("apiGroups"), r.APIGroups, true)...)
	errs = append(errs, validateList(path.Child("apiVersions"), r.APIVersions, false)...)
	return append(errs, validateList(path.Child("kinds"), r.Kinds, false)...)
}

// validateList insists on at least one item, and on "*" being the only one where it is used.
func validateList[T ~string](path *field.Path, list []T, emptyAllowed bool) field.ErrorList {
	if len(list) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	if len(list) > 1 && slices.Contains(list, wildcard) {
		errs = append(errs, field.Invalid(path, list, `"*" must stand alone`))
	}
	for i, v := range list {
		if v == "" && !emptyAllowed {
			errs = append(errs, field.Required(path.Index(i), ""))
		}
	}
	return errs
}

// validateClient does not look at the caBundle: Karmada's admission does not either, so objects with a broken
// one exist, and the call says what is wrong with it.
func validateClient(c *admissionregistrationv1.WebhookClientConfig, path *field.Path) field.ErrorList {
	switch {
	case c.URL == nil && c.Service == nil:
		return field.ErrorList{field.Required(path, "exactly one of url and service is required")}
	case c.URL != nil && c.Service != nil:
		return field.ErrorList{field.Invalid(path, "url and service", "exactly one of url and service is required")}
	case c.URL != nil:
		return validateURL(*c.URL, path.Child("url"))
	}
	return validateService(c.Service, path.Child("service"))
}

// validateURL has no opinion on ports and paths.
func validateURL(text string, path *field.Path) field.ErrorList {
	u, err := url.Parse(text)
	if err != nil {
		return field.ErrorList{field.Invalid(path, text, err.Error())}
	}
	var errs field.ErrorList
	for _, rule := range []struct {
		broken bool
		says   string
	}{
		{u.Scheme != "https", "the scheme must be https"},
		{u.Host == "", "a host is required"},
		{u.User != nil, "user information is not allowed"},
		{u.Fragment != "", "a fragment is not allowed"},
		{u.RawQuery != "", "a query is not allowed"},
	} {
		if rule.broken {
			errs = append(errs, field.Invalid(path, text, rule.says))
		}
	}
	return errs
}

// validateService takes a missing port for defaultPort and a missing path for "/". A slash may end a path.
func validateService(s *admissionregistrationv1.ServiceReference, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	if s.Namespace == "" {
		errs = append(errs, field.Required(path.Child("namespace"), ""))
	}
	if s.Port != nil {
		for _, says := range validation.IsValidPortNum(int(*s.Port)) {
			errs = append(errs, field.Invalid(path.Child("port"), *s.Port, says))
		}
	}
	if s.Path == nil || *s.Path == "" || *s.Path == "/" {
		return errs
	}
	rest, rooted := strings.CutPrefix(*s.Path, "/")
	if !rooted {
		return append(errs, field.Invalid(path.Child("path"), *s.Path, "must start with /"))
	}
	for i, segment := range strings.Split(strings.TrimSuffix(rest, "/"), "/") {
		for _, says := range validation.IsDNS1123Subdomain(segment) {
			errs = append(errs, field.Invalid(path.Child("path"), *s.Path, fmt.Sprintf("segment %d: %s", i+1, says)))
		}
	}
	return errs
}

// validateVersions lets a hook understand versions that nobody knows yet, if it understands this one too.
func validateVersions(versions []string, path *field.Path) field.ErrorList {
	if len(versions) == 0 {
		return field.ErrorList{field.Required(path, "must have "+v1alpha1.GroupVersion.Version)}
	}
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, v := range versions {
		if seen.Has(v) {
			errs = append(errs, field.Duplicate(path.Index(i), v))
		}
		seen.Insert(v)
		for _, says := range validation.IsDNS1035Label(v) {
			errs = append(errs, field.Invalid(path.Index(i), v, says))
		}
	}
	if !seen.Has(v1alpha1.GroupVersion.Version) {
		errs = append(errs, field.Invalid(path, versions, "must have "+v1alpha1.GroupVersion.Version+", the only version there is"))
	}
	return errs
}

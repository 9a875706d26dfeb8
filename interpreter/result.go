package interpreter

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Result is one answer. Only the fields that the operation's contract promises are set.
type Result struct {
	// Replicas is how many replicas the object asks for.
	Replicas int32
	// Requirements is what one replica needs; nil means that nothing is known.
	Requirements *ReplicaRequirements
	// Components are the separately scaled parts.
	Components []Component
	// Object is the retained, revised or pruned object, or the one with the aggregated status. It is the caller's.
	Object *unstructured.Unstructured
	// Status is the reflected status as JSON values, an object by custom; nil means nothing to report.
	Status any
	// Health is how the object fares.
	Health Health
	// Dependencies are valid, sorted and without repeats.
	Dependencies []DependentObjectReference

	// Source is who answered; a Chain fills it in.
	Source Source
}

// HealthStatus says how an object fares, in the words that GitOps tools use.
type HealthStatus string

// The values of HealthStatus.
const (
	// Healthy is running as asked, or done with success.
	Healthy HealthStatus = "Healthy"
	// Progressing is not there yet, and expected to arrive.
	Progressing HealthStatus = "Progressing"
	// Degraded is failed, or worse than asked for with nothing to say that it will pass.
	Degraded HealthStatus = "Degraded"
	// Suspended is halted because somebody asked for it.
	Suspended HealthStatus = "Suspended"
	// Unknown is no verdict.
	Unknown HealthStatus = "Unknown"
)

var healthStatuses = []HealthStatus{Healthy, Progressing, Degraded, Suspended, Unknown}

// Health says how an object fares, and why.
type Health struct {
	Status HealthStatus `json:"status"`
	// Reason is one word in CamelCase, for programs.
	Reason string `json:"reason,omitempty"`
	// Message is for people.
	Message string `json:"message,omitempty"`
}

// IsHealthy folds the status into the boolean that Karmada's wire and scripts know: Healthy is true, and
// so is Suspended, since what was halted on purpose must not be evicted for it; all else is false.
func (h Health) IsHealthy() bool { return h.Status == Healthy || h.Status == Suspended }

// HealthOfBool is the health that a bare boolean means: a false without more is Degraded, since nothing
// says that it will pass.
func HealthOfBool(healthy bool) Health {
	if healthy {
		return Health{Status: Healthy}
	}
	return Health{Status: Degraded}
}

// UnmarshalValue reads what a script may return for a health: a boolean, or a table with status, reason and
// message. A table without status, an empty one included, is Unknown.
func (h *Health) UnmarshalValue(v any) error {
	switch v := v.(type) {
	case nil:
		*h = Health{Status: Unknown}
	case bool:
		*h = HealthOfBool(v)
	case map[string]any:
		*h = Health{Status: Unknown}
		for key, val := range v {
			if val == nil {
				continue
			}
			text, ok := val.(string)
			if !ok {
				return fmt.Errorf("%s must be text, got %T", key, val)
			}
			switch key {
			case "status":
				h.Status = HealthStatus(text)
			case "reason":
				h.Reason = text
			case "message":
				h.Message = text
			default:
				return fmt.Errorf("unknown field %q (have status, reason, message)", key)
			}
		}
	default:
		return fmt.Errorf("must be a boolean or a table with status, reason and message, got %T", v)
	}
	return nil
}

// healthDetail is a health as the second result of a script: a message beside a boolean, or, as kube.next
// gives it, all of it.
type healthDetail Health

// UnmarshalValue reads a text, or a table as Health does; nil changes nothing.
func (d *healthDetail) UnmarshalValue(v any) error {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		d.Message = v
		return nil
	case map[string]any:
		detail := Health{}
		if err := detail.UnmarshalValue(v); err != nil {
			return err
		}
		if detail.IsHealthy() != (*Health)(d).IsHealthy() {
			return fmt.Errorf("says %s where the first result says otherwise", detail.Status)
		}
		*d = healthDetail(detail)
		return nil
	}
	return fmt.Errorf("must be text or a table with status, reason and message, got %T", v)
}

func healthTable(r *Result) any {
	table := map[string]any{"status": string(r.Health.Status)}
	if r.Health.Reason != "" {
		table["reason"] = r.Health.Reason
	}
	if r.Health.Message != "" {
		table["message"] = r.Health.Message
	}
	return table
}

func objectIn(r *Result) any { return &r.Object }

func resultObject(r *Result) any { return objectOf(r.Object) }

func checkHealth(_ *Request, res *Result) error {
	if res.Health.Status == "" {
		res.Health.Status = Unknown
	}
	if !slices.Contains(healthStatuses, res.Health.Status) {
		return fmt.Errorf("unknown health status %q (have %v)", res.Health.Status, healthStatuses)
	}
	return nil
}

func checkReplicas(_ *Request, res *Result) error {
	if res.Replicas < 0 {
		return fmt.Errorf("replicas must not be negative, got %d", res.Replicas)
	}
	return nil
}

func checkComponents(_ *Request, res *Result) error {
	for i, c := range res.Components {
		if c.Replicas < 0 {
			return fmt.Errorf("components[%d] %q: replicas must not be negative, got %d", i, c.Name, c.Replicas)
		}
	}
	return nil
}

// sameObject insists that an answer is still the object that was asked about.
func sameObject(req *Request, res *Result) error {
	if res.Object == nil || res.Object.Object == nil {
		return errors.New("no object")
	}
	for _, f := range []struct {
		path     string
		got, was string
	}{
		{"apiVersion", res.Object.GetAPIVersion(), req.Object.GetAPIVersion()},
		{"kind", res.Object.GetKind(), req.Object.GetKind()},
		{"metadata.namespace", res.Object.GetNamespace(), req.Object.GetNamespace()},
		{"metadata.name", res.Object.GetName(), req.Object.GetName()},
	} {
		if f.got != f.was {
			return fmt.Errorf("the answer is another object: %s is %q, was %q", f.path, f.got, f.was)
		}
	}
	return nil
}

// checkDependencies refuses what cannot be found, and puts the rest in order without repeats.
func checkDependencies(_ *Request, res *Result) error {
	var errs []error
	for i := range res.Dependencies {
		if err := checkDependency(&res.Dependencies[i]); err != nil {
			errs = append(errs, fmt.Errorf("dependencies[%d]: %w", i, err))
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	res.Dependencies = sortDependencies(res.Dependencies)
	return nil
}

func checkDependency(d *DependentObjectReference) error {
	if d.LabelSelector != nil && len(d.LabelSelector.MatchLabels)+len(d.LabelSelector.MatchExpressions) == 0 {
		// An empty selector would be every object of the kind: nobody depends on that.
		d.LabelSelector = nil
	}
	switch {
	case d.APIVersion == "":
		return errors.New("apiVersion is required")
	case d.Kind == "":
		return errors.New("kind is required")
	case d.Name == "" && d.LabelSelector == nil:
		return errors.New("name or labelSelector is required")
	case d.Name != "" && d.LabelSelector != nil:
		return errors.New("name and labelSelector exclude each other")
	}
	if _, err := schema.ParseGroupVersion(d.APIVersion); err != nil {
		return fmt.Errorf("apiVersion: %w", err)
	}
	if d.LabelSelector != nil {
		errs := validation.ValidateLabelSelector(d.LabelSelector, validation.LabelSelectorValidationOptions{}, field.NewPath("labelSelector"))
		return errs.ToAggregate()
	}
	return nil
}

// sortDependencies orders by apiVersion, kind, namespace, name and selector, in place, and joins equal
// references.
func sortDependencies(list []DependentObjectReference) []DependentObjectReference {
	slices.SortStableFunc(list, func(a, b DependentObjectReference) int {
		return cmp.Or(
			strings.Compare(a.APIVersion, b.APIVersion),
			strings.Compare(a.Kind, b.Kind),
			strings.Compare(a.Namespace, b.Namespace),
			strings.Compare(a.Name, b.Name),
			compareSelectors(a.LabelSelector, b.LabelSelector),
		)
	})
	return slices.CompactFunc(list, func(a, b DependentObjectReference) bool {
		return a.APIVersion == b.APIVersion && a.Kind == b.Kind && a.Namespace == b.Namespace && a.Name == b.Name &&
			equality.Semantic.DeepEqual(a.LabelSelector, b.LabelSelector)
	})
}

func compareSelectors(a, b *metav1.LabelSelector) int {
	if a == nil || b == nil {
		return cmp.Compare(boolInt(a != nil), boolInt(b != nil))
	}
	return strings.Compare(metav1.FormatLabelSelector(a), metav1.FormatLabelSelector(b))
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

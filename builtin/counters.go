package builtin

import (
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// counters are the fields of a status that count things, each with 32 bits, so that the counters of a
// resource template are the sums over its member clusters.
type counters struct {
	// always are written when zero too, optional are not: as the API's own types write them.
	always, optional []string
}

// sum adds up the counters over the items and writes the sums into status. Also, if not nil, is called
// with the status of every item that has one.
func (c counters) sum(status map[string]any, items []interpreter.AggregatedStatusItem, also func(cluster string, status raw) error) error {
	sums := make([]int64, len(c.always)+len(c.optional))
	_, err := eachReported(items, func(cluster string, member raw) error {
		for i := range sums {
			n, err := member.int32(c.name(i))
			if err != nil {
				return err
			}
			sums[i] += int64(n)
		}
		if also == nil {
			return nil
		}
		return also(cluster, member)
	})
	if err != nil {
		return err
	}
	for i, n := range sums {
		if n < math.MinInt32 || n > math.MaxInt32 {
			return fault([]string{"status", c.name(i)}, "must fit in 32 bits, the sum is %d", n)
		}
		c.write(status, i, n)
	}
	return nil
}

// name is the i-th counter's, the ones that are always written first.
func (c counters) name(i int) string {
	if i < len(c.always) {
		return c.always[i]
	}
	return c.optional[i-len(c.always)]
}

// write leaves an optional counter out when it is zero.
func (c counters) write(status map[string]any, i int, n int64) {
	if n == 0 && i >= len(c.always) {
		delete(status, c.name(i))
		return
	}
	status[c.name(i)] = n
}

// copyTo copies the counters of an object's status.
func (c counters) copyTo(status map[string]any, obj map[string]any) error {
	for i := range len(c.always) + len(c.optional) {
		n, _, err := int32At(obj, "status", c.name(i))
		if err != nil {
			return err
		}
		c.write(status, i, int64(n))
	}
	return nil
}

// templateGeneration is the annotation in which Karmada hands the generation of the resource template to
// member clusters. It comes back as resourceTemplateGeneration in the reflected status.
const templateGeneration = "resourcetemplate.karmada.io/generation"

// aggregate is AggregateStatus of a workload: sums, and the generation that all members have observed.
//
// A member is in sync when its controller has observed the object (observedGeneration ≥ generation) and
// the object comes from the present template (resourceTemplateGeneration ≥ the template's generation). The
// template's generation counts as observed once all members are in sync; one that has not reported is not.
func (c counters) aggregate(obj *unstructured.Unstructured, items []interpreter.AggregatedStatusItem) error {
	generation, _, err := int64At(obj.Object, "metadata", "generation")
	if err != nil {
		return err
	}
	status, err := statusOf(obj)
	if err != nil {
		return err
	}
	inSync := 0
	err = c.sum(status, items, func(_ string, member raw) error {
		own, err := member.int64("generation")
		if err != nil {
			return err
		}
		observed, err := member.int64("observedGeneration")
		if err != nil {
			return err
		}
		template, err := member.int64("resourceTemplateGeneration")
		if err != nil {
			return err
		}
		if observed >= own && template >= generation {
			inSync++
		}
		return nil
	})
	if err != nil {
		return err
	}
	if inSync == len(items) && generation != 0 {
		status["observedGeneration"] = generation
	}
	return putStatus(obj, status)
}

// reflect is InterpretStatus of a workload: its counters, and the generations that aggregate compares. A
// generation of zero is one that nobody has set. Nothing at all is nothing to report.
func (c counters) reflect(obj *unstructured.Unstructured) (any, error) {
	if status, err := mapAt(obj.Object, "status"); status == nil || err != nil {
		return nil, err
	}
	status := map[string]any{}
	if err := c.copyTo(status, obj.Object); err != nil {
		return nil, err
	}
	generation, _, err := int64At(obj.Object, "metadata", "generation")
	if err != nil {
		return nil, err
	}
	observed, _, err := int64At(obj.Object, "status", "observedGeneration")
	if err != nil {
		return nil, err
	}
	template, err := templateGenerationOf(obj.Object)
	if err != nil {
		return nil, err
	}
	setNonZero(status, "generation", generation)
	setNonZero(status, "observedGeneration", observed)
	setNonZero(status, "resourceTemplateGeneration", template)
	if len(status) == 0 {
		return nil, nil
	}
	return status, nil
}

// templateGenerationOf is zero if there is no such annotation, or an empty one. Any integer will do, since it
// is only compared.
func templateGenerationOf(obj map[string]any) (int64, error) {
	text, err := textAt(obj, "metadata", "annotations", templateGeneration)
	if text == "" || err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fault([]string{"metadata", "annotations", templateGeneration}, "must be a whole number, got %s", describe(text))
	}
	return n, nil
}

// setNonZero writes a number that means nothing when it is zero.
func setNonZero(status map[string]any, name string, n int64) {
	if n != 0 {
		status[name] = n
	}
}

// statusOf is the status of an object about to be aggregated, an empty one if there is none yet.
func statusOf(obj *unstructured.Unstructured) (map[string]any, error) {
	status, err := mapAt(obj.Object, "status")
	if err != nil || status != nil {
		return status, err
	}
	return map[string]any{}, nil
}

// putStatus writes the aggregated status. An object without status stays so when there is nothing to say.
func putStatus(obj *unstructured.Unstructured, status map[string]any) error {
	if len(status) == 0 && obj.Object["status"] == nil {
		return nil
	}
	return set(obj.Object, status, "status")
}

// observed says whether the controller in the member cluster has seen the present spec of an object. Equal
// is meant: an observedGeneration from the future belongs to another object of that name.
func observed(obj map[string]any) (bool, error) {
	generation, _, err := int64At(obj, "metadata", "generation")
	if err != nil {
		return false, err
	}
	seen, _, err := int64At(obj, "status", "observedGeneration")
	return seen == generation, err
}

// begun says whether the controller has written a status for the present spec. An API server gives every stored
// object a generation, so that observed says the same of those; objects that come from elsewhere may have neither
// generation nor status, and nothing is known about them.
func begun(obj map[string]any) (bool, error) {
	if status, err := mapAt(obj, "status"); len(status) == 0 || err != nil {
		return false, err
	}
	return observed(obj)
}

// notObserved is the health of an object whose status tells of an older spec, or that has none.
var notObserved = interpreter.Health{
	Status: interpreter.Progressing, Reason: "NotObserved", Message: "the status is not of the present generation",
}

package interpreter

import (
	"encoding/json"
	"fmt"
	"reflect"

	jsonutil "k8s.io/apimachinery/pkg/util/json"
)

// HealthName is the name under which Named gives the health in full, beside the boolean that Karmada knows.
const HealthName = "health"

// Names lists the names that Named uses for an operation's results, in order.
func Names(c *Contract) []string {
	var names []string
	for _, out := range c.Out {
		switch out.In(&Result{}).(type) {
		case *healthDetail: // The message is told as part of the health.
		case *Health:
			names = append(names, out.Name, HealthName)
		default:
			names = append(names, out.Name)
		}
	}
	return names
}

// Named gives what the contract promises of a result as plain JSON values, by the names of the contract's
// outputs. A value that is not there is an explicit nil, a list that is not there an empty list, and a health
// is given twice: as the boolean, and in full under HealthName. The values share nothing with the result.
func Named(c *Contract, res *Result) (map[string]any, error) {
	named := make(map[string]any, len(c.Out)+1)
	for _, out := range c.Out {
		var v any
		switch p := out.In(res).(type) {
		case *healthDetail:
			continue
		case *Health:
			v = p.IsHealthy()
			health, err := jsonValue(p)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", HealthName, err)
			}
			named[HealthName] = health
		default:
			v = reflect.ValueOf(p).Elem().Interface()
			if rv := reflect.ValueOf(v); rv.Kind() == reflect.Slice && rv.IsNil() {
				v = []any{}
			}
		}
		value, err := jsonValue(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", out.Name, err)
		}
		named[out.Name] = value
	}
	return named, nil
}

// jsonValue passes v through JSON; integers come out as int64.
func jsonValue(v any) (any, error) {
	if o, ok := v.(interface{ UnstructuredContent() map[string]any }); ok && !reflect.ValueOf(v).IsNil() {
		// An Unstructured refuses to be written without a kind; here it is only a value.
		v = o.UnstructuredContent()
	}
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	// Only maps and lists get their integers back as such, hence the wrapping.
	wrapped := map[string]any{}
	err = jsonutil.Unmarshal([]byte(`{"v":`+string(data)+`}`), &wrapped)
	return wrapped["v"], err
}

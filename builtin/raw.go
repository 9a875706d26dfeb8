package builtin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kubeinterpret/interpret/interpreter"
)

// raw is a JSON value where it lies in the bytes that a member cluster reported: valid, without space around
// it, and nil for missing and for null. Its getters decode only what they are asked for, so that folding a
// hundred clusters does not decode a hundred statuses. Of fields that occur twice the last one counts.
type raw []byte

// eachReported calls fn with the status of every item that has one, an object, and gives how many those
// are. Fn's error is told apart by its cluster.
func eachReported(items []interpreter.AggregatedStatusItem, fn func(cluster string, status raw) error) (int, error) {
	n := 0
	for i := range items {
		status, err := reported(&items[i])
		if err == nil && status != nil {
			n++
			err = fn(items[i].ClusterName, status)
		}
		if err != nil {
			return n, fmt.Errorf("cluster %q: %w", items[i].ClusterName, within("status", err))
		}
	}
	return n, nil
}

// reported is the status of an item, nil if there is none. An object in place of bytes, which the types allow,
// is encoded first. Whatever is given out is valid JSON, and all methods of raw rely on it.
func reported(item *interpreter.AggregatedStatusItem) (raw, error) {
	if item.Status == nil {
		return nil, nil
	}
	data := item.Status.Raw
	if data == nil && item.Status.Object != nil {
		var err error
		if data, err = json.Marshal(item.Status.Object); err != nil {
			return nil, err
		}
	}
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil, nil
	}
	if !json.Valid(data) {
		return nil, errors.New("not JSON")
	}
	status := nonNull(data)
	if status != nil && status[0] != '{' {
		return nil, fmt.Errorf("must be an object, got %s", status.describe())
	}
	return status, nil
}

// nonNull keeps up the rule that null is nil.
func nonNull(data []byte) raw {
	if string(data) == "null" {
		return nil
	}
	return data
}

// at is the value at a path.
func (r raw) at(path ...string) (raw, error) {
	for i, name := range path {
		if r == nil {
			return nil, nil
		}
		if r[0] != '{' {
			return nil, fault(path[:i], "must be an object, got %s", r.describe())
		}
		r = r.field(name)
	}
	return r, nil
}

// field is the value of a field of an object, which r must be.
func (r raw) field(name string) (found raw) {
	_ = r.elements(func(key, value raw) error {
		if key.isText(name) {
			found = value
		}
		return nil
	})
	return found
}

// each calls fn with every object of the list at a path. A null in the list is an object without fields.
func (r raw) each(fn func(item raw) error, path ...string) error {
	list, err := r.at(path...)
	if list == nil || err != nil {
		return err
	}
	if list[0] != '[' {
		return fault(path, "must be a list, got %s", list.describe())
	}
	i := -1
	return list.elements(func(_, item raw) error {
		i++
		if item != nil && item[0] != '{' {
			return fault(path, "must hold objects, got %s at %d", item.describe(), i)
		}
		if err := fn(item); err != nil {
			return within(fmt.Sprintf("%s[%d]", strings.Join(path, "."), i), err)
		}
		return nil
	})
}

// entries calls fn with every field of the object at a path.
func (r raw) entries(fn func(key string, value raw) error, path ...string) error {
	object, err := r.at(path...)
	if object == nil || err != nil {
		return err
	}
	if object[0] != '{' {
		return fault(path, "must be an object, got %s", object.describe())
	}
	return object.elements(func(key, value raw) error { return fn(key.unquoted(), value) })
}

// text is the text at a path, empty if there is none.
func (r raw) text(path ...string) (string, error) {
	v, err := r.at(path...)
	if v == nil || err != nil {
		return "", err
	}
	if v[0] != '"' {
		return "", fault(path, "must be text, got %s", v.describe())
	}
	return v.unquoted(), nil
}

// is compares the text at a path without making it.
func (r raw) is(want string, path ...string) (bool, error) {
	v, err := r.at(path...)
	if v == nil || err != nil {
		return want == "", err
	}
	if v[0] != '"' {
		return false, fault(path, "must be text, got %s", v.describe())
	}
	return v.isText(want), nil
}

// int64 is the whole number at a path, zero if there is none.
func (r raw) int64(path ...string) (int64, error) {
	v, err := r.at(path...)
	if v == nil || err != nil {
		return 0, err
	}
	if n, ok := v.number(); ok {
		return n, nil
	}
	return 0, fault(path, "must be a whole number, got %s", v.describe())
}

// int32 is int64 for the many fields that the API gives 32 bits.
func (r raw) int32(path ...string) (int32, error) {
	n, err := r.int64(path...)
	if err != nil {
		return 0, err
	}
	if n < math.MinInt32 || n > math.MaxInt32 {
		return 0, fault(path, "must fit in 32 bits, got %d", n)
	}
	return int32(n), nil
}

// value decodes what r holds, to values as an unstructured object has them.
func (r raw) value() (any, error) {
	if r == nil {
		return nil, nil
	}
	var v any
	err := utiljson.Unmarshal(r, &v)
	return v, err
}

// number accepts what stands for an integer, 3.0 and 1e3 included.
func (r raw) number() (int64, bool) {
	if n, err := strconv.ParseInt(string(r), 10, 64); err == nil {
		return n, true
	}
	if r[0] != '-' && (r[0] < '0' || r[0] > '9') {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(r), 64)
	if err != nil {
		return 0, false
	}
	return whole(f)
}

// isText compares a string, without decoding it unless it has escapes.
func (r raw) isText(want string) bool {
	if bytes.IndexByte(r, '\\') >= 0 {
		return r.unquoted() == want
	}
	return string(r[1:len(r)-1]) == want
}

// unquoted decodes a string. What is not UTF-8 becomes the replacement character, as in encoding/json.
func (r raw) unquoted() string {
	if text := r[1 : len(r)-1]; bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		return string(text)
	}
	var s string
	// A string of valid JSON decodes into a string.
	_ = json.Unmarshal(r, &s)
	return s
}

// describe names the value in a message, as the function of that name does for decoded ones.
func (r raw) describe() string {
	switch {
	case r == nil:
		return "null"
	case r[0] == '{':
		return "an object"
	case r[0] == '[':
		return "a list"
	case r[0] == '"':
		return fmt.Sprintf("the text %q", short(r.unquoted()))
	default:
		return short(string(r))
	}
}

// elements calls fn with the keys, quoted, and values of an object, or with the values of a list.
func (r raw) elements(fn func(key, value raw) error) error {
	i := r.space(1)
	for r[i] != '}' && r[i] != ']' {
		var key raw
		if r[0] == '{' {
			end := r.end(i)
			key = r[i:end]
			i = r.space(r.space(end) + 1) // past the colon
		}
		end := r.end(i)
		if err := fn(key, nonNull(r[i:end])); err != nil {
			return err
		}
		if i = r.space(end); r[i] == ',' {
			i = r.space(i + 1)
		}
	}
	return nil
}

// space is where the space that starts at i ends.
func (r raw) space(i int) int {
	for r[i] == ' ' || r[i] == '\t' || r[i] == '\n' || r[i] == '\r' {
		i++
	}
	return i
}

// end is where the value that starts at i ends.
func (r raw) end(i int) int {
	for depth := 0; ; {
		switch r[i] {
		case '"':
			for i++; r[i] != '"'; i++ {
				if r[i] == '\\' {
					i++
				}
			}
			i++
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			i++
		default:
			for i < len(r) && strings.IndexByte(",]} \t\n\r", r[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
}

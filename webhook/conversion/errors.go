package conversion

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxListed bounds how many objects a message names. It reaches people through the API server, in one line, and a
// converter that fails for a hundred objects seldom does so for a hundred reasons.
const maxListed = 100

// ListError says which objects of a list could not be converted. None of the list was.
type ListError struct {
	// Desired is the version that was asked for.
	Desired schema.GroupVersion
	// Total is how many objects there were.
	Total int
	// Objects are those that could not be converted, at least one, in order.
	Objects []*ObjectError
}

// Error names the objects, up to a hundred of them.
func (e *ListError) Error() string {
	if e.Total == 1 {
		return fmt.Sprintf("%s cannot be converted to %s: %v", e.Objects[0].name(), e.Desired, e.Objects[0].Err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d objects cannot be converted to %s, so none is: ", len(e.Objects), e.Total, e.Desired)
	for i, o := range e.Objects {
		if i == maxListed {
			fmt.Fprintf(&b, "; and %d more", len(e.Objects)-maxListed)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(o.Error())
	}
	return b.String()
}

// Unwrap are the errors of the objects.
func (e *ListError) Unwrap() []error {
	list := make([]error, len(e.Objects))
	for i, o := range e.Objects {
		list[i] = o
	}
	return list
}

// ObjectError says why one object of a list could not be converted.
type ObjectError struct {
	// Index is the object's place in the list.
	Index int
	// Kind, Namespace and Name are as far known as they could be read.
	Kind            schema.GroupVersionKind
	Namespace, Name string
	Err             error
}

func newObjectError(i int, obj *unstructured.Unstructured, err error) *ObjectError {
	return &ObjectError{Index: i, Kind: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName(), Err: err}
}

// Error is the place, the object and the reason.
func (e *ObjectError) Error() string {
	return fmt.Sprintf("%s: %v", strings.TrimSpace(fmt.Sprintf("objects[%d] %s", e.Index, objectName(e.Namespace, e.Name))), e.Err)
}

// Unwrap is the reason.
func (e *ObjectError) Unwrap() error { return e.Err }

// name names the object where it is the only one.
func (e *ObjectError) name() string {
	if name := strings.TrimSpace(e.Kind.Kind + " " + objectName(e.Namespace, e.Name)); name != "" {
		return name
	}
	return "the object"
}

func objectName(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

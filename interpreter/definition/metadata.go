package definition

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubeinterpret/interpret/interpreter"
)

// metaFields are the fields of an object's metadata, which no schema has to list.
var metaFields = jsonFields(reflect.TypeFor[metav1.ObjectMeta]())

// validateMetadata judges an object's metadata as an API server does for every kind. A namespace may be missing: it
// often comes with the request.
func (v *Version) validateMetadata(object map[string]any) field.ErrorList {
	path := field.NewPath("metadata")
	metadata, ok := object["metadata"].(map[string]any)
	if !ok && object["metadata"] != nil {
		return field.ErrorList{field.TypeInvalid(path, object["metadata"], "must be an object")}
	}
	meta, errs := metadataOf(metadata, path)
	if len(errs) > 0 {
		return errs
	}
	namespaced := v.Definition.Namespaced()
	if namespaced && meta.Namespace == "" {
		meta.Namespace = metav1.NamespaceDefault
	}
	return validation.ValidateObjectMeta(meta, namespaced, validation.NameIsDNSSubdomain, path)
}

// metadataOf decodes metadata, or says why that is not possible. What objects have is taken as it is, which is much
// quicker than by way of text. Managed fields are left out; a server makes them itself.
func metadataOf(metadata map[string]any, path *field.Path) (*metav1.ObjectMeta, field.ErrorList) {
	meta := &metav1.ObjectMeta{}
	var errs field.ErrorList
	simple := true
	for name, value := range metadata {
		if value == nil || name == "managedFields" {
			continue
		}
		known := true
		switch name {
		case "name":
			meta.Name, known = value.(string)
		case "generateName":
			meta.GenerateName, known = value.(string)
		case "namespace":
			meta.Namespace, known = value.(string)
		case "resourceVersion":
			meta.ResourceVersion, known = value.(string)
		case "uid":
			var uid string
			uid, known = value.(string)
			meta.UID = types.UID(uid)
		case "labels":
			meta.Labels = textsOf(value, path.Child(name), &errs)
		case "annotations":
			meta.Annotations = textsOf(value, path.Child(name), &errs)
		case "generation":
			n, ok := value.(int64)
			meta.Generation, simple = n, simple && ok
		case "creationTimestamp":
			text, ok := value.(string)
			at, err := time.Parse(time.RFC3339, text)
			meta.CreationTimestamp, simple = metav1.NewTime(at), simple && ok && err == nil
		case "finalizers":
			list, ok := value.([]any)
			for _, item := range list {
				text, is := item.(string)
				meta.Finalizers, ok = append(meta.Finalizers, text), ok && is
			}
			simple = simple && ok
		default:
			if !slices.Contains(metaFields, name) {
				errs = append(errs, field.Forbidden(path.Child(name), noSuchField+orNearest(name, metaFields)))
			}
			simple = false
		}
		if !known {
			errs = append(errs, field.TypeInvalid(path.Child(name), value, mustBeText))
		}
	}
	if len(errs) > 0 || simple {
		slices.SortFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
		return meta, errs
	}
	decoded, _, unknown, err := objectmeta.GetObjectMetaWithOptions(map[string]any{"metadata": metadata}, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, field.ErrorList{field.TypeInvalid(path, metadata, err.Error())}
	}
	for _, name := range unknown {
		errs = append(errs, field.Forbidden(pathOf(name), noSuchField))
	}
	return decoded, errs
}

// textsOf takes a map of texts, and tells of values that are none.
func textsOf(value any, at *field.Path, errs *field.ErrorList) map[string]string {
	values, ok := value.(map[string]any)
	if !ok {
		*errs = append(*errs, field.TypeInvalid(at, value, "must be an object"))
		return nil
	}
	texts := make(map[string]string, len(values))
	for key, v := range values {
		text, ok := v.(string)
		if !ok && v != nil {
			*errs = append(*errs, field.TypeInvalid(at.Key(key), v, mustBeText))
		}
		texts[key] = text
	}
	return texts
}

// What is said of fields that a schema does not know, and of values that are no text.
const (
	noSuchField = "the schema has no such field"
	mustBeText  = "must be a text"
)

func orNearest(name string, known []string) string {
	if near := interpreter.Nearest(name, known); near != "" {
		return ", did you mean " + near + "?"
	}
	return ""
}

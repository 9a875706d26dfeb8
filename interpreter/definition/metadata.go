package definition

import (
	"reflect"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// metadataOf decodes metadata, or says why that is not possible. What most objects have is taken as it is, which is
// much quicker than by way of text.
func metadataOf(metadata map[string]any, path *field.Path) (*metav1.ObjectMeta, field.ErrorList) {
	meta := &metav1.ObjectMeta{}
	texts := map[string]*string{
		"name": &meta.Name, "generateName": &meta.GenerateName, "namespace": &meta.Namespace,
		"resourceVersion": &meta.ResourceVersion, "selfLink": &meta.SelfLink, "uid": (*string)(&meta.UID),
	}
	var errs field.ErrorList
	simple := true
	for name, value := range metadata {
		at := path.Child(name)
		switch {
		case value == nil:
		case texts[name] != nil:
			text, ok := value.(string)
			if !ok {
				errs = append(errs, field.TypeInvalid(at, value, "must be a text"))
			}
			*texts[name] = text
		case name == "labels":
			meta.Labels = textsOf(value, at, &errs)
		case name == "annotations":
			meta.Annotations = textsOf(value, at, &errs)
		case slices.Contains(metaFields, name):
			simple = false
		default:
			errs = append(errs, field.Forbidden(at, noSuchField+orNearest(name, metaFields)))
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
			*errs = append(*errs, field.TypeInvalid(at.Key(key), v, "must be a text"))
		}
		texts[key] = text
	}
	return texts
}

// noSuchField is what is said of fields that a schema does not know.
const noSuchField = "the schema has no such field"

func orNearest(name string, known []string) string {
	if near := interpreter.Nearest(name, known); near != "" {
		return ", did you mean " + near + "?"
	}
	return ""
}

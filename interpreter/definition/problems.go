package definition

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
)

// Problems tells what an API server would say if it were asked to create the CRD, strictly: fields that the API
// does not know, and all that its validation finds, CEL rules compiled and their cost estimated. Each error names
// the CRD and the field, and its place if the CRD was read from a file.
func (d *Definition) Problems(ctx context.Context) []error {
	var problems []error
	add := func(path string, err error) {
		problems = append(problems, d.errorAt(path, fmt.Errorf("CRD %s: %w", d.name, err)))
	}
	raw, err := d.text()
	if err != nil {
		return []error{d.unreadable(err)}
	}
	for _, m := range misfits(raw) {
		add(m.path, errors.New(m.message))
	}
	crd, err := d.CRD()
	if err != nil {
		if len(problems) == 0 {
			problems = append(problems, err)
		}
		return problems // What is wrong has been told.
	}
	internal := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal, nil); err != nil {
		add("spec", err)
		return problems
	}
	// What the server sets before it looks.
	internal.Status = apiextensions.CustomResourceDefinitionStatus{}
	for _, v := range internal.Spec.Versions {
		if v.Storage {
			internal.Status.StoredVersions = []string{v.Name}
			break
		}
	}
	for _, err := range validation.ValidateCustomResourceDefinition(ctx, internal) {
		if len(internal.Status.StoredVersions) == 0 && err.Field == "status.storedVersions" {
			continue // A consequence of what is told of spec.versions.
		}
		err.Field = declaredPath(err.Field)
		add(err.Field, err)
	}
	return problems
}

// shared are fields that the library looks at once if all versions agree, by other names than people write.
var shared = map[string]string{
	"spec.validation":               "spec.versions[0].schema",
	"spec.subresources":             "spec.versions[0].subresources",
	"spec.additionalPrinterColumns": "spec.versions[0].additionalPrinterColumns",
	"spec.selectableFields":         "spec.versions[0].selectableFields",
}

// declaredPath is the path of a field as it is in a file.
func declaredPath(path string) string {
	for theirs, ours := range shared {
		if rest, ok := strings.CutPrefix(path, theirs); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return ours + rest
		}
	}
	return path
}

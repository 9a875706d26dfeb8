package definition

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubeinterpret/interpret/interpreter/manifest"
)

// Problem is something that an API server would refuse.
type Problem struct {
	// CRD is its name.
	CRD string
	// Field is the path of the field, "" if it is about the whole.
	Field string
	// File, Line and Column are where the field, or the nearest parent of it, stands; Line and Column count from 1, and
	// 0 is unknown.
	File         string
	Line, Column int
	Message      string
}

func (p Problem) String() string {
	text := "CRD " + p.CRD + ": "
	if p.Field != "" {
		text += p.Field + ": "
	}
	return strings.TrimPrefix((&manifest.Error{File: p.File, Line: p.Line, Column: p.Column, Err: errors.New(text + p.Message)}).Error(), ": ")
}

// Problems tells what an API server would say if it were asked to create the CRD, strictly: fields that the API
// does not know, and all that its validation finds, CEL rules compiled and their cost estimated.
func (d *Definition) Problems(ctx context.Context) []Problem {
	var problems []Problem
	add := func(path, message string) {
		problems = append(problems, d.problem(path, message))
	}
	raw, err := d.text()
	if err != nil {
		return []Problem{d.problemOf(err)}
	}
	for _, m := range misfits(raw) {
		add(m.path, m.message)
	}
	crd, err := d.CRD()
	if err != nil {
		if len(problems) == 0 {
			problems = append(problems, d.problemOf(err))
		}
		return problems // What is wrong has been told.
	}
	internal := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal, nil); err != nil {
		add("spec", err.Error())
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
		if err.Field == "status.storedVersions" {
			continue // A consequence of what is told of spec.versions.
		}
		add(declaredPath(err.Field), bodyOf(err))
	}
	return problems
}

// bodyOf is what an error says of its field. Values that are not one word are left out: they stand in the file, and a
// schema fills pages.
func bodyOf(err *field.Error) string {
	switch v := err.BadValue.(type) {
	case nil, bool, int, int32, int64, float64, field.OmitValueType:
		return err.ErrorBody()
	case string:
		if len(v) <= shownText {
			return err.ErrorBody()
		}
	}
	short := *err
	short.BadValue = field.OmitValueType{}
	return short.ErrorBody()
}

// problem is a problem with a field.
func (d *Definition) problem(path, message string) Problem {
	p := Problem{CRD: d.name, Field: path, Message: message}
	if d.doc != nil {
		var at *manifest.Error
		if errors.As(d.errorAt(path, errors.New(message)), &at) {
			p.File, p.Line, p.Column = at.File, at.Line, at.Column
		}
	}
	return p
}

// problemOf is the problem that an error tells of.
func (d *Definition) problemOf(err error) Problem {
	p := Problem{CRD: d.name, Message: strings.TrimPrefix(err.Error(), "CRD "+d.name+": ")}
	var at *manifest.Error
	if errors.As(err, &at) {
		p.File, p.Line, p.Column, p.Message = at.File, at.Line, at.Column, strings.TrimPrefix(at.Err.Error(), "CRD "+d.name+": ")
	}
	return p
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

package definition

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apiservervalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/manifest"
)

// Version is one version of a CRD.
type Version struct {
	Definition *Definition
	Name       string
	// Served says whether an API server answers requests for it.
	Served bool
	// Storage says whether objects are stored in it.
	Storage    bool
	Deprecated bool
	// Scale is the scale subresource, nil without. It must not be changed.
	Scale *apiextensionsv1.CustomResourceSubresourceScale
	// HasStatus says whether there is a status subresource.
	HasStatus bool
	// Columns are the columns that kubectl get prints besides the name. They must not be changed.
	Columns []apiextensionsv1.CustomResourceColumnDefinition

	index   int // in the CRD
	schemas func() (*schemas, error)
}

// schemas are a version's schema in the forms that the libraries want.
type schemas struct {
	structural *structuralschema.Structural
	check      *check
	validator  apiservervalidation.SchemaValidator
	// rules run the CEL rules; nil if there are none.
	rules *cel.Validator
	// parts is the schema for parts of objects.
	parts func() *schemas
}

func newVersion(d *Definition, index int, h *versionHeader) *Version {
	v := &Version{
		Definition: d, Name: h.Name, Served: h.Served, Storage: h.Storage, Deprecated: h.Deprecated,
		Columns: h.Columns, index: index,
	}
	if s := h.Subresources; s != nil {
		v.Scale, v.HasStatus = s.Scale, s.Status != nil
	}
	v.schemas = sync.OnceValues(v.build)
	return v
}

// Kind is the kind of the version's objects.
func (v *Version) Kind() schema.GroupVersionKind { return v.Definition.kind.WithVersion(v.Name) }

// Resource is the resource of the version's objects.
func (v *Version) Resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: v.Definition.kind.Group, Version: v.Name, Resource: v.Definition.Names().Plural}
}

// Path is the path of the version in the CRD.
func (v *Version) Path() string { return fmt.Sprintf("spec.versions[%d]", v.index) }

// schemaPath is where the version's schema stands in the CRD.
func (v *Version) schemaPath() string { return v.Path() + ".schema.openAPIV3Schema" }

func (v *Version) build() (*schemas, error) {
	crd, err := v.Definition.CRD()
	if err != nil {
		return nil, err
	}
	wrong := func(err error) error {
		return v.Definition.errorAt(v.schemaPath(), fmt.Errorf("CRD %s, version %s: %w", v.Definition.name, v.Name, err))
	}
	declared := crd.Spec.Versions[v.index].Schema
	if declared == nil || declared.OpenAPIV3Schema == nil {
		return nil, wrong(fmt.Errorf("%s is missing", v.schemaPath()))
	}
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(declared.OpenAPIV3Schema, &internal, nil); err != nil {
		return nil, wrong(err)
	}
	s := &schemas{}
	if s.structural, err = structuralschema.NewStructural(&internal); err != nil {
		return nil, wrong(fmt.Errorf("the schema has no structure: %w", err))
	}
	if errs := structuralschema.ValidateStructural(field.NewPath(v.schemaPath()), s.structural); len(errs) > 0 {
		return nil, wrong(fmt.Errorf("the schema has no structure: %w", errs.ToAggregate()))
	}
	if s.validator, _, err = apiservervalidation.NewSchemaValidator(&internal); err != nil {
		return nil, wrong(err)
	}
	s.rules = cel.NewValidator(s.structural, true, celconfig.PerCallLimit)
	s.check = newCheck(s.structural)
	s.parts = sync.OnceValue(s.ofParts)
	return s, nil
}

// Schema is the version's schema. It must not be changed. A schema without structure is an error, which names the
// CRD, the version and the place.
func (v *Version) Schema() (*structuralschema.Structural, error) {
	s, err := v.schemas()
	if err != nil {
		return nil, err
	}
	return s.structural, nil
}

// Validate tells what an API server would say of an object: of creating it, or, if old is not nil, of updating that
// one. Fields that the schema does not know are told as forbidden, which a server refuses if it is asked to be
// strict. What the server fills in before it looks does not have to be there. They come in the order of the fields'
// paths. The error is about the CRD, or it is the context's; then nothing was told.
func (v *Version) Validate(ctx context.Context, obj, old *unstructured.Unstructured) (field.ErrorList, error) {
	s, err := v.schemas()
	if err != nil {
		return nil, err
	}
	return v.validate(ctx, s, obj, old)
}

// validate is Validate with a schema that may be without rules.
func (v *Version) validate(ctx context.Context, s *schemas, obj, old *unstructured.Unstructured) (field.ErrorList, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if errs := v.validateKind(obj); len(errs) > 0 {
		return errs, nil
	}
	errs := v.validateMetadata(obj.Object)
	if s.check.passes(obj.Object) && v.scaleFits(obj) && (s.rules == nil || !blocking(errs)) {
		broken := s.runRules(ctx, obj, old)
		if len(broken) == 0 || old == nil {
			return append(errs, broken...), ctx.Err()
		}
		// An update may leave broken what was broken, which is for the API server's code to find out.
	}
	if old != nil {
		errs = v.validateUpdate(ctx, s, obj, old, errs)
	} else {
		errs = v.validateAnew(ctx, s, obj, errs)
	}
	// The code goes through maps.
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return errs, ctx.Err()
}

// runRules runs the CEL rules for objects that passed the check.
func (s *schemas) runRules(ctx context.Context, obj, old *unstructured.Unstructured) field.ErrorList {
	if s.rules == nil {
		return nil
	}
	complete := func(o *unstructured.Unstructured) any {
		if o == nil {
			return nil
		}
		if s.check.lacksDefaults(o.Object) {
			o = interpreter.Clone(o)
			defaulting.Default(o.Object, s.structural)
		}
		return o.Object
	}
	errs, _ := s.rules.Validate(ctx, nil, s.structural, complete(obj), complete(old), celconfig.RuntimeCELCostBudget)
	return errs
}

// validateAnew judges the creation of an object with the API server's code. What it finds is added to what was found
// before.
func (v *Version) validateAnew(ctx context.Context, s *schemas, obj *unstructured.Unstructured, errs field.ErrorList) field.ErrorList {
	work := interpreter.Clone(obj)
	errs = append(errs, s.prepare(work.Object)...)
	errs = append(errs, apiservervalidation.ValidateCustomResource(nil, work.Object, s.validator)...)
	errs = append(errs, objectmeta.Validate(ctx, nil, work.Object, s.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, work.Object)...)
	errs = append(errs, v.validateScale(work)...)
	if s.rules != nil && !blocking(errs) {
		found, _ := s.rules.Validate(ctx, nil, s.structural, work.Object, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, found...)
	}
	return errs
}

// validateUpdate judges an update in the same way. What did not change may stay wrong.
func (v *Version) validateUpdate(ctx context.Context, s *schemas, obj, old *unstructured.Unstructured, errs field.ErrorList) field.ErrorList {
	work := interpreter.Clone(obj)
	errs = append(errs, s.prepare(work.Object)...)
	before := interpreter.Clone(old)
	s.prepare(before.Object)
	correlated := common.NewCorrelatedObject(work.Object, before.Object, &model.Structural{Structural: s.structural})
	errs = append(errs, apiservervalidation.ValidateCustomResourceUpdate(nil, work.Object, before.Object, s.validator, apiservervalidation.WithRatcheting(correlated))...)
	errs = append(errs, objectmeta.Validate(ctx, nil, work.Object, s.structural, false)...)
	if len(listtype.ValidateListSetsAndMaps(nil, s.structural, before.Object)) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, work.Object)...)
	}
	errs = append(errs, v.validateScale(work)...)
	if s.rules != nil && !blocking(errs) {
		found, _ := s.rules.Validate(ctx, nil, s.structural, work.Object, before.Object, celconfig.RuntimeCELCostBudget, cel.WithRatcheting(correlated))
		errs = append(errs, found...)
	}
	return errs
}

// prepare does to an object what an API server does before it validates: fields that it does not know go, and are
// told; nulls that stand for nothing go; defaults come.
func (s *schemas) prepare(object map[string]any) field.ErrorList {
	kind, apiVersion, metadata := object["kind"], object["apiVersion"], object["metadata"]
	unknown := pruning.PruneWithOptions(object, s.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	object["kind"], object["apiVersion"] = kind, apiVersion
	if metadata != nil {
		object["metadata"] = metadata
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	defaulting.Default(object, s.structural)
	var errs field.ErrorList
	for _, path := range unknown {
		detail := noSuchField
		if _, _, near := s.hasField(manifest.Steps(path)); near != "" {
			detail += ", did you mean " + near + "?"
		}
		errs = append(errs, field.Forbidden(pathOf(path), detail))
	}
	return errs
}

// pathOf makes a path that prints as the text does.
func pathOf(text string) *field.Path { return field.NewPath(strings.TrimPrefix(text, ".")) }

func (v *Version) validateKind(obj *unstructured.Unstructured) field.ErrorList {
	var errs field.ErrorList
	want := v.Kind()
	if got := obj.GetKind(); got != want.Kind {
		errs = append(errs, field.Invalid(field.NewPath("kind"), got, "must be "+want.Kind))
	}
	if got := obj.GetAPIVersion(); got != want.GroupVersion().String() {
		errs = append(errs, field.Invalid(field.NewPath("apiVersion"), got, "must be "+want.GroupVersion().String()))
	}
	return errs
}

// blocking says whether an API server leaves rules out for these errors: rules want values of the right types.
func blocking(errs field.ErrorList) bool {
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}

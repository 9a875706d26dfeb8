package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	kjson "sigs.k8s.io/json"

	"github.com/kubeinterpret/interpret/interpreter/manifest"
)

// Definitions is where CRDs are looked up: a Set, or what follows an API server.
type Definitions interface {
	// Definition finds the CRD of a group and kind; it is nil if there is none. The error is
	// interpreter.ErrNotReady as long as that cannot be told.
	Definition(kind schema.GroupKind) (*Definition, error)
	// All lists the CRDs, sorted by name. The list must not be changed.
	All() ([]*Definition, error)
}

// Definition is one CRD.
type Definition struct {
	source
	name   string
	kind   schema.GroupKind
	spec   header
	decode func() (*apiextensionsv1.CustomResourceDefinition, error)

	versions []*Version
}

// header is what is decoded of every CRD: all but the schemas.
type header struct {
	Metadata struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Group      string                                        `json:"group"`
		Names      apiextensionsv1.CustomResourceDefinitionNames `json:"names"`
		Scope      apiextensionsv1.ResourceScope                 `json:"scope"`
		Conversion *apiextensionsv1.CustomResourceConversion     `json:"conversion"`
		Versions   []versionHeader                               `json:"versions"`
	} `json:"spec"`
}

type versionHeader struct {
	Name         string                                           `json:"name"`
	Served       bool                                             `json:"served"`
	Storage      bool                                             `json:"storage"`
	Deprecated   bool                                             `json:"deprecated"`
	Subresources *apiextensionsv1.CustomResourceSubresources      `json:"subresources"`
	Columns      []apiextensionsv1.CustomResourceColumnDefinition `json:"additionalPrinterColumns"`
}

// New reads a CRD that did not come from a file, which is not changed and not kept. The error names the CRD; it
// means that nothing can be told from it, not even which kind it is about.
func New(crd *apiextensionsv1.CustomResourceDefinition) (*Definition, error) {
	if crd == nil {
		return nil, errors.New("the CRD is nil")
	}
	raw, err := json.Marshal(crd)
	if err != nil {
		return nil, fmt.Errorf("CRD %s: %w", crd.Name, err)
	}
	return fromJSON(raw, source{text: func() ([]byte, error) { return raw, nil }})
}

// FromObject reads a CRD as an API server gives it, which is not changed and not kept. The error is as that of New, or
// ErrOtherKind.
func FromObject(o *unstructured.Unstructured) (*Definition, error) {
	if o.GetKind() != Kind || o.GetAPIVersion() != apiextensionsv1.SchemeGroupVersion.String() {
		return nil, fmt.Errorf("%w, got %s %s", ErrOtherKind, o.GetAPIVersion(), o.GetKind())
	}
	content := maps.Clone(o.Object)
	if metadata, ok := content["metadata"].(map[string]any); ok {
		// Who set which field takes as much room as a small schema.
		metadata = maps.Clone(metadata)
		delete(metadata, "managedFields")
		content["metadata"] = metadata
	}
	raw, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("CRD %s: %w", o.GetName(), err)
	}
	return fromJSON(raw, source{text: func() ([]byte, error) { return raw, nil }})
}

// fromJSON reads a CRD, whose schemas may be missing in raw.
func fromJSON(raw []byte, from source) (*Definition, error) {
	d := &Definition{source: from}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &d.spec); err != nil {
		return nil, d.wrongType(raw, err)
	}
	spec := &d.spec.Spec
	d.name = d.spec.Metadata.Name
	// The defaults of the API.
	setDefault(&spec.Names.Singular, strings.ToLower(spec.Names.Kind))
	setDefault(&spec.Names.ListKind, spec.Names.Kind+"List")
	if spec.Conversion == nil {
		spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	}
	for _, missing := range []struct{ path, value string }{
		{"metadata.name", d.name}, {"spec.group", spec.Group}, {"spec.names.kind", spec.Names.Kind}, {"spec.names.plural", spec.Names.Plural},
	} {
		if missing.value == "" {
			return nil, d.errorAt(missing.path, fmt.Errorf("CRD %s: %s is missing", d.called(), missing.path))
		}
	}
	if len(spec.Versions) == 0 {
		return nil, d.errorAt("spec.versions", fmt.Errorf("CRD %s: spec.versions is missing: it has no version", d.called()))
	}
	d.kind = schema.GroupKind{Group: spec.Group, Kind: spec.Names.Kind}
	d.decode = sync.OnceValues(d.decodeAll)
	for i, v := range spec.Versions {
		if v.Name == "" {
			return nil, d.errorAt(fmt.Sprintf("spec.versions[%d]", i), fmt.Errorf("CRD %s: spec.versions[%d].name is missing", d.name, i))
		}
		if d.Version(v.Name) != nil {
			return nil, d.errorAt(fmt.Sprintf("spec.versions[%d].name", i), fmt.Errorf("CRD %s: spec.versions[%d].name: there is a version %s already", d.name, i, v.Name))
		}
		d.versions = append(d.versions, newVersion(d, i, &v))
	}
	slices.SortStableFunc(d.versions, func(a, b *Version) int { return -version.CompareKubeAwareVersionStrings(a.Name, b.Name) })
	return d, nil
}

func setDefault(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// called is the name for messages.
func (d *Definition) called() string {
	if d.name == "" {
		return "without a name"
	}
	return d.name
}

// wrongType is an error of decoding, at the fields it is about.
func (d *Definition) wrongType(raw []byte, err error) error {
	name := d.called()
	var only struct{ Metadata struct{ Name any } }
	if json.Unmarshal(raw, &only) == nil {
		if text, ok := only.Metadata.Name.(string); ok && text != "" {
			name = text
		}
	}
	var errs []error
	for _, m := range misfits(raw) {
		if !m.unknown {
			errs = append(errs, d.errorAt(m.path, fmt.Errorf("CRD %s: %s %s", name, m.path, m.message)))
		}
	}
	if len(errs) == 0 {
		return d.errorAt("", fmt.Errorf("CRD %s: %w", name, err))
	}
	return errors.Join(errs...)
}

// decodeAll decodes the whole CRD, schemas included, and sets the API's defaults.
func (d *Definition) decodeAll() (*apiextensionsv1.CustomResourceDefinition, error) {
	raw, err := d.text()
	if err != nil {
		return nil, d.unreadable(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, crd); err != nil {
		return nil, d.wrongType(raw, err)
	}
	apiextensionsv1.SetObjectDefaults_CustomResourceDefinition(crd)
	return crd, nil
}

// unreadable is an error of reading the schemas' text.
func (d *Definition) unreadable(err error) error {
	var at *manifest.Error
	if !errors.As(err, &at) {
		return fmt.Errorf("CRD %s: %w", d.name, err)
	}
	return &manifest.Error{File: at.File, Line: at.Line, Column: at.Column, Err: fmt.Errorf("CRD %s: %w", d.name, at.Err)}
}

// CRD is the whole object with the API's defaults. It must not be changed. The error is about a schema that cannot
// be decoded.
func (d *Definition) CRD() (*apiextensionsv1.CustomResourceDefinition, error) { return d.decode() }

// Name is the object's name, plural.group.
func (d *Definition) Name() string { return d.name }

// GroupKind is what the CRD defines.
func (d *Definition) GroupKind() schema.GroupKind { return d.kind }

// Names are the names of the resource; singular and list kind are never empty. They must not be changed.
func (d *Definition) Names() *apiextensionsv1.CustomResourceDefinitionNames {
	return &d.spec.Spec.Names
}

// Namespaced says whether objects are in namespaces.
func (d *Definition) Namespaced() bool { return d.spec.Spec.Scope == apiextensionsv1.NamespaceScoped }

// Conversion says how objects get from one version to another; it is never nil, and must not be changed.
func (d *Definition) Conversion() *apiextensionsv1.CustomResourceConversion {
	return d.spec.Spec.Conversion
}

// Versions lists the versions by priority: stable ones before beta and alpha ones, newer before older. The list
// must not be changed.
func (d *Definition) Versions() []*Version { return d.versions }

// Version finds a version; it is nil if there is none of that name.
func (d *Definition) Version(name string) *Version {
	for _, v := range d.versions {
		if v.Name == name {
			return v
		}
	}
	return nil
}

// Storage is the version in which objects are stored; the first by priority where a CRD fails to say.
func (d *Definition) Storage() *Version {
	for _, v := range d.versions {
		if v.Storage {
			return v
		}
	}
	return d.versions[0]
}

// File is the file that the CRD was read from, and the line at which it starts; "" and 0 if it was not.
func (d *Definition) File() (name string, line int) {
	if d.doc == nil {
		return "", 0
	}
	if root, err := d.doc.Root(); err == nil && root != nil {
		if n := manifest.At(root, d.path...); n != nil {
			return d.doc.File, n.Line
		}
	}
	return d.doc.File, d.doc.Line
}

// Set is a fixed set of CRDs.
type Set struct {
	kinds map[schema.GroupKind]*Definition
	all   []*Definition
}

// NewSet makes a set. Two CRDs of the same name, or for the same group and kind, are an error that names both.
func NewSet(list ...*Definition) (*Set, error) {
	s := &Set{kinds: make(map[schema.GroupKind]*Definition, len(list)), all: slices.Clone(list)}
	names := make(map[string]*Definition, len(list))
	var errs []error
	for _, d := range list {
		first := names[d.name]
		if first == nil {
			first = s.kinds[d.kind]
		}
		if first != nil {
			errs = append(errs, d.errorAt("metadata.name", fmt.Errorf("CRD %s defines %s, as does CRD %s%s", d.name, d.kind, first.name, first.from())))
			continue
		}
		names[d.name], s.kinds[d.kind] = d, d
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	slices.SortFunc(s.all, func(a, b *Definition) int { return strings.Compare(a.name, b.name) })
	return s, nil
}

// from says where a CRD was read, for messages.
func (d *Definition) from() string {
	if file, line := d.File(); file != "" {
		return fmt.Sprintf(" in %s:%d", file, line)
	}
	return ""
}

// Definition finds the CRD of a group and kind. The error is always nil.
func (s *Set) Definition(kind schema.GroupKind) (*Definition, error) { return s.kinds[kind], nil }

// All lists the CRDs, sorted by name. The error is always nil.
func (s *Set) All() ([]*Definition, error) { return s.all, nil }

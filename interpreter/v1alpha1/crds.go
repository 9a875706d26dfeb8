package v1alpha1

import "embed"

// CRDs holds the CustomResourceDefinition manifests of this package's resources, one YAML file each. The
// envelope ResourceInterpreterContext has none: no API server stores it.
//
//go:embed crds/*.yaml
var CRDs embed.FS

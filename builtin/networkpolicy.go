package builtin

import (
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/kubeinterpret/interpret/interpreter"
)

// networkPolicy says who may talk to whom. A reference to an address block is not an object either.
var networkPolicy = kind{
	gvk: networkingv1.SchemeGroupVersion.WithKind("NetworkPolicy"),
	extra: rules{
		// Pods and namespaces are picked by label, and the policy holds without them.
		interpreter.InterpretDependency: interpreter.DependencyFunc(noDependencies),
	},
}

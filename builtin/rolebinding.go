package builtin

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter"
)

// roleBinding gives a role within its namespace. It is of no use in a member without the role and the accounts
// that it names.
var roleBinding = kind{
	gvk: rbacv1.SchemeGroupVersion.WithKind("RoleBinding"),
	extra: rules{
		interpreter.InterpretDependency: interpreter.DependencyFunc(bindingDependencies),
	},
}

// clusterRoleBinding gives a role in the whole cluster. Its service accounts say which namespace they are in.
var clusterRoleBinding = kind{
	gvk: rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"),
	extra: rules{
		interpreter.InterpretDependency: interpreter.DependencyFunc(bindingDependencies),
	},
}

// bindingDependencies are the role and the service accounts that get it. Users and groups are no objects;
// every namespace has its own default account. Accounts are in the binding's namespace unless they say otherwise,
// and those of a cluster-wide binding must say.
func bindingDependencies(obj *unstructured.Unstructured) ([]interpreter.DependentObjectReference, error) {
	namespace, err := namespaceOf(obj)
	if err != nil {
		return nil, err
	}
	role, err := roleOf(obj, namespace)
	if err != nil {
		return nil, err
	}
	list := role
	err = eachAt(obj.Object, func(subject map[string]any) error {
		kind, err := textAt(subject, "kind")
		if err != nil || kind != rbacv1.ServiceAccountKind {
			return err
		}
		name, err := textAt(subject, "name")
		if err != nil || name == "" || name == "default" {
			return err
		}
		in, err := textAt(subject, "namespace")
		if in == "" {
			in = namespace
		}
		if err == nil && in == "" {
			err = fault([]string{"namespace"}, "is required of a service account")
		}
		list = append(list, reference(serviceAccount.gvk, in, name))
		return err
	}, "subjects")
	return list, err
}

// userFacing are the cluster roles for people that every API server makes, and makes again when they are changed.
var userFacing = []string{"cluster-admin", "admin", "edit", "view"}

// roleOf leaves out the roles that every API server makes its own of: the user-facing cluster roles, and the roles
// whose names start with "system:". See
// https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings.
func roleOf(obj *unstructured.Unstructured, namespace string) ([]interpreter.DependentObjectReference, error) {
	kind, err := textAt(obj.Object, "roleRef", "kind")
	if err != nil {
		return nil, err
	}
	name, err := textAt(obj.Object, "roleRef", "name")
	if err != nil || name == "" || strings.HasPrefix(name, "system:") {
		return nil, err
	}
	if kind == "ClusterRole" && slices.Contains(userFacing, name) {
		return nil, nil
	}
	role := schema.GroupVersionKind{Group: rbacv1.GroupName, Version: rbacv1.SchemeGroupVersion.Version, Kind: kind}
	in := ""
	if kind == "Role" {
		in = namespace
	}
	return []interpreter.DependentObjectReference{reference(role, in, name)}, nil
}

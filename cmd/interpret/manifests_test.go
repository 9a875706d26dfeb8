package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	declarativelive "github.com/kubeinterpret/interpret/declarative/live"
	definitionlive "github.com/kubeinterpret/interpret/interpreter/definition/live"
	"github.com/kubeinterpret/interpret/interpreter/manifest"
	webhooklive "github.com/kubeinterpret/interpret/webhook/live"
)

const deployDir = "../../examples/webhook/deploy"

// manifests are the objects in the manifests by "Kind name", each decoded into its type, which must know every field.
func manifests(t *testing.T) map[string]runtime.Object {
	types := map[string]func() runtime.Object{
		"v1 Namespace":                                    func() runtime.Object { return new(corev1.Namespace) },
		"v1 Service":                                      func() runtime.Object { return new(corev1.Service) },
		"v1 ServiceAccount":                               func() runtime.Object { return new(corev1.ServiceAccount) },
		"apps/v1 Deployment":                              func() runtime.Object { return new(appsv1.Deployment) },
		"policy/v1 PodDisruptionBudget":                   func() runtime.Object { return new(policyv1.PodDisruptionBudget) },
		"rbac.authorization.k8s.io/v1 ClusterRole":        func() runtime.Object { return new(rbacv1.ClusterRole) },
		"rbac.authorization.k8s.io/v1 ClusterRoleBinding": func() runtime.Object { return new(rbacv1.ClusterRoleBinding) },
		"rbac.authorization.k8s.io/v1 Role":               func() runtime.Object { return new(rbacv1.Role) },
		"rbac.authorization.k8s.io/v1 RoleBinding":        func() runtime.Object { return new(rbacv1.RoleBinding) },
	}
	var kustomization struct{ Resources []string }
	text, err := os.ReadFile(filepath.Join(deployDir, "kustomization.yaml"))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(text, &kustomization))
	files, err := filepath.Glob(filepath.Join(deployDir, "*.yaml"))
	require.NoError(t, err)
	require.Len(t, kustomization.Resources, len(files)-1, "the kustomization has all files but itself")

	found := map[string]runtime.Object{}
	for _, file := range kustomization.Resources {
		text, err := os.ReadFile(filepath.Join(deployDir, file))
		require.NoError(t, err)
		for _, doc := range manifest.Split(file, text) {
			o, err := doc.Object()
			require.NoError(t, err)
			kind := fmt.Sprintf("%v %v", o["apiVersion"], o["kind"])
			require.Contains(t, types, kind)
			typed := types[kind]()
			data, err := yaml.Marshal(o)
			require.NoError(t, err)
			require.NoError(t, yaml.UnmarshalStrict(data, typed), file)
			found[fmt.Sprintf("%v %s", o["kind"], typed.(metav1.Object).GetName())] = typed
		}
	}
	return found
}

// What the manifests name, they have, and the arguments are those of this command.
func TestManifestsFitTogether(t *testing.T) {
	t.Parallel()
	found := manifests(t)
	namespace := found["Namespace interpret-system"].(*corev1.Namespace).Name
	deployment := found["Deployment interpret"].(*appsv1.Deployment)
	service := found["Service interpret"].(*corev1.Service)
	budget := found["PodDisruptionBudget interpret"].(*policyv1.PodDisruptionBudget)
	pod := deployment.Spec.Template.Spec
	container := pod.Containers[0]

	podLabels := labels.Set(deployment.Spec.Template.Labels)
	for what, selector := range map[string]*metav1.LabelSelector{
		"Deployment": deployment.Spec.Selector, "Service": {MatchLabels: service.Spec.Selector}, "PodDisruptionBudget": budget.Spec.Selector,
		"spread over nodes": pod.TopologySpreadConstraints[0].LabelSelector, "spread over zones": pod.TopologySpreadConstraints[1].LabelSelector,
	} {
		s, err := metav1.LabelSelectorAsSelector(selector)
		require.NoError(t, err)
		assert.False(t, s.Empty(), what)
		assert.True(t, s.Matches(podLabels), what)
	}
	for _, o := range []metav1.Object{deployment, service, budget, found["ServiceAccount interpret"].(metav1.Object)} {
		assert.Equal(t, namespace, o.GetNamespace())
	}
	assert.Contains(t, found, "ServiceAccount "+pod.ServiceAccountName)
	assert.Greater(t, *deployment.Spec.Replicas, int32(1))
	assert.Equal(t, 0, deployment.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue())
	assert.Less(t, budget.Spec.MaxUnavailable.IntValue(), int(*deployment.Spec.Replicas))

	// The restricted standard.
	assert.True(t, *pod.SecurityContext.RunAsNonRoot)
	assert.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
	assert.False(t, *container.SecurityContext.AllowPrivilegeEscalation)
	assert.True(t, *container.SecurityContext.ReadOnlyRootFilesystem)
	assert.Equal(t, []corev1.Capability{"ALL"}, container.SecurityContext.Capabilities.Drop)

	// The arguments.
	cmd, rest, err := newRoot(newSession(nil, io.Discard, io.Discard)).Find(container.Args)
	require.NoError(t, err)
	require.Equal(t, "serve", cmd.Name())
	require.NoError(t, cmd.ParseFlags(rest))
	require.NoError(t, cmd.ValidateArgs(cmd.Flags().Args()))
	flag := func(name string) string { return cmd.Flags().Lookup(name).Value.String() }
	o := &serveOptions{
		body: flag("limit-body"), inFlight: 1, answer: 1,
		listen: flag("listen"), certificate: flag("tls-cert-file"), key: flag("tls-private-key-file"),
		cluster:      clusterFlags{fromCluster: flag("from-cluster") == "true"},
		registration: registrationFlags{service: flag("service"), name: flag("config-name")},
	}
	require.NoError(t, o.complete(cmd.Flags()))
	assert.True(t, o.cluster.chosen())
	own, err := o.registration.serviceReference(interpretPath)
	require.NoError(t, err)
	assert.Equal(t, service.Namespace, own.Namespace)
	assert.Equal(t, service.Name, own.Name)
	assert.EqualValues(t, httpsPort, service.Spec.Ports[0].Port)
	_, port, err := net.SplitHostPort(o.listen)
	require.NoError(t, err)
	assert.Equal(t, port, fmt.Sprint(container.Ports[0].ContainerPort))
	assert.Equal(t, container.Ports[0].Name, service.Spec.Ports[0].TargetPort.String())
	drain, err := time.ParseDuration(flag("drain"))
	require.NoError(t, err)
	grace, err := time.ParseDuration(flag("grace"))
	require.NoError(t, err)
	assert.Greater(t, time.Duration(*pod.TerminationGracePeriodSeconds)*time.Second, drain+grace)
	mount := container.VolumeMounts[0]
	for _, file := range []string{o.certificate, o.key} {
		assert.Equal(t, mount.MountPath, filepath.Dir(file))
	}
	assert.Equal(t, pod.Volumes[0].Name, mount.Name)

	// Who is not taken out of the Service before the drain ends is asked until the end.
	ready := container.ReadinessProbe
	assert.LessOrEqual(t, time.Duration(ready.PeriodSeconds*ready.FailureThreshold)*time.Second, drain)

	// The probes ask for what is served.
	s := start(t)
	for _, probe := range []*corev1.Probe{container.ReadinessProbe, container.LivenessProbe} {
		assert.Equal(t, container.Ports[0].Name, probe.HTTPGet.Port.String())
		assert.Equal(t, corev1.URISchemeHTTPS, probe.HTTPGet.Scheme)
		status, body := s.get(probe.HTTPGet.Path)
		assert.Equal(t, 200, status)
		assert.Equal(t, "ok\n", body)
	}
}

// The account may do what the server does, and only look at the rest.
func TestTheAccountMayFollow(t *testing.T) {
	t.Parallel()
	found := manifests(t)
	role := found["ClusterRole interpret"].(*rbacv1.ClusterRole)
	assert.Equal(t, role.Name, found["ClusterRoleBinding interpret"].(*rbacv1.ClusterRoleBinding).RoleRef.Name)
	allowed := map[string][]string{}
	for _, rule := range role.Rules {
		assert.NotContains(t, strings.Join(append(append(slices.Clone(rule.APIGroups), rule.Resources...), rule.Verbs...), " "), "*")
		for _, resource := range rule.Resources {
			allowed[resource] = rule.Verbs
		}
	}
	for _, resource := range []string{
		declarativelive.Resource, webhooklive.Resource, definitionlive.Resource, "services", "endpointslices",
	} {
		assert.ElementsMatch(t, []string{"list", "watch"}, allowed[resource], resource)
	}
	assert.Len(t, allowed, 5)
	events := found["Role interpret-events"].(*rbacv1.Role)
	assert.Equal(t, metav1.NamespaceDefault, events.Namespace)
	assert.Equal(t, []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}}}, events.Rules)
	for _, subjects := range [][]rbacv1.Subject{
		found["ClusterRoleBinding interpret"].(*rbacv1.ClusterRoleBinding).Subjects,
		found["RoleBinding interpret-events"].(*rbacv1.RoleBinding).Subjects,
	} {
		assert.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Name: "interpret", Namespace: "interpret-system"}}, subjects)
	}
}

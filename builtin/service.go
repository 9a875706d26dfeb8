package builtin

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// service gives pods a common address. Which fields the API server allocates, and which depend on the type, is
// told in https://kubernetes.io/docs/concepts/services-networking/service; families and several addresses
// came with KEP-563.
var service = kind{
	gvk: corev1.SchemeGroupVersion.WithKind("Service"),
	rules: rules{
		interpreter.Retain:          interpreter.RetainFunc(retainService),
		interpreter.AggregateStatus: interpreter.AggregateFunc(aggregateService),
		interpreter.InterpretStatus: interpreter.StatusFunc(reflectService),
		interpreter.InterpretHealth: interpreter.HealthFunc(serviceHealth),
		interpreter.Prune:           pruneFunc(pruneService),
	},
	extra: rules{
		interpreter.Prune: interpreter.PruneFunc(pruneAllocated),
	},
}

// retainService keeps what the API server of the member has allocated, where the template leaves it open:
// addresses and their families, which cannot be changed, and ports on the nodes. A template that asks for a
// headless Service, or names its address, says it all.
func retainService(desired, observed *unstructured.Unstructured) error {
	if err := keepIfEmpty(portAt, desired, observed, "spec", "healthCheckNodePort"); err != nil {
		return err
	}
	spec, err := mapAt(desired.Object, "spec")
	if err != nil {
		return err
	}
	typ, err := textAt(spec, "type")
	if err != nil {
		return err
	}
	switch corev1.ServiceType(typ) {
	case corev1.ServiceTypeExternalName:
		return nil // has neither addresses nor ports
	case corev1.ServiceTypeNodePort:
		err = retainNodePorts(desired, observed)
	case corev1.ServiceTypeLoadBalancer:
		if allocate, ok := spec["allocateLoadBalancerNodePorts"].(bool); !ok || allocate {
			err = retainNodePorts(desired, observed)
		} // else an omitted node port is one to be given up
	}
	if err != nil {
		return err
	}
	return retainAddresses(desired, observed, isBare(spec))
}

// isBare says of a spec that it has nothing but what retaining may have put there. No API server has stored a
// Service like that. It keeps Karmada's recorded answer to a template without a spec, which gets the address alone
// and no lists that follow from it.
func isBare(spec map[string]any) bool {
	for name := range spec {
		if name != "clusterIP" && name != "healthCheckNodePort" {
			return false
		}
	}
	return true
}

// retainAddresses keeps addresses and families together or not at all: the API server refuses a list that
// does not begin with the address.
func retainAddresses(desired, observed *unstructured.Unstructured, bare bool) error {
	wanted, err := textAt(desired.Object, "spec", "clusterIP")
	if err != nil {
		return err
	}
	have, err := textAt(observed.Object, "spec", "clusterIP")
	if err != nil || wanted != "" && wanted != have || have == "" {
		return err
	}
	if wanted == corev1.ClusterIPNone {
		return nil
	}
	if err := keepIfEmpty(textAt, desired, observed, "spec", "clusterIP"); err != nil || bare {
		return err // without a spec nobody says what is meant; the API server derives the rest
	}
	for _, name := range []string{"clusterIPs", "ipFamilies"} {
		if err := keepIfEmpty(listAt, desired, observed, "spec", name); err != nil {
			return err
		}
	}
	return keepIfEmpty(textAt, desired, observed, "spec", "ipFamilyPolicy")
}

// servicePort is a port of a Service, and where it is written.
type servicePort struct {
	fields         map[string]any
	name, protocol string
	port, nodePort int32
}

// retainNodePorts keeps clients that go to a node's port: an update that omits it would get another one.
//
// It gives each desired port without one the node port of the observed port of the same name,
// or else of the same protocol and number. No node port is given twice.
func retainNodePorts(desired, observed *unstructured.Unstructured) error {
	wanted, err := servicePorts(desired.Object)
	if err != nil {
		return err
	}
	free, err := servicePorts(observed.Object)
	if err != nil {
		return err
	}
	free = slices.DeleteFunc(free, func(f servicePort) bool {
		return f.nodePort == 0 || slices.ContainsFunc(wanted, func(w servicePort) bool {
			return w.nodePort == f.nodePort && w.protocol == f.protocol
		})
	})
	for _, same := range []func(a, b servicePort) bool{
		func(a, b servicePort) bool { return a.name != "" && a.name == b.name },
		func(a, b servicePort) bool { return a.protocol == b.protocol && a.port == b.port },
	} {
		for i := range wanted {
			if wanted[i].nodePort != 0 {
				continue
			}
			at := slices.IndexFunc(free, func(f servicePort) bool { return same(wanted[i], f) })
			if at < 0 {
				continue
			}
			wanted[i].nodePort = free[at].nodePort
			wanted[i].fields["nodePort"] = int64(free[at].nodePort)
			free = slices.Delete(free, at, at+1)
		}
	}
	return nil
}

// servicePorts reads spec.ports. The protocol is TCP where none is given, as the API server fills in.
func servicePorts(obj map[string]any) ([]servicePort, error) {
	var list []servicePort
	err := eachAt(obj, func(fields map[string]any) error {
		p := servicePort{fields: fields}
		var err error
		if p.name, err = textAt(fields, "name"); err != nil {
			return err
		}
		if p.protocol, err = textAt(fields, "protocol"); err != nil {
			return err
		}
		if p.protocol == "" {
			p.protocol = string(corev1.ProtocolTCP)
		}
		if p.port, err = portAt(fields, "port"); err != nil {
			return err
		}
		p.nodePort, err = portAt(fields, "nodePort")
		list = append(list, p)
		return err
	}, "spec", "ports")
	return list, err
}

// aggregateService leaves Services without a load balancer alone.
func aggregateService(obj *unstructured.Unstructured, items []interpreter.AggregatedStatusItem) error {
	balanced, err := isLoadBalancer(obj.Object)
	if !balanced || err != nil {
		return err
	}
	return aggregateAddresses(obj, items)
}

// reflectService sends the load balancer's addresses up. Services of other types have no status.
func reflectService(obj *unstructured.Unstructured) (any, error) {
	status, err := mapAt(obj.Object, "status")
	if err != nil {
		return nil, err
	}
	balanced, err := isLoadBalancer(obj.Object)
	if !balanced || status == nil || err != nil {
		return nil, err
	}
	balancer, err := mapAt(status, "loadBalancer")
	if err != nil {
		return nil, within("status", err)
	}
	if balancer == nil {
		balancer = map[string]any{}
	}
	return map[string]any{"loadBalancer": interpreter.CloneValue(balancer)}, nil
}

// serviceHealth waits for the load balancer. Whether anything answers behind an address is for the
// endpoints to say, which are objects of their own.
func serviceHealth(obj *unstructured.Unstructured) (interpreter.Health, error) {
	balanced, err := isLoadBalancer(obj.Object)
	if err != nil {
		return interpreter.Health{}, err
	}
	if !balanced {
		return verdict(interpreter.Healthy, "NotBalanced", "only a Service of type LoadBalancer has anything to wait for"), nil
	}
	return addressHealth(obj.Object)
}

// pruneService takes the addresses away that the control plane has allocated. "None" is not one of them: it is
// the user's. Ports on nodes stay, since nothing tells those that the user has chosen from allocated ones.
func pruneService(obj map[string]any) error {
	ip, err := textAt(obj, "spec", "clusterIP")
	if err != nil {
		return err
	}
	if ip != corev1.ClusterIPNone {
		remove(obj, "spec", "clusterIP")
		remove(obj, "spec", "clusterIPs")
	}
	return nil
}

// pruneAllocated goes further where it can tell what the API server has filled in from what somebody has asked for:
// the record of managed fields lists only the latter. A node port that the control plane came up with may be
// taken in a member, and its address families may not exist there. Fields without a record stay.
func pruneAllocated(obj *unstructured.Unstructured) error {
	asked, err := managedFieldsOf(obj.Object, "spec")
	if err != nil {
		return err
	}
	for _, name := range []string{"healthCheckNodePort", "ipFamilies", "ipFamilyPolicy"} {
		if asked.known() && !asked.has("f:"+name) {
			remove(obj.Object, "spec", name)
		}
	}
	ports, err := servicePorts(obj.Object)
	if err != nil {
		return err
	}
	for _, p := range ports {
		port := asked.at("f:ports", fmt.Sprintf(`k:{"port":%d,"protocol":%q}`, p.port, p.protocol))
		if port.known() && !port.has("f:nodePort") {
			delete(p.fields, "nodePort")
		}
	}
	pruneAny(obj.Object)
	return pruneService(obj.Object)
}

// isLoadBalancer goes by the spec. A Service without a type is one within the cluster.
func isLoadBalancer(obj map[string]any) (bool, error) {
	typ, err := textAt(obj, "spec", "type")
	return corev1.ServiceType(typ) == corev1.ServiceTypeLoadBalancer, err
}

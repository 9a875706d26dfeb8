package builtin

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// address is a place where a load balancer listens: an entry of status.loadBalancer.ingress.
type address struct {
	hostname, ip string
	// mode is the ipMode, which only Services have; empty is not set.
	mode  string
	ports []addressPort
}

// addressPort is a port of an address, with the reason why it could not be had, if it could not.
type addressPort struct {
	port           int32
	protocol, fail string
}

// compare orders by host name, IP and mode. What has none of a kind comes after what has one.
func (a address) compare(b address) int {
	return cmp.Or(
		emptyLast(a.hostname, b.hostname),
		strings.Compare(a.ip, b.ip),
		emptyLast(a.mode, b.mode),
	)
}

// compare orders by number, protocol and error, working ports first.
func (p addressPort) compare(q addressPort) int {
	return cmp.Or(
		cmp.Compare(p.port, q.port),
		strings.Compare(p.protocol, q.protocol),
		strings.Compare(p.fail, q.fail),
	)
}

// emptyLast compares texts, except that the empty one comes after all others.
func emptyLast(a, b string) int {
	if (a == "") != (b == "") {
		return -strings.Compare(a, b)
	}
	return strings.Compare(a, b)
}

// aggregateAddresses makes the status a load balancer with the addresses of all members, in order. Equal
// addresses become one with the ports of all. Old conditions go: they were about one cluster's load balancer.
func aggregateAddresses(obj *unstructured.Unstructured, items []interpreter.AggregatedStatusItem) error {
	var all []address
	_, err := eachReported(items, func(_ string, status raw) error {
		return status.each(func(entry raw) error {
			a, err := addressOf(entry)
			all = append(all, a)
			return err
		}, "loadBalancer", "ingress")
	})
	if err != nil {
		return err
	}
	balancer := map[string]any{}
	if len(all) > 0 {
		balancer["ingress"] = addressList(all)
	}
	return set(obj.Object, map[string]any{"loadBalancer": balancer}, "status")
}

// addressOf reads an entry. Services and Ingresses share the shape but for ipMode (KEP-1860).
func addressOf(entry raw) (a address, err error) {
	if a.hostname, err = entry.text("hostname"); err != nil {
		return a, err
	}
	if a.ip, err = entry.text("ip"); err != nil {
		return a, err
	}
	if a.mode, err = entry.text("ipMode"); err != nil {
		return a, err
	}
	err = entry.each(func(port raw) error {
		var p addressPort
		var err error
		if p.port, err = port.int32("port"); err != nil {
			return err
		}
		if p.protocol, err = port.text("protocol"); err != nil {
			return err
		}
		p.fail, err = port.text("error")
		a.ports = append(a.ports, p)
		return err
	}, "ports")
	return a, err
}

// addressList sorts addresses and folds neighbours that are equal but for their ports.
func addressList(all []address) []any {
	slices.SortStableFunc(all, address.compare)
	var list []any
	for len(all) > 0 {
		same := 1
		for same < len(all) && all[same].compare(all[0]) == 0 {
			all[0].ports = append(all[0].ports, all[same].ports...)
			same++
		}
		list = append(list, all[0].value())
		all = all[same:]
	}
	return list
}

// value is the entry as the API writes it: what is not set is left out.
func (a address) value() map[string]any {
	v := map[string]any{}
	setText(v, "hostname", a.hostname)
	setText(v, "ip", a.ip)
	setText(v, "ipMode", a.mode)
	slices.SortFunc(a.ports, addressPort.compare)
	var ports []any
	for _, p := range slices.Compact(a.ports) {
		port := map[string]any{"port": int64(p.port)}
		setText(port, "protocol", p.protocol)
		setText(port, "error", p.fail)
		ports = append(ports, port)
	}
	if ports != nil {
		v["ports"] = ports
	}
	return v
}

// setText writes a text unless it is empty.
func setText(obj map[string]any, name, text string) {
	if text != "" {
		obj[name] = text
	}
}

// addressHealth is healthy once the load balancer has an address, by name or number.
func addressHealth(obj map[string]any) (interpreter.Health, error) {
	found := false
	err := eachAt(obj, func(entry map[string]any) error {
		hostname, err := textAt(entry, "hostname")
		if err != nil {
			return err
		}
		ip, err := textAt(entry, "ip")
		found = found || hostname != "" || ip != ""
		return err
	}, "status", "loadBalancer", "ingress")
	if err != nil {
		return interpreter.Health{}, err
	}
	if found {
		return verdict(interpreter.Healthy, "AddressAssigned", "the load balancer has an address"), nil
	}
	return verdict(interpreter.Progressing, "NoAddress", "waiting for an address of the load balancer"), nil
}

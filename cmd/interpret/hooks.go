package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/interpreter/manifest"
	"github.com/kubeinterpret/interpret/webhook"
	"github.com/kubeinterpret/interpret/webhook/conversion"
)

const hookAddressFlag = "--hook-address"

// hookFlags say how the hooks of webhook configurations are reached.
type hookFlags struct {
	// addresses are where Services are, by "NAMESPACE/NAME".
	addresses map[string]string
}

// add adds the flags for commands that ask hooks.
func (f *hookFlags) add(cmd *cobra.Command) {
	cmd.Flags().Var(addressValue{f}, "hook-address", "where the hooks of a Service are reached, NAMESPACE/NAME=HOST:PORT, as through kubectl port-forward; without it by the Service's DNS name; may be repeated")
	must(cmd.RegisterFlagCompletionFunc("hook-address", cobra.NoFileCompletions))
}

// addressValue is the flag, checked as it is set.
type addressValue struct{ to *hookFlags }

func (v addressValue) String() string {
	if v.to == nil {
		return ""
	}
	var list []string
	for _, service := range slices.Sorted(maps.Keys(v.to.addresses)) {
		list = append(list, service+"="+v.to.addresses[service])
	}
	return strings.Join(list, ",")
}

func (v addressValue) Set(text string) error {
	service, address, ok := strings.Cut(text, "=")
	namespace, name, named := strings.Cut(service, "/")
	host, port, err := net.SplitHostPort(address)
	if !ok || !named || namespace == "" || name == "" || strings.Contains(name, "/") || err != nil || host == "" || port == "" {
		return errors.New("want NAMESPACE/NAME=HOST:PORT, such as hooks/web=localhost:8443")
	}
	if _, twice := v.to.addresses[service]; twice {
		return fmt.Errorf("%s has an address already", service)
	}
	if v.to.addresses == nil {
		v.to.addresses = map[string]string{}
	}
	v.to.addresses[service] = address
	return nil
}

func (v addressValue) Type() string { return "ADDRESS" }

// Resolve gives the address that a flag has for a Service. Of others the DNS name is all that is known here.
func (f hookFlags) Resolve(_ context.Context, namespace, name string, _ int32) ([]string, error) {
	if address := f.addresses[namespace+"/"+name]; address != "" {
		return []string{address}, nil
	}
	return nil, nil
}

// check finds addresses of Services that no configuration names. Whoever gave one expects that it counts.
func (f hookFlags) check(configurations []*webhook.Configuration, definitions []*definition.Definition) error {
	var services []string
	for _, d := range definitions {
		if hook := d.Conversion().Webhook; hook != nil && hook.ClientConfig != nil && hook.ClientConfig.Service != nil {
			services = append(services, hook.ClientConfig.Service.Namespace+"/"+hook.ClientConfig.Service.Name)
		}
	}
	for _, c := range configurations {
		for i := range c.Webhooks {
			if s := c.Webhooks[i].ClientConfig.Service; s != nil {
				services = append(services, s.Namespace+"/"+s.Name)
			}
		}
	}
	slices.Sort(services)
	services = slices.Compact(services)
	for _, service := range slices.Sorted(maps.Keys(f.addresses)) {
		if slices.Contains(services, service) {
			continue
		}
		if near := interpreter.Nearest(service, services); near != "" {
			return usage("%s: no webhook configuration names the Service %s, did you mean %s?", hookAddressFlag, service, near)
		}
		have := "none is named"
		if len(services) > 0 {
			have = "have " + some(services)
		}
		return usage("%s: no webhook configuration names the Service %s (%s)", hookAddressFlag, service, have)
	}
	return nil
}

// layer makes the layer of the hooks; it is nil if there are no configurations. Every mistake is told with its place.
func (f hookFlags) layer(configurations []*webhook.Configuration, options ...webhook.Option) (*webhook.Layer, error) {
	if len(configurations) == 0 {
		return nil, nil
	}
	if err := fatalProblems(configurations); err != nil {
		return nil, err
	}
	return webhook.New(webhook.Objects(configurations), append([]webhook.Option{webhook.WithResolver(f)}, options...)...)
}

// fatalProblems are the mistakes for which a layer would not take configurations.
func fatalProblems(configurations []*webhook.Configuration) error {
	var errs []error
	for _, p := range webhook.Check(configurations) {
		if p.Fatal {
			errs = append(errs, &failure{&manifest.Error{File: p.File, Line: p.Line, Column: p.Column,
				Err: fmt.Errorf("webhook configuration %q: %s: %s", p.Configuration.Name, p.Field, p.Message)}})
		}
	}
	return errors.Join(errs...)
}

// hookHint tells how a hook is reached whose Service's DNS name only means something inside the cluster.
func hookHint(err error) error {
	var call *webhook.CallError
	var convert *conversion.ConvertError
	var dns *net.DNSError
	if !errors.As(err, &call) && !errors.As(err, &convert) || !errors.As(err, &dns) {
		return err
	}
	service, rest, _ := strings.Cut(dns.Name, ".")
	namespace, isService := strings.CutSuffix(rest, ".svc")
	if !isService {
		return err
	}
	return fmt.Errorf("%w; outside of the cluster, say where it is reached: %s %s/%s=HOST:PORT", err, hookAddressFlag, namespace, service)
}

// Command kindtable writes interpreter/kinds/standard.json: which kinds a freshly installed API server serves, in
// its own words. It starts the server that KUBEBUILDER_ASSETS names; make kind-table runs it.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/go-logr/logr"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// table is the file. Its field is called as in a list of Kubernetes, and so is what is in it.
type table struct {
	// KubernetesVersion is of the server that was asked, such as v1.30.0.
	KubernetesVersion string `json:"kubernetesVersion"`
	// Items are the groups with their versions, each in the order in which the server prefers them.
	Items []apidiscoveryv2.APIGroupDiscovery `json:"items"`
}

// discoveryType asks for all of a path's groups in one document.
const discoveryType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

func main() {
	log.SetFlags(0)
	ctrllog.SetLogger(logr.Discard())
	if len(os.Args) != 2 {
		log.Fatal("usage: kindtable FILE")
	}
	if err := write(os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func write(file string) (err error) {
	env := &envtest.Environment{ControlPlaneStartTimeout: 2 * time.Minute, ControlPlaneStopTimeout: time.Minute}
	config, err := env.Start()
	defer func() { err = errors.Join(err, env.Stop()) }()
	if err != nil {
		return fmt.Errorf("starting the control plane: %w", err)
	}
	t, err := read(config)
	if err != nil {
		return err
	}
	data, err := t.lines()
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// lines writes the table as JSON with a line for each resource, so that the difference between two servers can be
// read.
func (t *table) lines() ([]byte, error) {
	data, err := json.Marshal(t)
	for _, before := range []string{`{"metadata":`, `{"version":`, `{"resource":`} {
		data = bytes.ReplaceAll(data, []byte(before), []byte("\n"+before))
	}
	return append(data, '\n'), err
}

// read asks a server for its groups, those of the legacy path first.
func read(config *rest.Config) (*table, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	version, err := client.ServerVersion()
	if err != nil {
		return nil, err
	}
	t := &table{KubernetesVersion: version.GitVersion}
	for _, path := range []string{"/api", "/apis"} {
		data, err := client.RESTClient().Get().AbsPath(path).SetHeader("Accept", discoveryType).Do(context.Background()).Raw()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		list := apidiscoveryv2.APIGroupDiscoveryList{}
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for i := range list.Items {
			if err := tidy(&list.Items[i]); err != nil {
				return nil, err
			}
		}
		t.Items = append(t.Items, list.Items...)
	}
	return t, nil
}

// tidy takes out what is about this run of the server. A version that it could not tell about must not be missing
// from the table unnoticed.
func tidy(g *apidiscoveryv2.APIGroupDiscovery) error {
	g.ObjectMeta = metav1.ObjectMeta{Name: g.Name}
	for i := range g.Versions {
		v := &g.Versions[i]
		if v.Freshness != apidiscoveryv2.DiscoveryFreshnessCurrent {
			return fmt.Errorf("%s/%s is %s", g.Name, v.Version, v.Freshness)
		}
		v.Freshness = ""
	}
	return nil
}

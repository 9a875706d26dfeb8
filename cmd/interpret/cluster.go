package main

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// clientLog guards the one logger that client-go has in a process.
var clientLog sync.Once

// logClients sends what client-go logs by itself to a logger. To set that while somebody logs is a race, so the first
// one stays; a process runs one command.
func logClients(to *slog.Logger) { clientLog.Do(func() { klog.SetSlogLogger(to) }) }

// clusterFlags are the flags that name an API server.
type clusterFlags struct {
	fromCluster         bool
	kubeconfig, context string
}

func (f *clusterFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.fromCluster, "from-cluster", false, "read customizations and webhook configurations from an API server and follow their changes, rather than from files")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "the kubeconfig that names the API server, which means --from-cluster; else KUBECONFIG, ~/.kube/config, or in a pod its service account")
	flags.StringVar(&f.context, "context", "", "the context in the kubeconfig, which means --from-cluster")
}

// chosen says whether an API server is meant. That a kubeconfig lies about somewhere does not mean it.
func (f *clusterFlags) chosen() bool { return f.fromCluster || f.kubeconfig != "" || f.context != "" }

// config is how the API server is reached, by the rules that kubectl has: the file that is named, else those in
// KUBECONFIG, else the one in the home directory, else, in a pod, its service account.
//
// inside says that it is the service account, and so the cluster that this command runs in.
func (f *clusterFlags) config() (config *rest.Config, inside bool, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	rules.WarnIfAllMissing = false // The error says it.
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
	config, err = loader.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, false, errNoServer()
	case err != nil:
		return nil, false, fmt.Errorf("kubeconfig: %w", err)
	}
	config.UserAgent = "interpret/" + versionText()
	files, err := loader.RawConfig()
	return config, err == nil && len(files.Clusters) == 0, nil
}

// errNoServer means that nothing names an API server.
func errNoServer() error {
	return fmt.Errorf("no API server is known: --kubeconfig and KUBECONFIG are not set, there is no %s, and this is no pod with a service account", clientcmd.RecommendedHomeFile)
}

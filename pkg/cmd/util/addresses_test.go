package util

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// TestAddressesOfUnselectedContexts: the cluster that was asked is recognised even if
// another context for it comes first in the kubeconfig.
func TestAddressesOfUnselectedContexts(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	for name, at := range map[string]string{"here": server.URL, "elsewhere": server.URL + "/other"} {
		config.Clusters[name] = &clientcmdapi.Cluster{Server: at}
	}
	for name, cluster := range map[string]string{"a-developer": "here", "worker": "here", "z-twin": "here", "another": "elsewhere"} {
		config.Contexts[name] = &clientcmdapi.Context{Cluster: cluster}
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	assert.NilError(t, clientcmd.WriteToFile(*config, path))
	f := NewGlobalFlags()
	f.Kube.KubeConfig = &path
	chosen, err := fleet.Load(f.Kube, fleet.Selection{Patterns: []string{"worker"}})
	assert.NilError(t, err)
	shown := map[string]int{}
	for _, a := range f.Addresses(chosen, fleet.Open(t.Context(), chosen, fleet.Options{})) {
		shown[a.Context]++
	}
	assert.DeepEqual(t, shown, map[string]int{"worker": 3, "another": 1})
}

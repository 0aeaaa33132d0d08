package cmd

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
)

// openedBundles are the opened snapshots of the tree, by directory: some are used hundreds of times, and
// opening one takes longer than answering from it.
var openedBundles sync.Map

// openOnce opens a snapshot. It opens each snapshot of the tree once: tests change only their own snapshots.
func openOnce(dir string) (*bundle.Bundle, error) {
	if !strings.HasPrefix(dir, "../") {
		return bundle.Open(dir)
	}
	opens, _ := openedBundles.LoadOrStore(dir, sync.OnceValues(func() (*bundle.Bundle, error) { return bundle.Open(dir) }))
	return opens.(func() (*bundle.Bundle, error))()
}

func openBundle(t *testing.T, dir string) *bundle.Bundle {
	t.Helper()
	b, err := openOnce(dir)
	assert.NilError(t, err)
	return b
}

// serve serves a bundle as API servers, one for each of its contexts, that answer like those of
// the bundle, unless answers has answered. It returns a kubeconfig for them with a token; its
// current context is the bundle's first.
func serve(t *testing.T, dir string, answers func(context string, w http.ResponseWriter, r *http.Request) bool) (kubeconfig string) {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{Token: "secret-token"}
	for _, c := range openBundle(t, dir).Contexts() {
		if c.Err != nil {
			continue
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if answers(c.Name, w, r) || r.Context().Err() != nil {
				return
			}
			asked := r.Clone(r.Context())
			asked.Body = nil
			if answer, err := c.Config.Transport.RoundTrip(asked); err == nil {
				defer func() { _ = answer.Body.Close() }()
				relay(w, answer)
			}
		}))
		t.Cleanup(server.Close)
		t.Cleanup(server.CloseClientConnections)
		config.Clusters[c.Name] = &clientcmdapi.Cluster{Server: server.URL}
		config.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: "admin", Namespace: c.Namespace}
		if config.CurrentContext == "" {
			config.CurrentContext = c.Name
		}
	}
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	assert.NilError(t, clientcmd.WriteToFile(*config, kubeconfig))
	return kubeconfig
}

// relay sends a recorded answer.
func relay(w http.ResponseWriter, recorded *http.Response) {
	maps.Copy(w.Header(), recorded.Header)
	w.WriteHeader(recorded.StatusCode)
	_, _ = io.Copy(w, recorded.Body)
}

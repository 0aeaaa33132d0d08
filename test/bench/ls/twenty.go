package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/bench/figures"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/bench/measure"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
)

const (
	// twenty is the number of contexts in a large fleet, of which some are slow and one is dead.
	twenty, slowOnes = 20, 2
	// late is how long a slow cluster takes to answer any request.
	late = 2 * time.Second
	// incomplete is the plugin's exit code if a context could not be read.
	incomplete = 4
)

// ofTwenty measures ls of a large fleet, compared to its slowest cluster alone. The whole fleet
// is one cluster, which has another identity behind each context.
func (b *bench) ofTwenty(set *clusters.Set, plugin string) ([]figures.Figure, error) {
	config, err := set.Config("one")
	if err != nil {
		return nil, err
	}
	kubeconfig, err := writeManyContexts(b.ctx, config, filepath.Dir(set.Kubeconfig))
	if err != nil {
		return nil, err
	}
	large := &bench{ctx: b.ctx, kubeconfig: kubeconfig, runs: b.runs}
	const (
		all  = "ls -A of twenty contexts"
		slow = "the slow one alone"
	)
	fmt.Printf("twenty contexts, of which %d answer %s late, and one not at all\n\n", slowOnes, late)
	medians, err := measure.Compare(large.runs,
		measure.Measurement{Name: slow, Run: large.command(plugin, "ls", "-A", "--context", "slow-1")},
		measure.Measurement{Name: all, Run: measure.Exits(b.ctx, incomplete, plugin, "ls", "-A", "--all-contexts", "--kubeconfig", kubeconfig)},
	)
	if err != nil {
		return nil, err
	}
	together := timed(all+", one of them dead, two slow", medians[all], slow, medians[slow], 1.2)
	together.Why = "the clusters share the processors with what is measured, and the layout of all rows by tablewriter begins after the slowest answer."
	return []figures.Figure{together, {
		What: all + ": most memory at once", Value: inMB(medians[all]), Baseline: slow + ": " + inMB(medians[slow]), Is: medians[all].Megabytes(), Unit: "MB",
	}}, nil
}

// writeManyContexts writes a kubeconfig with twenty contexts, and returns its name.
func writeManyContexts(ctx context.Context, cluster *rest.Config, dir string) (string, error) {
	fleet := api.NewConfig()
	for i := range twenty {
		name, delay := fmt.Sprintf("cluster-%d", i+1), time.Duration(0)
		if i < slowOnes {
			name, delay = fmt.Sprintf("slow-%d", i+1), late
		}
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		fleet.Clusters[name] = &api.Cluster{Server: "http://" + listener.Addr().String()}
		fleet.Contexts[name] = &api.Context{Cluster: name}
		if i == twenty-1 {
			// Nothing listens there any more.
			if err := listener.Close(); err != nil {
				return "", err
			}
			continue
		}
		as, err := disguise(cluster, name, delay)
		if err != nil {
			return "", err
		}
		server := &http.Server{Handler: as, ReadHeaderTimeout: time.Minute}
		context.AfterFunc(ctx, func() { _ = server.Close() })
		go func() { _ = server.Serve(listener) }()
	}
	path := filepath.Join(dir, "twenty")
	return path, clientcmd.WriteToFile(*fleet, path)
}

// disguise answers like a cluster, but with another UID of its kube-system namespace, and with a
// delay.
func disguise(cluster *rest.Config, uid string, delay time.Duration) (http.Handler, error) {
	server, err := url.Parse(cluster.Host)
	if err != nil {
		return nil, err
	}
	proxy := httputil.NewSingleHostReverseProxy(server)
	if proxy.Transport, err = rest.TransportFor(cluster); err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
			return
		case <-time.After(delay):
		}
		if !strings.HasSuffix(r.URL.Path, "/namespaces/"+metav1.NamespaceSystem) {
			proxy.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"},
			ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: types.UID(uid)},
		})
	}), nil
}

package main

import (
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/rbactest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/bench/figures"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
)

// mostRequests returns the maximum number of requests to each side for a dispatched Job that has
// finished. One of those to the worker proves, before the creation, that the context still reaches the same
// cluster. Renewals of the Lease depend on how long the Job runs.
func mostRequests() map[string]float64 { return map[string]float64{management: 13, worker: 9} }

// counted is a proxy of a cluster that counts requests, except watches, which do not end.
type counted struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int
}

func newCounted(set *clusters.Set, name string) (*counted, error) {
	config, err := set.Config(name)
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	c := &counted{asked: map[string]int{}}
	next := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked, ok := rbactest.RequestOf(r); ok && asked.Verb != "watch" {
			what := asked.Verb + " " + asked.Resource
			if r.URL.Query().Get("dryRun") != "" {
				what += " (dry run)"
			}
			c.mu.Lock()
			c.asked[what]++
			c.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	}))
	c.EnableHTTP2 = true
	c.StartTLS()
	return c, nil
}

// count dispatches that many Jobs until they have finished, and prints the number of requests to
// each side per Job.
func count(ctx context.Context, set *clusters.Set, n int) ([]figures.Figure, error) {
	config, err := clientcmd.LoadFromFile(set.Kubeconfig)
	if err != nil {
		return nil, err
	}
	sides := map[string]*counted{}
	defer func() {
		for _, side := range sides {
			side.Close()
		}
	}()
	for _, name := range []string{management, worker} {
		side, err := newCounted(set, name)
		if err != nil {
			return nil, err
		}
		sides[name] = side
		entry := config.Clusters[config.Contexts[name].Cluster]
		entry.Server, entry.CertificateAuthority = side.URL, ""
		entry.CertificateAuthorityData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: side.Certificate().Raw})
	}
	kubeconfig := filepath.Join(filepath.Dir(set.Kubeconfig), "counted")
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		return nil, err
	}
	const namespace = "bench-requests"
	if err := finishing(ctx, set, namespace, n); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, *plugin, "dispatch", "--kubeconfig", kubeconfig, "--context", management, "--to", worker,
		"-n", namespace, "-l", "bench=yes", "-o", "json")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return printCounts(sides, n), nil
}

// finishing creates Jobs that end by themselves after their dispatch.
func finishing(ctx context.Context, set *clusters.Set, namespace string, n int) error {
	origins, err := connect(set, management)
	if err != nil {
		return err
	}
	there, err := connect(set, worker)
	if err != nil {
		return err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := there.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return err
	}
	var jobs []*batchv1.Job
	for i := range n {
		jobs = append(jobs, fixture.New(namespace, fmt.Sprintf("job-%03d", i), fixture.RunsFor("2s"),
			fixture.ManagedBy(string(delegation.Dispatch)), fixture.Labels("bench", "yes")))
	}
	return fixture.Create(ctx, origins, jobs...)
}

func printCounts(sides map[string]*counted, n int) []figures.Figure {
	fmt.Printf("\nrequests for each of %d Jobs that were dispatched and have finished, besides watches\n\n", n)
	var figs []figures.Figure
	for _, name := range []string{management, worker} {
		c := sides[name]
		c.mu.Lock()
		total := 0
		var lines []string
		for what, times := range c.asked {
			total += times
			lines = append(lines, fmt.Sprintf("%8.2f  %s", float64(times)/float64(n), what))
		}
		c.mu.Unlock()
		slices.SortFunc(lines, func(a, b string) int { return strings.Compare(b, a) })
		each, most := float64(total)/float64(n), mostRequests()[name]
		fmt.Printf("%s: %.2f, at most %.0f\n%s\n\n", name, each, most, strings.Join(lines, "\n"))
		figs = append(figs, figures.Figure{
			What: "requests to the " + map[string]string{management: "origin's cluster", worker: "worker"}[name] + " per finished Job, besides watches", Value: fmt.Sprintf("%.2f", each),
			Is: each, Unit: "requests", Goal: most,
		})
	}
	return figs
}

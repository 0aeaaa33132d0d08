package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// TestPreflightAccess starts with a user without rights, grants what each remedy says, and checks
// that it is enough, and that nothing counts as missing that cannot be read.
func TestPreflightAccess(t *testing.T) {
	t.Parallel()
	const ns, user = "preflight-access", "preflight-user"
	f := newPreflightCase(t, ns, withDependencies(ns))
	f.provide(management, ns)
	f.provide(worker1, ns)
	f.origin, f.worker = clusterOf(t, management, as(user)), clusterOf(t, worker1, as(user))

	found := f.problems()
	blocking := map[string]preflight.Problem{}
	for _, p := range found {
		assert.Assert(t, !contains(p.Message, "does not exist"), "%+v", p)
		if p.Blocking {
			blocking[p.Context+" "+p.Object.String()] = p
		}
	}
	assert.DeepEqual(t, slices.Sorted(maps.Keys(blocking)), []string{
		"management permission on jobs", "management permission on jobs/status", "management permission on leases",
		"worker-1 permission on jobs", "worker-1 permission on pods",
	})
	assert.Assert(t, contains(describeProblems(found), `management blocking=true "permission on jobs/status": you may not patch jobs/status in namespace `+ns,
		`worker-1 blocking=false "permission on pods/log"`, `worker-1 blocking=false "ConfigMap preflight-access/settings": cannot be checked`,
		`worker-1 blocking=false "PersistentVolumeClaim preflight-access/data": cannot be checked`,
		`worker-1 blocking=false "PriorityClass preflight-access": cannot be checked`, "you may not create Pods"), "%s", describeProblems(found))

	for _, p := range blocking {
		grant(t, p)
	}
	// RBAC uses a cache.
	err := poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
		found = f.problems()
		return !slices.ContainsFunc(found, func(p preflight.Problem) bool { return p.Blocking }), nil
	})
	assert.NilError(t, err, "%s", describeProblems(found))
}

// grant applies a remedy about missing rights, as a user who may do so.
func grant(t *testing.T, p preflight.Problem) {
	t.Helper()
	assert.Assert(t, contains(string(p.Remedy), "a user who may grant it in the cluster of "+p.Context), "%s", p.Remedy)
	for _, part := range p.Remedy.Parts() {
		if part.IsCommand {
			shell(t, strings.ReplaceAll(part.Text, "--context CONTEXT", "--context "+p.Context))
		}
	}
}

// TestPreflightEditor checks that a user with the default role edit in the namespaces lacks
// exactly one right.
func TestPreflightEditor(t *testing.T) {
	t.Parallel()
	const ns, user = "preflight-editor", "preflight-editor"
	f := newPreflightCase(t, ns, withDependencies(ns), template(func(s *corev1.PodSpec) { s.Volumes = s.Volumes[:2] }))
	f.provide(management, ns)
	f.provide(worker1, ns)
	for _, cluster := range []string{management, worker1} {
		shell(t, fmt.Sprintf("kubectl --context %s -n %s create rolebinding editor --clusterrole=edit --user=%s", cluster, ns, user))
	}
	f.origin, f.worker = clusterOf(t, management, as(user)), clusterOf(t, worker1, as(user))
	p := f.eventuallyFinds("permission on jobs/status")
	assert.Assert(t, p.Blocking && p.Context == management, "%+v", p)
	grant(t, p)
	f.eventuallyClear()

	// Only users who may read StorageClasses see whether a claim will get its volume.
	found, _ := f.preflight(f.create("claim", withDependencies(ns)), dependency.Options{})
	assert.Equal(t, len(found), 1, "%s", describeProblems(found))
	assert.Assert(t, !found[0].Blocking && contains(found[0].Message, "waits for Pods; cannot check that: "), "%s", describeProblems(found))

	// The rights of the user do not matter where admission plugins of the server check.
	shell(t, "kubectl --context worker-1 delete priorityclass "+ns+" && kubectl --context worker-1 -n "+ns+" delete serviceaccount robot")
	found = f.problems()
	assert.Equal(t, len(found), 2, "%s", describeProblems(found))
	assert.Assert(t, contains(describeProblems(found), "PriorityClass preflight-editor", "ServiceAccount preflight-editor/robot"), "%s", describeProblems(found))
}

// TestPreflightSameCluster checks that preflight recognizes the origin's cluster under another
// name, also if its UID may not be read.
func TestPreflightSameCluster(t *testing.T) {
	t.Parallel()
	f := newPreflightCase(t, "preflight-same")
	for _, identity := range []string{f.origin.UID(), ""} {
		f.worker = clusterOf(t, management)
		f.worker.Context = "twin"
		f.worker.SetUID(identity)
		found := f.problems()
		assert.Equal(t, len(found), 1, "%s", describeProblems(found))
		assert.Assert(t, found[0].Blocking && found[0].Context == "twin" && contains(found[0].Message, "cannot be dispatched to its own cluster"), "%s", describeProblems(found))
	}
}

// TestPreflightUnreachable checks that a cluster that does not answer causes one error, not a list
// of problems.
func TestPreflightUnreachable(t *testing.T) {
	t.Parallel()
	f := newPreflightCase(t, "preflight-dead")
	dead := clusterOf(t, worker1, func(c *rest.Config) { c.Host = "https://127.0.0.1:1" })
	p := &preflight.Checker{Origin: f.origin, Worker: dead}
	found, _, err := p.Check(t.Context(), f.request(f.job))
	assert.ErrorContains(t, err, "context \"worker-1\": cannot ask the API server for its version: ")
	assert.Equal(t, len(found), 0)
}

// oldServer makes an API server behave like an older one: it silently drops fields of Jobs, like
// one whose gates are off, and reports another version.
func oldServer(t *testing.T, cluster, version string, drops ...string) func(*rest.Config) {
	t.Helper()
	config, err := set.Config(cluster)
	assert.NilError(t, err)
	transport, err := rest.TransportFor(config)
	assert.NilError(t, err)
	target, err := url.Parse(config.Host)
	assert.NilError(t, err)
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			_, _ = fmt.Fprintf(w, `{"gitVersion":%q}`, version)
			return
		}
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/jobs") {
			var job map[string]any
			if err := json.NewDecoder(r.Body).Decode(&job); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			for _, field := range drops {
				unstructured.RemoveNestedField(job, strings.Split(field, ".")...)
			}
			body, _ := json.Marshal(job)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			r.Header.Del("Content-Length")
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return func(c *rest.Config) { *c = rest.Config{Host: server.URL, QPS: -1} }
}

// TestPreflightOldServers checks that preflight refuses servers that would change the Job.
func TestPreflightOldServers(t *testing.T) {
	t.Parallel()
	const ns = "preflight-old"
	f := newPreflightCase(t, ns, fixture.Pods(2), func(j *batchv1.Job) {
		j.Spec.CompletionMode = new(batchv1.IndexedCompletion)
		j.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: new(int32(1))}}}
	})
	f.eventuallyClear()

	f.worker = clusterOf(t, worker1, oldServer(t, worker1, "v1.28.9", "spec.successPolicy", "spec.podReplacementPolicy"))
	found := f.problems()
	assert.Equal(t, len(found), 1, "%s", describeProblems(found))
	assert.Equal(t, found[0].Message, "the API server (v1.28.9) drops spec.successPolicy (known from Kubernetes 1.31 on), so the Job would behave differently there")
	assert.Assert(t, found[0].Blocking && found[0].Context == worker1)

	// Fields of a new file, and of a stored origin.
	f.worker = clusterOf(t, worker1)
	f.origin = clusterOf(t, management, oldServer(t, management, "v1.31.4", "spec.managedBy"))
	fresh := unstructuredJob(t, fixture.New(ns, "fresh", fixture.ManagedBy(string(delegation.Dispatch))))
	request := f.request(fresh)
	request.Create = true
	found, _, err := (&preflight.Checker{Origin: f.origin, Worker: f.worker}).Check(t.Context(), request)
	assert.NilError(t, err)
	assert.Equal(t, len(found), 1, "%s", describeProblems(found))
	assert.Assert(t, found[0].Blocking && contains(found[0].Message, "v1.31.4", "drops spec.managedBy", "would run both there and on worker-1"), "%s", describeProblems(found))
	found = f.problems()
	assert.Equal(t, len(found), 1, "%s", describeProblems(found))
	assert.Assert(t, !found[0].Blocking && contains(found[0].Message, "JobManagedBy"), "%s", describeProblems(found))
}

// TestPreflightCreate checks origins from a file.
func TestPreflightCreate(t *testing.T) {
	// It reads all served kinds.
	serving(t, "no others", all...)
	const ns = "preflight-create"
	f := newPreflightCase(t, ns)
	check := func(job *unstructured.Unstructured) []preflight.Problem {
		request := f.request(job)
		request.Create = true
		found, _, err := (&preflight.Checker{Origin: f.origin, Worker: f.worker}).Check(t.Context(), request)
		assert.NilError(t, err)
		return found
	}
	file := func(name string) *unstructured.Unstructured {
		return unstructuredJob(t, fixture.New(ns, name, fixture.ManagedBy(string(delegation.Dispatch))))
	}
	before := inventory(t, f.origin, ns)
	assert.Equal(t, len(check(file("fine"))), 0)

	misspelt := file("misspelt")
	assert.NilError(t, unstructured.SetNestedField(misspelt.Object, int64(3), "spec", "paralelism"))
	found := check(misspelt)
	assert.Assert(t, found[0].Context == management && found[0].Blocking && contains(found[0].Message, `does not know spec.paralelism`), "%s", describeProblems(found))

	bad := file("bad")
	assert.NilError(t, unstructured.SetNestedField(bad.Object, int64(-3), "spec", "parallelism"))
	found = check(bad)
	assert.Equal(t, len(found), 2, "%s", describeProblems(found))
	assert.Assert(t, contains(found[0].Message, "the API server rejects the Job: spec.parallelism: Invalid value: -3"), "%s", describeProblems(found))

	found = check(file("train"))
	assert.Assert(t, len(found) == 1 && found[0].Object.String() == "Job "+ns+"/train" && contains(found[0].Message, "already exists"), "%s", describeProblems(found))

	elsewhere := file("fine")
	elsewhere.SetNamespace("preflight-nowhere")
	found = check(elsewhere)
	assert.Equal(t, len(found), 2, "%s", describeProblems(found))
	assert.Assert(t, found[0].Context == management && found[1].Context == worker1 && found[0].Object.String() == "Namespace preflight-nowhere", "%s", describeProblems(found))
	assert.DeepEqual(t, inventory(t, f.origin, ns), before)
}

// TestPreflightCost checks that many Jobs of one namespace cost only a few more requests than one.
func TestPreflightCost(t *testing.T) {
	t.Parallel()
	const ns, jobs = "preflight-cost", 100
	f := newPreflightCase(t, ns, withDependencies(ns))
	f.provide(management, ns)
	f.provide(worker1, ns)
	f.eventuallyClear()
	var ofOrigin, ofWorker atomic.Int64
	counting := func(n *atomic.Int64) func(*rest.Config) {
		return func(c *rest.Config) {
			c.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					n.Add(1)
					return next.RoundTrip(r)
				})
			})
		}
	}
	p := &preflight.Checker{Origin: clusterOf(t, management, counting(&ofOrigin)), Worker: clusterOf(t, worker1, counting(&ofWorker))}
	var group errgroup.Group
	for i := range jobs {
		job := f.job.DeepCopy()
		job.SetName(fmt.Sprintf("job-%d", i))
		group.Go(func() error {
			found, _, err := p.Check(t.Context(), f.request(job))
			if err == nil && len(found) > 0 {
				err = fmt.Errorf("%s", describeProblems(found))
			}
			return err
		})
	}
	assert.NilError(t, group.Wait())
	t.Logf("%d Jobs: %d requests to the origin's cluster, %d to the worker", jobs, ofOrigin.Load(), ofWorker.Load())
	assert.Assert(t, ofOrigin.Load() <= 20 && ofWorker.Load() <= 3*jobs+40, "%d, %d", ofOrigin.Load(), ofWorker.Load())
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// TestPreflightResume checks that missing dependencies of Pods do not keep a dispatch from
// resuming.
func TestPreflightResume(t *testing.T) {
	t.Parallel()
	const ns = "preflight-resume"
	f := newPreflightCase(t, ns, template(func(s *corev1.PodSpec) {
		s.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "gone"}}}}
	}))
	_, err := f.worker.Objects(delegation.Job().Resource, ns).Create(t.Context(), f.request(f.job).Plan.Mirror, metav1.CreateOptions{})
	assert.NilError(t, err)
	found := f.problems()
	assert.Assert(t, len(found) == 1 && !found[0].Blocking && regexp.MustCompile("ConfigMap .*/gone").MatchString(found[0].Object.String()), "%s", describeProblems(found))
}

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// clusterOf returns a cluster as preflight sees it, through a context with a changed configuration.
func clusterOf(t *testing.T, cluster string, changes ...func(*rest.Config)) *fleet.Cluster {
	t.Helper()
	config, err := set.Config(cluster)
	assert.NilError(t, err)
	config.QPS = -1
	for _, change := range changes {
		change(config)
	}
	c := opened(t, cluster, config)
	// Not every user may read the UID of the cluster.
	system, err := client(t, cluster).CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceSystem, metav1.GetOptions{})
	assert.NilError(t, err)
	c.SetUID(string(system.UID))
	return c
}

// opened returns the cluster of a client configuration.
func opened(t *testing.T, name string, config *rest.Config) *fleet.Cluster {
	t.Helper()
	clusters := fleet.Open(t.Context(), []fleet.Context{{Name: name, Config: config}}, fleet.Options{}).Clusters()
	assert.Equal(t, len(clusters), 1)
	return clusters[0]
}

// as changes the user of a configuration.
func as(user string) func(*rest.Config) {
	return func(c *rest.Config) { c.Impersonate.UserName = user }
}

// preflightCase is a Job on management that could be dispatched to worker-1.
type preflightCase struct {
	t              *testing.T
	ns             string
	origin, worker *fleet.Cluster
	job            *unstructured.Unstructured
}

// newPreflightCase creates a Job that is delegated to dispatch, and its namespace on both clusters.
func newPreflightCase(t *testing.T, ns string, options ...fixture.Option) *preflightCase {
	t.Helper()
	f := &preflightCase{t: t, ns: ns, origin: clusterOf(t, management), worker: clusterOf(t, worker1)}
	assert.NilError(t, makeSpace(t, worker1, ns))
	assert.NilError(t, makeSpace(t, management, ns))
	f.job = f.create("train", options...)
	return f
}

// create creates another origin.
func (f *preflightCase) create(name string, options ...fixture.Option) *unstructured.Unstructured {
	f.t.Helper()
	job := fixture.New(f.ns, name, append(options, fixture.ManagedBy(string(delegation.Dispatch)))...)
	_, err := client(f.t, management).BatchV1().Jobs(f.ns).Create(f.t.Context(), job, metav1.CreateOptions{})
	assert.NilError(f.t, err)
	created, err := f.origin.Objects(delegation.Job().Resource, f.ns).Get(f.t.Context(), name, metav1.GetOptions{})
	assert.NilError(f.t, err)
	return created
}

// makeSpace creates a namespace, and waits until Pods can be created in it.
func makeSpace(t *testing.T, cluster, ns string) error {
	t.Helper()
	c := client(t, cluster)
	_, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	return poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
		_, err := c.CoreV1().ServiceAccounts(ns).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	})
}

func (f *preflightCase) request(job *unstructured.Unstructured) preflight.Request {
	f.t.Helper()
	made, err := plan.New(job, plan.Options{Owner: delegation.Dispatch, OriginCluster: f.origin.Identity()})
	assert.NilError(f.t, err)
	return preflight.Request{Origin: job, Plan: made}
}

// preflight checks a Job without a cache.
func (f *preflightCase) preflight(job *unstructured.Unstructured, o dependency.Options) ([]preflight.Problem, []dependency.Object) {
	f.t.Helper()
	p := &preflight.Checker{Origin: f.origin, Worker: f.worker, Dependencies: o}
	found, copies, err := p.Check(f.t.Context(), f.request(job))
	assert.NilError(f.t, err)
	return found, copies
}

// problems checks the Job of the flight.
func (f *preflightCase) problems() []preflight.Problem {
	f.t.Helper()
	found, _ := f.preflight(f.job, dependency.Options{})
	return found
}

// eventuallyClear waits until there are no problems: admission plugins use caches.
func (f *preflightCase) eventuallyClear() {
	f.t.Helper()
	var found []preflight.Problem
	err := poll.Until(f.t.Context(), poll.Limit, func(context.Context) (bool, error) {
		found = f.problems()
		return len(found) == 0, nil
	})
	assert.NilError(f.t, err, "%s", describeProblems(found))
}

// eventuallyFinds waits until there is exactly one problem, with this object.
func (f *preflightCase) eventuallyFinds(object string) preflight.Problem {
	f.t.Helper()
	var found []preflight.Problem
	err := poll.Until(f.t.Context(), poll.Limit, func(context.Context) (bool, error) {
		found = f.problems()
		return len(found) == 1 && found[0].Object.String() == object, nil
	})
	assert.NilError(f.t, err, "%s", describeProblems(found))
	return found[0]
}

func describeProblems(found []preflight.Problem) string {
	var b strings.Builder
	for _, p := range found {
		fmt.Fprintf(&b, "%s blocking=%t %q: %s\n  %s\n", p.Context, p.Blocking, p.Object, p.Message, p.Remedy)
	}
	return b.String()
}

// shell runs the commands of a remedy.
func shell(t *testing.T, script string) {
	t.Helper()
	// Cleanup runs after the context of the test has ended.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-euc", script)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "KUBECONFIG="+set.Kubeconfig, "PATH="+set.Programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	assert.NilError(t, err, "%s: %s", script, out)
}

// apply creates objects of any kind on a cluster, from YAML.
func (f *preflightCase) apply(cluster, manifest string) {
	f.t.Helper()
	shell(f.t, fmt.Sprintf("kubectl --context %s apply -f - >/dev/null <<'EOF'\n%s\nEOF", cluster, manifest))
}

// inventory returns all objects in a namespace, with resource versions, except those that
// components of the cluster write by themselves.
func inventory(t *testing.T, s *fleet.Cluster, ns string) []string {
	t.Helper()
	lists, err := s.Kubernetes().Discovery().ServerPreferredResources()
	assert.NilError(t, err)
	var all []string
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "create"}}, lists) {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		assert.NilError(t, err)
		for _, r := range list.APIResources {
			// The control plane writes these by itself.
			if slices.Contains([]string{"nodes", "leases", "events", "endpoints", "componentstatuses"}, r.Name) {
				continue
			}
			resource := s.Dynamic().Resource(gv.WithResource(r.Name))
			of := dynamic.ResourceInterface(resource)
			if r.Namespaced {
				of = resource.Namespace(ns)
			}
			found, err := of.List(t.Context(), metav1.ListOptions{})
			assert.NilError(t, err, "%s", r.Name)
			for _, o := range found.Items {
				if r.Namespaced || r.Name == "namespaces" && o.GetName() == ns {
					entry := fmt.Sprint(gv, " ", r.Name, " ", o.GetName(), " ", o.GetUID())
					// Controllers still write to running objects.
					if !slices.Contains([]string{"jobs", "pods", "resourcequotas"}, r.Name) {
						entry += " " + o.GetResourceVersion()
					}
					all = append(all, entry)
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// unstructuredJob returns a Job as a file has it.
func unstructuredJob(t *testing.T, job *batchv1.Job) *unstructured.Unstructured {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	assert.NilError(t, err)
	delete(content, "status")
	o := &unstructured.Unstructured{Object: content}
	o.SetGroupVersionKind(batchv1.SchemeGroupVersion.WithKind("Job"))
	unstructured.RemoveNestedField(o.Object, "metadata", "creationTimestamp")
	unstructured.RemoveNestedField(o.Object, "spec", "template", "metadata", "creationTimestamp")
	return o
}

package controllers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/dispatching"
)

var (
	jobSets    = schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"}
	trainJobs  = schema.GroupVersionResource{Group: "trainer.kubeflow.org", Version: "v1alpha1", Resource: "trainjobs"}
	runtimes   = schema.GroupVersionResource{Group: "trainer.kubeflow.org", Version: "v1alpha1", Resource: "trainingruntimes"}
	pods       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	leases     = schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

// Flags for the clusters of a test.
const (
	both = "--contexts=" + management + "," + worker
	// delegated selects the clusters of MultiKueue.
	delegated = "--contexts=" + manager + "," + worker
)

// inNamespace creates a namespace on both clusters.
func inNamespace(t *testing.T, ns string) {
	t.Helper()
	for _, cluster := range []string{management, worker} {
		create(t, cluster, namespaces, "", `{apiVersion: v1, kind: Namespace, metadata: {name: `+ns+`}}`)
		account := schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
		eventually(t, cluster, account, ns, "default", func(o *unstructured.Unstructured) bool { return o != nil })
	}
}

// create creates an object, in YAML.
func create(t *testing.T, cluster string, resource schema.GroupVersionResource, ns, text string) *unstructured.Unstructured {
	t.Helper()
	return createObject(t, cluster, resource, ns, parse(t, text))
}

// parse returns the object of a YAML text.
func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	assert.NilError(t, yaml.Unmarshal([]byte(text), &o.Object))
	return o
}

func createObject(t *testing.T, cluster string, resource schema.GroupVersionResource, ns string, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	created, err := dynamicClient(cluster).Resource(resource).Namespace(ns).Create(t.Context(), o, metav1.CreateOptions{})
	assert.NilError(t, err)
	return created
}

// patch changes an object with a merge patch, in YAML.
func patch(t *testing.T, cluster string, resource schema.GroupVersionResource, ns, name, text string) {
	t.Helper()
	change, err := yaml.YAMLToJSON([]byte(text))
	assert.NilError(t, err)
	_, err = dynamicClient(cluster).Resource(resource).Namespace(ns).Patch(t.Context(), name, types.MergePatchType, change, metav1.PatchOptions{})
	assert.NilError(t, err)
}

// eventually waits until an object meets a condition. It is nil if it does not exist.
func eventually(t *testing.T, cluster string, resource schema.GroupVersionResource, ns, name string, is func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
	t.Helper()
	var o *unstructured.Unstructured
	err := poll(t.Context(), func(ctx context.Context) bool {
		var err error
		o, err = dynamicClient(cluster).Resource(resource).Namespace(ns).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			o, err = nil, nil
		}
		return err == nil && is(o)
	})
	if err != nil {
		text, _ := yaml.Marshal(o)
		t.Fatalf("%s %s/%s on %s did not reach the expected state: %s", resource.Resource, ns, name, cluster, text)
	}
	return o
}

func isAbsent(o *unstructured.Unstructured) bool { return o == nil }

// hasCondition reports whether a condition is true.
func hasCondition(condition string) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool {
		if o == nil {
			return false
		}
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, one := range conditions {
			if c, _ := one.(map[string]any); c["type"] == condition && c["status"] == "True" {
				return true
			}
		}
		return false
	}
}

// runs waits until this many Pods of a namespace run on the worker.
func runs(t *testing.T, ns string, want int) {
	t.Helper()
	runsOn(t, worker, ns, want)
}

func runsOn(t *testing.T, cluster, ns string, want int) {
	t.Helper()
	running := 0
	err := poll(t.Context(), func(ctx context.Context) bool {
		list, err := dynamicClient(cluster).Resource(pods).Namespace(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false
		}
		running = 0
		for i := range list.Items {
			if phase, _, _ := unstructured.NestedString(list.Items[i].Object, "status", "phase"); phase == "Running" {
				running++
			}
		}
		return running == want
	})
	assert.NilError(t, err, "%d pods run in %s, not %d", running, ns, want)
}

// completePods completes the selected Pods of a namespace on the worker, which would run for hours. The
// selector "" is all Pods.
func completePods(t *testing.T, ns, selector string) {
	t.Helper()
	list, err := dynamicClient(worker).Resource(pods).Namespace(ns).List(t.Context(), metav1.ListOptions{LabelSelector: selector})
	assert.NilError(t, err)
	for i := range list.Items {
		patch(t, worker, pods, ns, list.Items[i].GetName(), `{metadata: {annotations: {pod-complete.stage.kwok.x-k8s.io/delay: 100ms}}}`)
	}
}

// command returns a call of kubectl, with the plugin on PATH.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	return set.Kubectl(t.Context(), append([]string{"jobs-managedby"}, args...)...)
}

// run runs the plugin.
func run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := command(t, args...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

// read runs a command that prints a document.
func read[T any](t *testing.T, args ...string) T {
	t.Helper()
	out, errOut, code := run(t, append(args, "-o", "json")...)
	assert.Assert(t, code == 0 || code == 3, "%v: %d: %s%s", args, code, errOut, out)
	var document T
	assert.NilError(t, json.Unmarshal([]byte(out), &document))
	return document
}

// origins returns the delegated Jobs of a namespace that ls lists, by name.
func origins(t *testing.T, contexts, ns string) map[string]inspect.Job {
	t.Helper()
	listed := map[string]inspect.Job{}
	for _, group := range read[inspect.OwnerList](t, "ls", "--kinds", "all", "--delegated", "-n", ns, contexts).Items {
		for _, j := range group.Jobs {
			listed[j.Name] = *j
		}
	}
	return listed
}

// found returns the current findings of check in a namespace.
func found(t *testing.T, contexts, ns string) []inspect.Finding {
	t.Helper()
	return read[inspect.FindingList](t, "check", "--kinds", "all", "--grace", "0s", "-n", ns, contexts).Items
}

// codes returns the codes of these findings, with their objects.
func codes(t *testing.T, contexts, ns string) string {
	t.Helper()
	var all []string
	for _, f := range found(t, contexts, ns) {
		all = append(all, f.Code+" "+f.Context)
	}
	return strings.Join(all, "\n")
}

// eventuallyFinds waits until check finds exactly these codes.
func eventuallyFinds(t *testing.T, contexts, ns, want string) {
	t.Helper()
	got := ""
	_ = poll(t.Context(), func(context.Context) bool { got = codes(t, contexts, ns); return got == want })
	assert.Equal(t, got, want)
}

// chain returns the chain that trace shows, one line per hop: what, where, in which state.
func chain(t *testing.T, contexts, ns, name string) string {
	t.Helper()
	var all []string
	for _, h := range read[inspect.Trace](t, "trace", name, "-n", ns, contexts).Hops {
		all = append(all, strings.Join([]string{h.Kind + "/" + h.Name, h.Context, h.State}, " "))
	}
	return strings.Join(all, "\n")
}

// expectation is the expected output of ls, trace and check.
type expectation struct {
	// status is the status of the origin, and chain its chain in trace.
	status delegation.Status
	chain  string
	// codes are the codes that check finds.
	codes string
}

// check waits until the output of the commands is as expected for an object named train.
func (want expectation) check(t *testing.T, contexts, ns, name string) inspect.Job {
	t.Helper()
	var got expectation
	var origin inspect.Job
	// A status is copied a moment after it was written.
	_ = poll(t.Context(), func(context.Context) bool {
		origin = origins(t, contexts, ns)["train"]
		got = expectation{status: origin.Status, chain: chain(t, contexts, ns, name), codes: codes(t, contexts, ns)}
		return got == want
	})
	assert.Equal(t, got.status, want.status)
	assert.Equal(t, got.chain, want.chain)
	assert.Equal(t, got.codes, want.codes)
	return origin
}

// dispatches starts a dispatch to the worker.
func dispatches(t *testing.T, ns string, args ...string) *dispatching.Process {
	t.Helper()
	return dispatching.Start(t, command(t, append([]string{"dispatch", "--context", management, "--to", worker, "-n", ns, "-o", "json"}, args...)...))
}

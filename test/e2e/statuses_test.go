package e2e

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// ls runs the plugin through kubectl and returns the Jobs it lists by name.
func ls(t *testing.T, args ...string) map[string]inspect.Job {
	t.Helper()
	out, err := command(t, append([]string{"jobs-managedby", "ls", "-o", "json"}, args...)...).Output()
	assert.NilError(t, err)
	var list inspect.OwnerList
	assert.NilError(t, json.Unmarshal(out, &list))
	jobs := map[string]inspect.Job{}
	for _, g := range list.Items {
		for _, j := range g.Jobs {
			jobs[j.Name] = *j
		}
	}
	return jobs
}

// command prepares kubectl, or the plugin if args begin with its name.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	// testscript.Main has put the plugin on PATH.
	cmd := set.Kubectl(t.Context(), args...)
	cmd.Stderr = os.Stderr
	return cmd
}

// eventually waits until ls shows the Jobs in these states.
func eventually(t *testing.T, want map[string]delegation.Status, args ...string) map[string]inspect.Job {
	t.Helper()
	var jobs map[string]inspect.Job
	got := map[string]delegation.Status{}
	_ = poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
		jobs = ls(t, args...)
		clear(got)
		for name, j := range jobs {
			got[name] = j.Status
		}
		return maps.Equal(got, want), nil
	})
	assert.DeepEqual(t, got, want)
	return jobs
}

func TestStatusIsCorrect(t *testing.T) {
	t.Parallel()
	const ns = "statuses"
	c := client(t, management)
	foreign := fixture.ManagedBy("example.com/controller")
	terminating := fixture.New(ns, "terminating", foreign)
	terminating.Finalizers = []string{"example.com/hold"}
	assert.NilError(t, fixture.Create(t.Context(), c,
		fixture.New(ns, "complete"),
		fixture.New(ns, "failed", fixture.Fails()),
		fixture.New(ns, "running", fixture.RunsFor("1h")),
		fixture.New(ns, "pending", fixture.NeverStarts()),
		fixture.New(ns, "suspended", fixture.Suspended()),
		fixture.New(ns, "unclaimed", foreign),
		fixture.New(ns, "unclaimed-suspended", foreign, fixture.Suspended()),
		fixture.New(ns, "delegated-running", foreign),
		fixture.New(ns, "delegated-suspended", foreign, fixture.Suspended()),
		terminating,
	))
	jobs := c.BatchV1().Jobs(ns)
	policy := metav1.DeletePropagationBackground
	assert.NilError(t, jobs.Delete(t.Context(), "terminating", metav1.DeleteOptions{PropagationPolicy: &policy}))
	t.Cleanup(func() {
		_, err := jobs.Patch(context.Background(), "terminating", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		assert.NilError(t, err)
	})
	patchStatus := func(name, patch string) {
		_, err := jobs.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
		assert.NilError(t, err)
	}
	patchStatus("delegated-running", `{"status":{"startTime":"2026-01-01T00:00:00Z","active":1}}`)
	patchStatus("delegated-suspended", `{"status":{"conditions":[{"type":"Suspended","status":"True"}]}}`)

	all := eventually(t, map[string]delegation.Status{
		"complete":            delegation.Complete,
		"failed":              delegation.Failed,
		"running":             delegation.Running,
		"pending":             delegation.Pending,
		"suspended":           delegation.Suspended,
		"unclaimed":           delegation.Unclaimed,
		"unclaimed-suspended": delegation.Unclaimed,
		"delegated-running":   delegation.Running,
		"delegated-suspended": delegation.Suspended,
		"terminating":         delegation.Terminating,
	}, "-n", ns)

	// For a failed Job, kubectl prints a duration that grows forever.
	failed := all["failed"]
	assert.Assert(t, failed.CompletionTime == nil && failed.FinishedTime != nil)
	assert.Assert(t, all["unclaimed"].StatusWrittenAt == nil)
	assert.Assert(t, all["delegated-running"].StatusWrittenAt != nil)
}

// workloadCRD is the part of Kueue that is enough to claim a Job.
const workloadCRD = `{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "workloads.kueue.x-k8s.io", "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
  "spec": {"group": "kueue.x-k8s.io", "scope": "Namespaced",
    "names": {"kind": "Workload", "plural": "workloads", "singular": "workload", "listKind": "WorkloadList"},
    "versions": [{"name": "v1beta1", "served": true, "storage": true,
      "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}}`

// TestMultiKueueClaims checks that a Job of MultiKueue that waits in a queue has no status, but is
// not Unclaimed, as its Workload shows.
func TestMultiKueueClaims(t *testing.T) {
	serving(t, alone, worker2)
	const ns = "claims"
	config, err := set.Config(worker2)
	assert.NilError(t, err)
	dyn, err := dynamic.NewForConfig(config)
	assert.NilError(t, err)
	c := client(t, worker2)
	queued := fixture.ManagedBy(string(delegation.MultiKueue))
	assert.NilError(t, fixture.Create(t.Context(), c,
		fixture.New(ns, "claimed", queued),
		fixture.New(ns, "claimed-suspended", queued, fixture.Suspended()),
		fixture.New(ns, "unclaimed", queued)))

	// Without Kueue, no controller can have claimed any.
	args := []string{"-n", ns, "--context", worker2}
	eventually(t, map[string]delegation.Status{
		"claimed": delegation.Unclaimed, "claimed-suspended": delegation.Unclaimed, "unclaimed": delegation.Unclaimed,
	}, args...)

	var crd unstructured.Unstructured
	assert.NilError(t, crd.UnmarshalJSON([]byte(workloadCRD)))
	crds := dyn.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	_, err = crds.Create(t.Context(), &crd, metav1.CreateOptions{})
	assert.NilError(t, err)
	t.Cleanup(func() {
		assert.NilError(t, crds.Delete(context.Background(), crd.GetName(), metav1.DeleteOptions{}))
	})
	workloads := dyn.Resource(schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta1", Resource: "workloads"}).Namespace(ns)
	for _, name := range []string{"claimed", "claimed-suspended"} {
		job, err := c.BatchV1().Jobs(ns).Get(t.Context(), name, metav1.GetOptions{})
		assert.NilError(t, err)
		assert.NilError(t, poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
			// It takes a moment until the new kind is served.
			_, err := workloads.Create(ctx, workloadOf(job), metav1.CreateOptions{})
			return err == nil, nil
		}))
	}
	eventually(t, map[string]delegation.Status{
		"claimed": delegation.Pending, "claimed-suspended": delegation.Suspended, "unclaimed": delegation.Unclaimed,
	}, args...)

	// A user who may not read Workloads sees a message about it, and nothing counts as Unclaimed.
	allow(t, c, ns, "jobs-only", "batch", "jobs")
	cmd := command(t, "jobs-managedby", "ls", "-n", ns, "--context", worker2, "--as", "jobs-only")
	out, err := cmd.Output()
	assert.ErrorContains(t, err, "exit status 4")
	assert.Assert(t, contains(string(out), `may not list workloads.kueue.x-k8s.io`,
		"jobs of MultiKueue without a status may be unclaimed"), "%s", out)
	assert.Assert(t, !contains(string(out), "Unclaimed"), "%s", out)
	assert.Assert(t, contains(string(out), "3 jobs (1 Suspended, 2 Pending)"), "%s", out)
}

func workloadOf(job *batchv1.Job) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "Workload",
		"metadata": map[string]any{
			"name": "job-" + job.Name, "namespace": job.Namespace,
			"labels": map[string]any{"kueue.x-k8s.io/job-uid": string(job.UID)},
		},
	}}
}

package kueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestEqualJobs checks that Jobs that differ only in what their containers do count as equal: Kueue
// judges one of them and reports nothing about the others, which is no sign that it has stopped.
func TestEqualJobs(t *testing.T) {
	t.Parallel()
	if multiKueue.API == "v1beta1" {
		t.Skip("Kueue before 0.15 judges each")
	}
	const ns = "equal"
	assert.NilError(t, addQueues(t.Context(), ns))
	submit(t, ns, "8", "1h", "first", "second")
	running(t, ns, 2)
	for i := range 3 {
		manifest := strings.ReplaceAll(job(ns, fmt.Sprintf("sweep-%d", i), "8", "", queue), "registry.example/batch:1", fmt.Sprintf("registry.example/sweep:%d", i))
		if i == 1 { // A limit counts as the request.
			manifest = strings.ReplaceAll(manifest, "requests:", "limits:")
		}
		create(t, management, manifest)
	}
	eventually(t, "JM115 and no JM031", func() string {
		all := found(t, ns, 0)
		if strings.Contains(all, "JM115") && !strings.Contains(all, "JM031") {
			return "JM115 and no JM031"
		}
		return all
	})
}

// neverFits checks that no cluster can run the Job of a manifest, according to trace -f.
func neverFits(t *testing.T, manifest string) {
	t.Helper()
	_, err := kubectl(t.Context(), manifest, "jobs-managedby", "trace", "-f", "-", "--all-contexts")
	exit := (*exec.ExitError)(nil)
	assert.Assert(t, errors.As(err, &exit) && exit.ExitCode() == util.ExitFindings, "%v", err)
}

// TestNothingRequested checks that a Job is reported that Kueue admits without MultiKueue, because it
// requests nothing that the queue covers.
func TestNothingRequested(t *testing.T) {
	t.Parallel()
	if multiKueue.API == "v1beta1" {
		t.Skip("Kueue before 0.15 sets no managedBy")
	}
	const ns = "nothing"
	assert.NilError(t, addQueues(t.Context(), ns))
	manifest := strings.ReplaceAll(job(ns, "idle", "1", "", queue), `, resources: {requests: {cpu: "1"}}`, "")
	neverFits(t, manifest)
	create(t, management, manifest)
	t.Cleanup(func() {
		_, err := kubectl(context.Background(), "", "--context", management, "-n", ns, "delete", "jobs", "--all")
		assert.NilError(t, err)
	})
	eventually(t, "JM013 error idle", func() string { return found(t, ns, 0) })
}

// TestLackingOnWorkers checks that trace -f finds what the Pods need and workers lack.
func TestLackingOnWorkers(t *testing.T) {
	t.Parallel()
	if multiKueue.API == "v1beta1" {
		t.Skip("Kueue before 0.15 sets no managedBy")
	}
	const ns = "lacking"
	assert.NilError(t, addQueues(t.Context(), ns))
	manifest := strings.ReplaceAll(job(ns, "needs", "1", "", queue), "restartPolicy: Never", "serviceAccountName: robot, restartPolicy: Never")
	neverFits(t, manifest)
	kubectlOn(t, worker1, "-n", ns, "create", "serviceaccount", "robot")
	out, err := kubectl(t.Context(), manifest, "jobs-managedby", "trace", "-f", "-", "--all-contexts")
	assert.NilError(t, err)
	assert.Assert(t, strings.Contains(out, "Fits on "+worker1+" now.") && strings.Contains(out, "lacks what the Pods need in namespace lacking: ServiceAccount robot"), out)
}

// TestUserOfOneNamespace checks that a user with rights in one namespace learns from check and trace
// why a Job waits: without AdmissionChecks, MultiKueueClusters and Secrets.
func TestUserOfOneNamespace(t *testing.T) {
	t.Parallel()
	if multiKueue.API == "v1beta1" {
		t.Skip("Kueue before 0.13 does not record which workers it nominated")
	}
	const ns, user = "one-namespace", "ml-user"
	assert.NilError(t, addQueues(t.Context(), ns))
	for _, cluster := range []string{management, worker1, worker2} {
		create(t, cluster, fmt.Sprintf(`{apiVersion: v1, kind: List, items: [
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: look, namespace: %[1]s}, rules: [
  {apiGroups: [batch], resources: [jobs], verbs: [get, list, watch]},
  {apiGroups: [""], resources: [pods, events], verbs: [get, list, watch]},
  {apiGroups: [kueue.x-k8s.io], resources: [workloads, localqueues], verbs: [get, list, watch]}]},
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: look, namespace: %[1]s},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: look},
  subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[2]s}]}]}`, ns, user))
	}
	submit(t, ns, "9", "1h", "too-large")
	as := func(args ...string) string {
		// The exit code says that there are findings, and that not everything was read.
		out, _ := kubectl(t.Context(), "", append(append([]string{"jobs-managedby"}, args...), "-n", ns, "--all-contexts", "--as", user, "-o", "json")...)
		return out
	}
	eventually(t, "JM029 warning too-large", func() string {
		var list inspect.FindingList
		out := as("check", "--grace", "0s")
		if err := json.Unmarshal([]byte(out), &list); err != nil {
			return out
		}
		var all []string
		for _, f := range list.Items {
			all = append(all, fmt.Sprintf("%s %s %s", f.Code, f.Severity, f.Name))
		}
		return strings.Join(all, "\n")
	})
	var trace inspect.Trace
	assert.NilError(t, json.Unmarshal([]byte(as("trace", "too-large")), &trace))
	assert.Assert(t, strings.Contains(trace.Message, "Fits on no worker that it was offered to"), trace.Message)
	assert.Assert(t, len(trace.Fixes) > 0)
}

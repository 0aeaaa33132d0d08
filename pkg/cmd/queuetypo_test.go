package cmd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/rbactest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// within reports whether a user with rights in one namespace may send a request.
func within(r rbactest.Request, namespace string) bool {
	isNamespaced := slices.Contains([]string{"jobs", "pods", "events", "limitranges", "leases", "workloads", "localqueues"}, r.Resource)
	return !isNamespaced || r.Namespace == namespace
}

// TestQueueTypoWithFewRights checks that a typo in a queue's name is found by a user who may read LocalQueues
// in one namespace only.
func TestQueueTypoWithFewRights(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.yaml")
	job := "{apiVersion: batch/v1, kind: Job, metadata: {name: big, namespace: ml}, spec: {managedBy: kueue.x-k8s.io/multikueue, " +
		"template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}"
	assert.NilError(t, os.WriteFile(path, []byte(job), 0o600))
	all := append(rights.Of(rights.LookSecrets), rights.Of(rights.TraceFile)...)
	for name, may := range map[string]func(rbactest.Request) bool{
		"rights in a namespace": func(r rbactest.Request) bool { return r.AllowedBy(all) && within(r, "ml") },
		"without ClusterQueues": func(r rbactest.Request) bool {
			return r.AllowedBy(all) && within(r, "ml") && (r.Namespace == "ml" || r.Resource == "namespaces")
		},
	} {
		t.Run(name, func(t *testing.T) {
			kubeconfig := guarded(t, "../../examples/fleet", may)
			out, _, _ := run(t, "trace", "-f", path, "--queue", "gpuu", "--kubeconfig", kubeconfig)
			assert.Assert(t, strings.Contains(out, "Fix: use LocalQueue gpu: set label kueue.x-k8s.io/queue-name=gpu"), out)
		})
	}
}

// TestQueueTypoOfJob checks that trace offers the queue with the similar name to a user who may read the
// Workloads and LocalQueues of one namespace, but no ClusterQueue.
func TestQueueTypoOfJob(t *testing.T) {
	dir := copyWith(t, "wrong-queue", "kwok-mgr.yaml", func(objects string) string {
		return strings.ReplaceAll(objects, "no-such-queue", "user-queu")
	})
	kubeconfig := guarded(t, dir, func(r rbactest.Request) bool {
		return r.AllowedBy(rights.Of(rights.Look)) && within(r, "default") && r.Resource != "clusterqueues"
	})
	out, _, _ := run(t, "trace", "train", "-n", "default", "--contexts", "kwok-mgr", "--kubeconfig", kubeconfig)
	assert.Assert(t, strings.Contains(out, "LocalQueue default/user-queu does not exist on kwok-mgr; did you mean user-queue?"), out)
}

// TestOwnHolders checks that the holders of quota are known to a user who may read the Workloads of one
// namespace only, if these hold all quota in use.
func TestOwnHolders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.yaml")
	job := "{apiVersion: batch/v1, kind: Job, metadata: {name: big, namespace: ml}, spec: {parallelism: 6, completions: 6, " +
		"template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}"
	assert.NilError(t, os.WriteFile(path, []byte(job), 0o600))
	all := append(rights.Of(rights.LookSecrets), rights.Of(rights.TraceFile)...)
	kubeconfig := guarded(t, "../../examples/fleet", func(r rbactest.Request) bool { return r.AllowedBy(all) && within(r, "ml") })
	out, _, _ := run(t, "trace", "-f", path, "--queue", "gpu", "--contexts", "worker-2", "--kubeconfig", kubeconfig)
	assert.Assert(t, strings.Contains(out, "ml/train-old") && !strings.Contains(out, "holder unknown"), out)
}

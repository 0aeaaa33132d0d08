package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/dispatching"
)

// manifest writes Jobs to a file.
func manifest(t *testing.T, jobs ...*batchv1.Job) string {
	t.Helper()
	var documents []string
	for _, job := range jobs {
		job.TypeMeta = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}
		document, err := yaml.Marshal(job)
		assert.NilError(t, err)
		documents = append(documents, string(document))
	}
	file := filepath.Join(t.TempDir(), "jobs.yaml")
	assert.NilError(t, os.WriteFile(file, []byte(strings.Join(documents, "---\n")), 0o600))
	return file
}

// TestDispatchOfAFileToSeveral checks that Jobs of a file are spread over workers. An interruption
// removes the mirrors on all workers if that was requested, and otherwise none.
func TestDispatchOfAFileToSeveral(t *testing.T) {
	t.Parallel()
	const ns = "list-file"
	names := []string{"job-0", "job-1", "job-2", "job-3"}
	spaces(t, ns, management, worker1, worker2)
	var jobs []*batchv1.Job
	for _, name := range names {
		jobs = append(jobs, fixture.New(ns, name, fixture.RunsFor("2h")))
	}
	args := []string{"-f", manifest(t, jobs...), "--spread"}
	running := func(d *dispatching.Process) map[string]string {
		workers := map[string]string{}
		d.Until("mirrors of all", func(e dispatch.Event) bool {
			if e.Event == dispatch.MirrorCreated || e.Event == dispatch.MirrorFound {
				workers[e.Origin.Name] = e.Mirror.Context
			}
			return len(workers) == len(names)
		})
		return workers
	}
	first := dispatchesTo(t, "worker-1,worker-2", ns, args...)
	made := running(first)
	on := map[string]int{}
	for _, worker := range made {
		on[worker]++
	}
	assert.DeepEqual(t, on, map[string]int{worker1: 2, worker2: 2})
	assert.Equal(t, first.Count(dispatch.OriginCreated), len(names))
	first.Signal(syscall.SIGINT)
	assert.Equal(t, first.End(), 130, first.Stderr.String())
	for name, worker := range made {
		assert.Assert(t, jobOf(t, worker, ns, name) != nil, "%s was removed from %s", name, worker)
	}

	// The list has another order, but each Job stays on its worker.
	again := dispatchesTo(t, "worker-2,worker-1", ns, append(args, "--on-interrupt", "delete")...)
	assert.DeepEqual(t, running(again), made)
	again.Signal(syscall.SIGINT)
	assert.Equal(t, again.End(), 130, again.Stderr.String())
	for name, worker := range made {
		eventuallyJob(t, worker, ns, name, isGone)
		origin := jobOf(t, management, ns, name)
		assert.Equal(t, origin.Annotations[delegation.MirrorAnnotation], "")
		assert.Equal(t, origin.Status.Active, int32(0))
	}
}

// TestDispatchOfABadFileToSeveral checks that a file with one Job that no worker accepts is not
// dispatched at all, and the reason of each worker is reported.
func TestDispatchOfABadFileToSeveral(t *testing.T) {
	t.Parallel()
	const ns = "list-bad"
	spaces(t, ns, management, worker1, worker2)
	rejected := fixture.New(ns, "needy")
	rejected.Spec.Template.Spec.ServiceAccountName = "nobody"
	d := dispatchesTo(t, "worker-1,worker-2", ns, "-f", manifest(t, fixture.New(ns, "fine"), rejected))
	assert.Equal(t, d.End(), 1, d.Stderr.String())
	var refused []string
	for _, e := range d.Seen {
		assert.Equal(t, e.Event, dispatch.Refused, e.Message)
		refused = append(refused, e.Message)
	}
	assert.Assert(t, contains(strings.Join(refused, "\n"), "context \"worker-1\": ServiceAccount "+ns+"/nobody: does not exist", "context \"worker-2\": ServiceAccount "+ns+"/nobody: does not exist"), "%v", refused)
	assert.Assert(t, contains(d.Stderr.String(), "1 of 2 Jobs cannot run on any of worker-1, worker-2", "no Job was created"), d.Stderr.String())
	for _, cluster := range []string{management, worker1, worker2} {
		for _, name := range []string{"fine", "needy"} {
			assert.Assert(t, jobOf(t, cluster, ns, name) == nil, "%s is on %s", name, cluster)
		}
	}
}

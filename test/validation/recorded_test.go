package validation

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/projection"
)

// TestRecordedMirrorsAreAccepted copies the mirrors of the recordings, which real clusters wrote, to
// the recorded origin: first each to a separate copy of it, then all to one after the other, as if
// the Job had moved.
func TestRecordedMirrorsAreAccepted(t *testing.T) {
	folders, err := filepath.Glob("../recordings/*")
	assert.NilError(t, err)
	folders = append(folders, "../../examples/fleet")
	mirrors, writes := 0, 0
	for _, folder := range folders {
		jobs := recorded(t, folder)
		for _, mirror := range jobs {
			if mirror.Spec.ManagedBy != nil {
				continue
			}
			mirrors++
			stored := counterpart(jobs, mirror)
			origin := originOf(t, stored)
			origin.store(t, &stored.Status)
			p := newProjector(t, origin)
			p.observe(mirror)
			writes += p.writes
			if len(p.last.Diverged)+len(p.written.Diverged) == 0 {
				want := roundTrip(t, &mirror.Status)
				if u := want.UncountedTerminatedPods; u != nil && len(u.Succeeded)+len(u.Failed) == 0 {
					// Without Pods, the field is no reason to write.
					want.UncountedTerminatedPods = origin.job.Status.UncountedTerminatedPods
				}
				assert.DeepEqual(t, &origin.job.Status, want)
			}
			all := newProjector(t, originOf(t, stored))
			for _, other := range jobs {
				if other.Spec.ManagedBy == nil && other.Name == mirror.Name && other.Namespace == mirror.Namespace {
					all.observe(other)
				}
			}
			writes += all.writes
		}
	}
	t.Logf("%d recorded mirrors, %d writes taken, none refused", mirrors, writes)
	assert.Assert(t, mirrors > 12, "too few recordings: %d mirrors", mirrors)
}

// recorded returns the Jobs of all clusters in a snapshot.
func recorded(t *testing.T, folder string) []*batchv1.Job {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	assert.NilError(t, err)
	var jobs []*batchv1.Job
	for _, file := range files {
		data, err := os.ReadFile(file)
		assert.NilError(t, err)
		var list struct{ Items []json.RawMessage }
		assert.NilError(t, yaml.Unmarshal(data, &list), file)
		for _, item := range list.Items {
			var kind metav1.TypeMeta
			assert.NilError(t, json.Unmarshal(item, &kind))
			if kind.Kind != "Job" || kind.APIVersion != "batch/v1" {
				continue
			}
			var job batchv1.Job
			assert.NilError(t, json.Unmarshal(item, &job))
			jobs = append(jobs, &job)
		}
	}
	return jobs
}

// counterpart returns the origin of a recorded mirror, or one that is derived from the mirror.
func counterpart(jobs []*batchv1.Job, mirror *batchv1.Job) *batchv1.Job {
	for _, job := range jobs {
		if job.Spec.ManagedBy != nil && job.Name == mirror.Name && job.Namespace == mirror.Namespace {
			return job
		}
	}
	origin := mirror.DeepCopy()
	origin.Spec.ManagedBy = ptr.To(owner)
	origin.Status = batchv1.JobStatus{}
	return origin
}

// originOf returns a recorded origin as it was created.
func originOf(t *testing.T, job *batchv1.Job) *object {
	t.Helper()
	created := job.DeepCopy()
	created.Spec.Selector = nil
	for _, label := range []string{"controller-uid", "job-name"} {
		delete(created.Spec.Template.Labels, label)
		delete(created.Spec.Template.Labels, "batch.kubernetes.io/"+label)
	}
	o := create(t, server{}, created)
	assert.Assert(t, !projection.Project(o.job, o.job, projection.Options{}).Changed, "a Job differs from itself")
	return o
}

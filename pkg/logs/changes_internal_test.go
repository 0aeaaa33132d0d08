package logs

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestIsNews: a Job whose pods come and go is no news; one that comes, goes, ends or
// has other pods is.
func TestIsNews(t *testing.T) {
	job := inspect.Job{Context: "west", APIVersion: "ray.io/v1", Kind: "RayJob", Namespace: "ml", Name: "train", UID: "one", Status: delegation.Pending}
	outlines := map[inspect.Ref]outline{place(&job): outlineOf(&job)}
	for _, tt := range []struct {
		name   string
		kind   inspect.ChangeType
		change func(*inspect.Job)
		isNews bool
	}{
		{"known", inspect.Added, func(*inspect.Job) {}, false},
		{"synced", inspect.Synced, func(*inspect.Job) {}, false},
		{"runs", inspect.Modified, func(j *inspect.Job) { j.Status = delegation.Running }, false},
		{"has pods", inspect.Modified, func(j *inspect.Job) { j.PodValue = "train-x7f2k" }, true},
		{"has more of them", inspect.Modified, func(j *inspect.Job) { j.Active = 3 }, false},
		{"made anew", inspect.Modified, func(j *inspect.Job) { j.UID = "two" }, true},
		{"ends", inspect.Modified, func(j *inspect.Job) { j.Status = delegation.Complete }, true},
		{"goes", inspect.Deleted, func(*inspect.Job) {}, true},
		{"comes", inspect.Added, func(*inspect.Job) {}, true},
		{"does not answer", inspect.Lost, func(*inspect.Job) {}, false},
		{"answers again", inspect.Found, func(*inspect.Job) {}, true},
	} {
		tt.change(&job)
		assert.Equal(t, isNews(outlines, inspect.Change{Type: tt.kind, Context: "west", Job: job}), tt.isNews, tt.name)
	}
}

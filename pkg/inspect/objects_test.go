package inspect_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestObjects finds objects by UID, name and controller. It finds none by an empty UID, which
// objects in a snapshot may have, and none on an unread cluster.
func TestObjects(t *testing.T) {
	job := func(name, uid, controller string) *inspect.Job {
		j := &inspect.Job{Context: "a", Namespace: "ml", Name: name, UID: uid}
		j.APIVersion, j.Kind = "batch/v1", "Job"
		if controller != "" {
			j.Controller = &metav1.OwnerReference{UID: "1"}
		}
		return j
	}
	whole, part, without := job("whole", "1", ""), job("part", "2", "1"), job("without", "", "")
	f := &inspect.Facts{Context: "a", Jobs: []*inspect.Job{whole, part, without}}
	inspect.NewInventory(time.Now(), []*inspect.Facts{f}, nil)
	assert.Equal(t, f.JobOf("2"), part)
	assert.Assert(t, f.JobOf("") == nil && f.JobOf("3") == nil)
	assert.Equal(t, f.JobNamed(inspect.NameOf(without)), without)
	assert.Equal(t, len(f.PartsOf(whole)), 1)
	for _, none := range []*inspect.Facts{nil, {Context: "b"}} {
		assert.Assert(t, none.JobOf("1") == nil && none.JobNamed(inspect.NameOf(whole)) == nil && none.PartsOf(whole) == nil)
	}
}

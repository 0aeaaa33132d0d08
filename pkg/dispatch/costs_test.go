package dispatch

import (
	"net/http"
	"path"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
)

// TestLeaseCosts checks that taking and removing a Lease costs four requests: read the Lease,
// read the origin, create the Lease, and delete it unchanged.
func TestLeaseCosts(t *testing.T) {
	server := dispatchtest.NewServer(t)
	cluster := clusterOf(t, server, "here")
	l := leaseOf(cluster, server.Create(t, delegation.Job().Resource, dispatchtest.SmallJob(t)), "mine")
	l.timing = leaseTiming{duration: 3 * time.Minute, deadline: 2 * time.Minute, retry: time.Minute}
	var mu sync.Mutex
	var asked []string
	server.Before = func(r *http.Request) *apierrors.StatusError {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+path.Base(r.URL.Path))
		return nil
	}
	held, ended, stop := startLease(t, l)
	assert.Assert(t, awaits(t, held, "the Lease is held"))
	l.removing.Store(true)
	stop()
	assert.NilError(t, awaits(t, ended, "the dispatch ends"))
	assert.NilError(t, l.remove(t.Context()))
	mu.Lock()
	name := delegation.LeaseName("small")
	assert.DeepEqual(t, asked, []string{"GET " + name, "GET small", "POST leases", "DELETE " + name})
	mu.Unlock()
	assert.Assert(t, storedLease(t, cluster, "small") == nil)
}

// TestLeaseOfAnotherIsNotRemoved checks that a Lease which another dispatcher has taken is not
// deleted.
func TestLeaseOfAnotherIsNotRemoved(t *testing.T) {
	server := dispatchtest.NewServer(t)
	cluster := clusterOf(t, server, "here")
	l := leaseOf(cluster, server.Create(t, delegation.Job().Resource, dispatchtest.SmallJob(t)), "mine")
	l.timing = leaseTiming{duration: 3 * time.Minute, deadline: 2 * time.Minute, retry: time.Minute}
	held, ended, stop := startLease(t, l)
	assert.Assert(t, awaits(t, held, "the Lease is held"))
	server.Change(t, leases(), "ml", delegation.LeaseName("small"), func(o *unstructured.Unstructured) {
		dispatchtest.Set(t, o, "spec.holderIdentity", "theirs")
	})
	l.removing.Store(true)
	stop()
	assert.NilError(t, awaits(t, ended, "the dispatch ends"))
	assert.NilError(t, l.remove(t.Context()))
	assert.Equal(t, holderOf(storedLease(t, cluster, "small")), "theirs")
}

// TestPlanIsMadeOnce checks that the mirror which preflight has checked is the one that is
// created. The mirror annotation on the origin does not cause a new plan.
func TestPlanIsMadeOnce(t *testing.T) {
	job := dispatchtest.SmallJob(t)
	seen, err := plan.New(job, plan.Options{})
	assert.NilError(t, err)
	at := &task{Loop: &Loop{}, Task: Task{Kind: delegation.Job(), Plan: seen}}
	first, err := at.plan(job)
	assert.NilError(t, err)
	assert.Assert(t, first == seen.Mirror, "it is made anew")
	pinnedMirror := job.DeepCopy()
	annotations := pinnedMirror.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[delegation.MirrorAnnotation] = "worker-uid/ml/small/uid-of-mirror"
	pinnedMirror.SetAnnotations(annotations)
	second, err := at.plan(pinnedMirror)
	assert.NilError(t, err)
	assert.Assert(t, first == second, "it is made anew")
	annotations["example.com/asked"] = "more"
	pinnedMirror.SetAnnotations(annotations)
	third, err := at.plan(pinnedMirror)
	assert.NilError(t, err)
	assert.Assert(t, third != second, "what the user has changed is not planned")
}

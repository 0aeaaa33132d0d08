package inspect

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

func TestHeldAt(t *testing.T) {
	now := epoch
	renewed := func(holder string, ago time.Duration) *Lease {
		return &Lease{Holder: holder, Duration: 15 * time.Second, Renewed: now.Add(-ago)}
	}
	for _, tt := range []struct {
		name string
		l    *Lease
		held bool
	}{
		{"no Lease", nil, false},
		{"just renewed", renewed("alice", 0), true},
		{"renewed, and clocks differ by a little", renewed("alice", -2*time.Second), true},
		{"about to expire", renewed("alice", 14*time.Second), true},
		{"expired within the allowed clock skew", renewed("alice", 19*time.Second), true},
		{"expired", renewed("alice", 21*time.Second), false},
		{"released", renewed("", 0), false},
		{"never renewed", &Lease{Holder: "alice", Duration: 15 * time.Second}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.l.heldAt(now), tt.held)
		})
	}
	assert.Equal(t, renewed("alice", time.Minute).FreeSince(), now.Add(-45*time.Second))
	assert.Equal(t, renewed("", time.Minute).FreeSince(), now.Add(-time.Minute))
	assert.Assert(t, (&Lease{Holder: "alice", Duration: time.Minute}).FreeSince().IsZero(), "nobody dated it")
}

func TestDispatcher(t *testing.T) {
	lease := Lease{Holder: "alice", Duration: 15 * time.Second, Acquired: epoch, Renewed: epoch.Add(time.Minute)}
	at1m := at(time.Minute)
	assert.DeepEqual(t, lease.dispatcher(epoch.Add(time.Minute)), &Dispatcher{Holder: "alice", Since: at(0), Renewed: at1m, Held: true})
	assert.DeepEqual(t, lease.dispatcher(epoch.Add(time.Hour)), &Dispatcher{Holder: "alice", Since: at(0), Renewed: at1m})
	// client-go also sets acquireTime when it releases a Lease.
	lease.Holder = ""
	assert.DeepEqual(t, lease.dispatcher(epoch.Add(time.Minute)), &Dispatcher{Renewed: at1m})
	assert.DeepEqual(t, (*Lease)(nil).dispatcher(epoch), &Dispatcher{})
}

// dispatchedJob returns the Job of the Lease below.
func dispatchedJob() *Job {
	return &Job{APIVersion: "batch/v1", Kind: "Job", Context: "c", Namespace: "ns", Name: "a", UID: "u", ManagedBy: delegation.Dispatch}
}

func TestLeaseOf(t *testing.T) {
	lease := &Lease{Namespace: "ns", Name: "jobs-managedby-a", OriginUID: "u", Holder: "alice", Duration: 15 * time.Second, Renewed: epoch}
	facts := &Facts{Leases: map[string]*Lease{"ns/jobs-managedby-a": lease}}
	found, known := facts.LeaseOf(dispatchedJob())
	assert.Assert(t, found == lease && known)
	for name, change := range map[string]func(*Job){
		"created again":     func(j *Job) { j.UID = "v" },
		"another name":      func(j *Job) { j.Name = "b" },
		"another namespace": func(j *Job) { j.Namespace = "other" },
	} {
		j := dispatchedJob()
		change(j)
		found, known = facts.LeaseOf(j)
		assert.Assert(t, found == nil && known, name)
	}
	lease.OriginUID = ""
	found, known = facts.LeaseOf(dispatchedJob())
	assert.Assert(t, found == lease && known, "its dispatcher adds the label")
	for name, unknown := range map[string]*Facts{
		"not read":           nil,
		"not asked":          {},
		"forbidden":          {Gaps: map[Part]error{PartLeases: errors.New("forbidden")}},
		"forbidden in parts": {Leases: facts.Leases, Gaps: map[Part]error{PartLeases: errors.New("forbidden")}},
	} {
		found, known = unknown.LeaseOf(dispatchedJob())
		assert.Assert(t, found == nil && !known, name)
	}
}

// TestDispatchersByTheClusterClock checks that the times of a Lease are compared with the clock of
// its cluster, which may be an hour off.
func TestDispatchersByTheClusterClock(t *testing.T) {
	const off = time.Hour
	for _, ahead := range []time.Duration{0, off, -off} {
		j, other := dispatchedJob(), &Job{Context: "c", Namespace: "ns", Name: "b", UID: "x", ManagedBy: "example.com/x"}
		lease := &Lease{Namespace: "ns", Name: "jobs-managedby-a", OriginUID: "u", Holder: "alice", Duration: 15 * time.Second, Renewed: epoch.Add(ahead)}
		facts := &Facts{
			Context: "c", Jobs: []*Job{j, other}, Leases: map[string]*Lease{"ns/jobs-managedby-a": lease},
			Skew: kubecontext.Skew{Min: ahead - 500*time.Millisecond, Max: ahead + 500*time.Millisecond, Known: true},
		}
		v := NewInventory(epoch.Add(10*time.Second), []*Facts{facts}, nil)
		assert.DeepEqual(t, j.Dispatcher, &Dispatcher{Holder: "alice", Renewed: &metav1.Time{Time: lease.Renewed}, Held: true})
		assert.Assert(t, other.Dispatcher == nil)
		assert.Assert(t, v.IsHeld("c", lease))
		NewInventory(epoch.Add(30*time.Second), []*Facts{facts}, nil)
		assert.Assert(t, !j.Dispatcher.Held)
	}
}

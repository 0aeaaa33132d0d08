package answer

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestBriefOfARunningMirror checks that the list says where a Job runs while its own status does not.
func TestBriefOfARunningMirror(t *testing.T) {
	for status, want := range map[delegation.Status]string{
		delegation.Running: "", delegation.Pending: "Running on w.", delegation.Suspended: "Running on w.",
	} {
		origin := &inspect.Job{Context: "hub", Namespace: "ml", Name: "a", Status: status}
		trace := &inspect.Trace{Origin: origin, Mirrors: []inspect.TraceMirror{{Job: inspect.Job{Context: "w"}, Current: true}}}
		assert.Equal(t, runsElsewhere(trace, &Answer{State: inspect.StateRunning}), want, status)
		assert.Equal(t, runsElsewhere(trace, &Answer{State: inspect.StateStarting}), "", status)
	}
}

// TestSuspendedOriginHasNoLag checks that the condition Suspended, which Kueue removes from an origin that
// it stopped, is no difference between two suspended Jobs.
func TestSuspendedOriginHasNoLag(t *testing.T) {
	mirror := inspect.Mirror{Job: &inspect.Job{Context: "w", Status: delegation.Suspended}}
	for status, want := range map[delegation.Status]bool{delegation.Suspended: false, delegation.Running: true} {
		q := Question{
			Inventory: inspect.NewInventory(time.Unix(0, 0), nil, nil), Pair: inspect.Pair{Origin: &inspect.Job{Context: "hub", Status: status}},
			Trace: &inspect.Trace{Differences: []inspect.Difference{{Field: "status.conditions[Suspended]", Mirror: "True"}}},
		}
		assert.Equal(t, q.isStatusNotCopied(mirror), want, status)
	}
}

// TestWaitingWithFinding checks that a list explains a Job again whose reason is a finding, perhaps about one worker
// of several, unless it has a mirror.
func TestWaitingWithFinding(t *testing.T) {
	origin := &inspect.Job{
		APIVersion: "batch/v1", Kind: "Job", Context: "hub", Namespace: "ml", Name: "a", UID: "a", ManagedBy: delegation.MultiKueue,
		Status: delegation.Suspended, Suspended: true, Marks: &delegation.Marks{Queue: "gpu"},
	}
	v := inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{{Context: "hub", Jobs: []*inspect.Job{origin}, Kueue: &inspect.KueueFacts{}}}, nil)
	for reason, want := range map[inspect.JobReason]int{inspect.ReasonFinding: 1, inspect.ReasonSetup: 1, inspect.ReasonUnknownOwner: 0} {
		pairs, _, _ := Waiting(v, map[*inspect.Job]Brief{origin: {Reason: reason}})
		assert.Equal(t, len(pairs), want, reason)
	}
}

package delegation_test

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

const otherOwner delegation.Owner = "example.com/controller"

// conditions returns conditions that are true.
func conditions(types ...string) []delegation.Condition {
	var cs []delegation.Condition
	for _, t := range types {
		cs = append(cs, delegation.Condition{Type: t, True: true})
	}
	return cs
}

func TestStatusOf(t *testing.T) {
	const (
		builtIn    = delegation.BuiltIn
		multiKueue = delegation.MultiKueue
	)
	for _, tt := range []struct {
		name    string
		owner   delegation.Owner
		state   delegation.State
		claimed bool
		want    delegation.Status
	}{
		{"new", builtIn, delegation.State{}, false, delegation.Unclaimed},
		{"new and suspended", builtIn, delegation.State{Suspend: true}, false, delegation.Suspended},
		{"status written", builtIn, delegation.State{StatusWritten: true}, false, delegation.Pending},
		{"new and delegated", otherOwner, delegation.State{}, false, delegation.Unclaimed},
		{"new and delegated to dispatch", delegation.Dispatch, delegation.State{}, false, delegation.Unclaimed},
		{"delegated, status written", otherOwner, delegation.State{StatusWritten: true}, false, delegation.Pending},
		{"MultiKueue without a Workload", multiKueue, delegation.State{}, false, delegation.Unclaimed},
		{"MultiKueue with a Workload", multiKueue, delegation.State{}, true, delegation.Pending},
		{"MultiKueue with a Workload, suspended", multiKueue, delegation.State{Suspend: true}, true, delegation.Suspended},
		{"MultiKueue, status written", multiKueue, delegation.State{StatusWritten: true}, false, delegation.Pending},

		{"a pod is ready", builtIn, delegation.State{Active: 1, Ready: ptr.To[int32](1)}, false, delegation.Running},
		{"no pod is ready", builtIn, delegation.State{Active: 1, Ready: ptr.To[int32](0)}, false, delegation.Pending},
		{"the server does not count ready pods", builtIn, delegation.State{Active: 1}, false, delegation.Running},
		{"ready but none active", builtIn, delegation.State{Ready: ptr.To[int32](1)}, false, delegation.Pending},
		{"a pod has succeeded", builtIn, delegation.State{Succeeded: 1, Ready: ptr.To[int32](0)}, false, delegation.Running},
		{"a pod has failed", builtIn, delegation.State{Failed: 1, Ready: ptr.To[int32](0)}, false, delegation.Running},
		{"a pod has succeeded, the next is not ready", builtIn, delegation.State{Active: 1, Succeeded: 1, Ready: ptr.To[int32](0)}, false, delegation.Running},
		{"delegated and running", otherOwner, delegation.State{StatusWritten: true, Active: 1, Ready: ptr.To[int32](1)}, false, delegation.Running},

		{"suspend without the condition", builtIn, delegation.State{Suspend: true}, false, delegation.Suspended},
		{"the condition without suspend", builtIn, delegation.State{Conditions: conditions("Suspended")}, false, delegation.Suspended},
		{"suspend while pods are left", builtIn, delegation.State{Suspend: true, Active: 2, Ready: ptr.To[int32](1)}, false, delegation.Running},
		{"suspend while a pod that is not ready is left", builtIn, delegation.State{Suspend: true, Active: 1, Ready: ptr.To[int32](0)}, false, delegation.Pending},
		{"the condition while pods are left", builtIn, delegation.State{Suspend: true, Active: 2, Conditions: conditions("Suspended")}, false, delegation.Suspended},
		{"resumed", builtIn, delegation.State{Conditions: []delegation.Condition{{Type: "Suspended"}}}, false, delegation.Pending},

		{"complete", builtIn, delegation.State{Succeeded: 1, Conditions: conditions("Complete")}, false, delegation.Complete},
		{"failed", builtIn, delegation.State{Failed: 1, Conditions: conditions("Failed")}, false, delegation.Failed},
		{"criteria met, pods not gone yet", builtIn, delegation.State{Active: 1, Ready: ptr.To[int32](1), Conditions: conditions("SuccessCriteriaMet")}, false, delegation.Running},
		{"failing, pods not gone yet", builtIn, delegation.State{Failed: 1, Conditions: conditions("FailureTarget")}, false, delegation.Running},
		{"the condition says that it is not complete", builtIn, delegation.State{Conditions: []delegation.Condition{{Type: "Complete"}}}, false, delegation.Pending},
		{"the condition says that it has not failed", builtIn, delegation.State{Conditions: []delegation.Condition{{Type: "Failed"}}}, false, delegation.Pending},

		// If two apply, the first one in the order of Statuses wins.
		{"Terminating before Complete", builtIn, delegation.State{Deleting: true, Conditions: conditions("Complete")}, false, delegation.Terminating},
		{"Terminating before Unclaimed", otherOwner, delegation.State{Deleting: true}, false, delegation.Terminating},
		{"Terminating before Suspended", builtIn, delegation.State{Deleting: true, Suspend: true}, false, delegation.Terminating},
		{"Complete before Failed", builtIn, delegation.State{Conditions: conditions("Failed", "Complete")}, false, delegation.Complete},
		{"Complete before Unclaimed", otherOwner, delegation.State{Conditions: conditions("Complete")}, false, delegation.Complete},
		{"Failed before Unclaimed", otherOwner, delegation.State{Conditions: conditions("Failed")}, false, delegation.Failed},
		{"Failed before Suspended", builtIn, delegation.State{Suspend: true, Conditions: conditions("Failed", "Suspended")}, false, delegation.Failed},
		{"Unclaimed before Suspended", otherOwner, delegation.State{Suspend: true}, false, delegation.Unclaimed},
		{"Unclaimed before Running", otherOwner, delegation.State{Active: 1}, false, delegation.Unclaimed},
		{"Suspended before Running", builtIn, delegation.State{Suspend: true, Succeeded: 1}, false, delegation.Suspended},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.owner.IsBuiltIn() && (tt.state.Ready != nil || tt.state.Active > 0 || len(tt.state.Conditions) > 0) {
				tt.state.StatusWritten = true
			}
			assert.Equal(t, delegation.Job().StatusOf(tt.owner, tt.state, tt.claimed), tt.want)
		})
	}
}

// TestStatusOfKindWithoutConditions checks that a kind without a condition type does not match a
// condition without a type.
func TestStatusOfKindWithoutConditions(t *testing.T) {
	kind := delegation.Kind{Name: "plain"}
	state := delegation.State{Conditions: conditions("")}
	assert.Equal(t, kind.StatusOf(delegation.BuiltIn, state, false), delegation.Pending)
	_, finished := kind.Finished(state)
	assert.Assert(t, !finished)
}

// TestStatusOfKindWithUnwrittenStatus checks that an unwritten status of a TrainJob, which
// Trainer 2.0 leaves while it runs, proves nothing.
func TestStatusOfKindWithUnwrittenStatus(t *testing.T) {
	train, _ := delegation.KindNamed("trainjob")
	assert.Equal(t, train.StatusOf(delegation.BuiltIn, delegation.State{}, false), delegation.Unknown)
	assert.Equal(t, train.StatusOf(delegation.BuiltIn, delegation.State{Suspend: true}, false), delegation.Suspended)
	assert.Equal(t, train.StatusOf(delegation.BuiltIn, delegation.State{StatusWritten: true}, false), delegation.Pending)
	assert.Equal(t, train.StatusOf(delegation.MultiKueue, delegation.State{}, false), delegation.Unclaimed)
	assert.Equal(t, train.StatusOf(delegation.MultiKueue, delegation.State{}, true), delegation.Unknown)
}

func TestStatuses(t *testing.T) {
	assert.DeepEqual(t, delegation.Statuses(), []delegation.Status{
		"Terminating", "Complete", "Failed", "Unclaimed", "Suspended", "Running", "Pending", "Unknown",
	})
	delegation.Statuses()[0] = "changed"
	assert.Equal(t, delegation.Statuses()[0], delegation.Terminating, "callers share one slice")
}

func TestNeedsClaim(t *testing.T) {
	for _, tt := range []struct {
		name  string
		owner delegation.Owner
		state delegation.State
		want  bool
	}{
		{"MultiKueue, never written", delegation.MultiKueue, delegation.State{}, true},
		{"MultiKueue, suspended", delegation.MultiKueue, delegation.State{Suspend: true}, true},
		{"MultiKueue, written", delegation.MultiKueue, delegation.State{StatusWritten: true}, false},
		{"MultiKueue, being deleted", delegation.MultiKueue, delegation.State{Deleting: true}, false},
		{"dispatch", delegation.Dispatch, delegation.State{}, false},
		{"another owner", otherOwner, delegation.State{}, false},
		{"built-in", delegation.BuiltIn, delegation.State{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, delegation.NeedsClaim(tt.owner, tt.state), tt.want)
		})
	}
}

func TestFinished(t *testing.T) {
	var (
		early = time.Date(2025, time.March, 1, 12, 0, 0, 0, time.UTC)
		late  = early.Add(time.Hour)
	)
	for _, tt := range []struct {
		name       string
		conditions []delegation.Condition
		want       time.Time
		finished   bool
	}{
		{"no conditions", nil, time.Time{}, false},
		{"complete", []delegation.Condition{{Type: "SuccessCriteriaMet", True: true, Since: early}, {Type: "Complete", True: true, Since: late}}, late, true},
		{"failed", []delegation.Condition{{Type: "FailureTarget", True: true, Since: early}, {Type: "Failed", True: true, Since: late}}, late, true},
		{"complete, without a time", conditions("Complete"), time.Time{}, true},
		{"complete and failed", []delegation.Condition{{Type: "Failed", True: true, Since: early}, {Type: "Complete", True: true, Since: late}}, late, true},
		{"not complete, but failed", []delegation.Condition{{Type: "Complete", Since: early}, {Type: "Failed", True: true, Since: late}}, late, true},
		{"not complete", []delegation.Condition{{Type: "Complete", Since: early}}, time.Time{}, false},
		{"criteria met alone", []delegation.Condition{{Type: "SuccessCriteriaMet", True: true, Since: early}}, time.Time{}, false},
		{"suspended", []delegation.Condition{{Type: "Suspended", True: true, Since: early}}, time.Time{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			since, ok := delegation.Job().Finished(delegation.State{Conditions: tt.conditions})
			assert.Equal(t, ok, tt.finished)
			assert.Equal(t, since, tt.want)
		})
	}
}

package placement

import (
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// markTaken marks the clusters that have another object of the name of a pair's origin, or the mirror of an older one.
// Kueue deletes that mirror at once while the Workload has no quota (kueue:
// pkg/controller/admissionchecks/multikueue/workload.go, reconcileGroup).
func (r *Request) markTaken(p inspect.Pair, submitted *kueue.Workload) {
	for _, j := range p.Namesakes {
		r.Check(j.Context).IsTaken = true
	}
	for _, m := range p.Mirrors {
		isOlder := !m.Current && m.Relation == inspect.ByMultiKueue && m.Job.DeletedAt == nil
		if isOlder && submitted != nil && submitted.Is(kueue.QuotaReserved) {
			r.Check(m.Job.Context).older = m.Job
		}
	}
}

// keepOlder adds to the placement on a worker that it still has the mirror of an older Job of the name. Only if Kueue does
// not delete that, the Job cannot run there.
func (a *Surroundings) keepOlder(p *inspect.Placement, manager *inspect.Facts, older *inspect.Job) {
	if p.Verdict == inspect.Never || p.Reason == inspect.Unreadable {
		return
	}
	// The older mirror itself may hold the quota.
	settle(p, p.Verdict, inspect.NameTaken, fmt.Sprintf("still has the mirror of an older %s of this name", older.Kind))
	names, label := a.inventory.OriginNames(manager), older.Marks.MultiKueueOrigin
	mayLabel, certain := names.MayLabel(label)
	copied := a.inventory.Facts(older.Context).Workload(older.Namespace, older.Prebuilt())
	switch {
	case mayLabel && names.IsCurrent(label) && copied != nil && copied.Labels[delegation.MultiKueueOriginLabel] == label:
		p.Verdict = inspect.Waits
		p.Message += fmt.Sprintf(", which Kueue on %s normally deletes within a minute", manager.Context)
	case mayLabel && certain:
		p.Verdict, p.Changes = inspect.Never, append(p.Changes, deleteOlder(older, copied))
	default:
		p.Verdict, p.Changes = inspect.Never, append(p.Changes, inspect.PlacementChange{Message: "submit it under another name"})
	}
}

// deleteOlder returns the change for a mirror of an older Job that Kueue does not delete: its garbage collector starts from
// the Workloads that have the manager's present multiKueue.origin (kueue:
// pkg/controller/admissionchecks/multikueue/multikueuecluster.go, runGC). JM063 has the same fix.
func deleteOlder(older *inspect.Job, copied *kueue.Workload) inspect.PlacementChange {
	change := inspect.PlacementChange{
		Message: "delete the mirror of the older " + older.Kind,
		Command: command.Kubectl(older.Context, older.Namespace, "delete", command.KindName(older.Row()), older.Name).Shell(),
	}
	if copied != nil {
		deletion := kueue.Kubectl(older.Context, "delete", "Workload", older.Namespace, copied.Name)
		change.Then = []command.Step{{Text: "delete its Workload", Command: deletion.With("--ignore-not-found").Words()}}
	}
	return change
}

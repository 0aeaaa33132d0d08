package answer

import (
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Brief is the answer for a Job of a list, by what a list reads.
type Brief struct {
	Reason inspect.JobReason
	// Message is "" where the status of the Job says it all.
	Message string
}

// Jobs returns the answers for all Jobs of an inventory. found are the findings of the Jobs,
// nil where nothing was judged.
func Jobs(v *inspect.Inventory, found []inspect.Finding) map[*inspect.Job]Brief {
	byJob := map[inspect.Ref][]inspect.Finding{}
	for i := range found {
		for _, r := range found[i].Jobs {
			byJob[r] = append(byJob[r], found[i])
		}
	}
	briefs := map[*inspect.Job]Brief{}
	add := func(j *inspect.Job, p inspect.Pair) { briefs[j] = briefOf(v, p, byJob, found) }
	for _, p := range v.Pairs.Pairs {
		add(p.Origin, p)
	}
	for _, orphan := range v.Pairs.Orphans {
		add(orphan, inspect.OrphanPair(orphan))
	}
	for _, f := range v.Clusters {
		for _, j := range f.Jobs {
			if _, known := briefs[j]; !known {
				add(j, inspect.Pair{Origin: j})
			}
		}
	}
	return briefs
}

func briefOf(v *inspect.Inventory, p inspect.Pair, byJob map[inspect.Ref][]inspect.Finding, all []inspect.Finding) Brief {
	if o := p.Origin; o != nil && len(p.Mirrors) == 0 && o.Status.IsFinished() {
		return Brief{}
	}
	t := v.Follow(p)
	for _, j := range p.Jobs() {
		t.Findings = append(t.Findings, byJob[inspect.RefOf(j)]...)
	}
	q := Question{Inventory: v, Pair: p, Trace: t, Findings: all}
	a := q.Answer()
	if a.Reason == inspect.ReasonBuiltIn || a.State.IsFinished() && a.Reason == inspect.ReasonNone {
		return Brief{Reason: a.Reason}
	}
	if a.State == inspect.StateRunning && a.Reason == inspect.ReasonNone {
		return Brief{}
	}
	return Brief{Reason: a.Reason, Message: a.Message}
}

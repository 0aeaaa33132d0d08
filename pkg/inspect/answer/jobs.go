package answer

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
)

// Brief is the answer for a Job of a list, from the parts that a list reads.
type Brief struct {
	Reason inspect.JobReason
	// Message is "" if the status of the Job is enough.
	Message string
	// Cost is what the Job holds although no cluster can run it, nil if
	// nothing.
	Cost *inspect.Cost
	// Unchecked is what the answer depends on and could not be read.
	Unchecked []inspect.Unchecked
}

// Jobs returns the answers for all Jobs of an inventory. found are the
// findings about the Jobs, nil if nothing was judged.
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
		return Brief{Message: ending(o)}
	}
	t := chain.Follow(v, p)
	for _, j := range p.Jobs() {
		t.Findings = append(t.Findings, byJob[inspect.RefOf(j)]...)
	}
	q := Question{Inventory: v, Pair: p, Trace: t, Findings: all}
	a := q.Answer()
	switch {
	case a.Reason == inspect.ReasonBuiltIn && a.State != inspect.StateFailing && (p.Origin == nil || !p.Origin.IsPart()):
		return Brief{Reason: a.Reason}
	case a.State.IsFinished() && a.Reason == inspect.ReasonNone && p.Origin != nil:
		return Brief{Message: ending(p.Origin)}
	}
	if a.State == inspect.StateRunning && a.Reason == inspect.ReasonNone {
		return Brief{Message: runsElsewhere(t, &a)}
	}
	message := strings.TrimSpace(runsElsewhere(t, &a) + " " + a.Message)
	return Brief{Reason: a.Reason, Message: message, Cost: a.Cost, Unchecked: a.Unchecked}
}

// runsElsewhere says where a Job runs whose own status does not say yet that it runs, "" for others, and if
// the message of the answer says it.
func runsElsewhere(t *inspect.Trace, a *Answer) string {
	if a.State != inspect.StateRunning || t.Origin == nil || t.Origin.Status == delegation.Running {
		return ""
	}
	t.State = a.State
	if where, _ := strings.CutPrefix(t.Phrase(), "running on "); strings.Contains(a.Message, "runs on "+where) {
		return ""
	}
	return sentence(t.Phrase())
}

// listed is how many waiting Jobs of a list get the same answer as in trace.
// Each requires judging all clusters.
const listed = 100

// Waiting returns the pairs of a list that wait in their queue, according to
// the answers of Jobs, and built-in Jobs that wait, as pairs without mirrors.
// The queues and quotas of the workers explain them better. queues and
// workloads are what to read for that.
func Waiting(v *inspect.Inventory, briefs map[*inspect.Job]Brief) (pairs []inspect.Pair, queues, workloads []types.NamespacedName) {
	for _, p := range slices.Concat(v.Pairs.Pairs, queuedAlone(v)) {
		brief, isKnown := briefs[p.Origin]
		isOpen := p.Origin.IsOpen() && len(p.Current()) == 0 && p.Origin.Queue() != ""
		if isKnown && isOpen && isInQueue(brief.Reason) && len(pairs) < listed {
			pairs = append(pairs, p)
		}
	}
	queues, workloads = placesOf(v, pairs)
	return pairs, queues, workloads
}

// queuedAlone returns the built-in Jobs with a queue that have no Pods. Kueue runs them on their own
// cluster.
func queuedAlone(v *inspect.Inventory) (pairs []inspect.Pair) {
	for _, f := range v.Clusters {
		for _, j := range f.Jobs {
			if !j.IsDelegated() && !j.IsMirror() && !j.IsPart() && j.Waits() && j.Queue() != "" {
				pairs = append(pairs, inspect.Pair{Origin: j})
			}
		}
	}
	return pairs
}

// isInQueue reports whether a reason may be about a Job that Kueue knows and does not run. A finding can be
// about one worker of several.
func isInQueue(r inspect.JobReason) bool {
	return isQuotaReason(r) || slices.Contains([]inspect.JobReason{inspect.ReasonAdmissionCheck, inspect.ReasonSetup, inspect.ReasonHeld, inspect.ReasonFinding}, r)
}

// Explain replaces the answers for pairs of a list by those of trace. v has
// the quotas of the workers, aboutOthers are the findings that IsAboutOthers selects, and about
// returns the findings about a Job. briefs is changed in place.
func Explain(v *inspect.Inventory, pairs []inspect.Pair, aboutOthers []inspect.Finding, about func(*inspect.Trace) []inspect.Finding, briefs map[*inspect.Job]Brief) {
	known := map[inspect.Ref]inspect.Pair{}
	for _, p := range slices.Concat(v.Pairs.Pairs, queuedAlone(v)) {
		known[inspect.RefOf(p.Origin)] = p
	}
	around := placement.Around(v)
	for _, listed := range pairs {
		p, isKnown := known[inspect.RefOf(listed.Origin)]
		if !isKnown {
			continue
		}
		t := chain.Follow(v, p)
		t.Placements = around.Judge(p, nil)
		t.Findings = about(t)
		q := Question{Inventory: v, Pair: p, Trace: t, Findings: aboutOthers}
		if a := q.Answer(); a.Message != "" {
			briefs[listed.Origin] = Brief{Reason: a.Reason, Message: a.Message, Cost: a.Cost, Unchecked: a.Unchecked}
		}
	}
}

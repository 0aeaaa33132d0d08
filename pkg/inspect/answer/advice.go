package answer

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// Judgment is what the rules found. rules.Judgment implements it.
type Judgment interface {
	// All returns the findings whose code satisfies is, of any age.
	All(is func(code string) bool) []inspect.Finding
	// Own returns a finding about several Jobs as the finding about the first wanted one.
	Own(f inspect.Finding, isWanted func(inspect.Ref) bool) inspect.Finding
	// Never returns a finding about Jobs that wait as the error that no cluster can ever run them.
	Never(f inspect.Finding, why string) inspect.Finding
	// Suppresses reports whether the user has suppressed a finding.
	Suppresses(f inspect.Finding) bool
	// Lasts reports whether what Kueue says of a finding's Jobs has been outdated for a while, not only between the
	// release of quota and Kueue's next judgment.
	Lasts(f inspect.Finding) bool
}

// Advise gives findings about the quota of one Job the message and the fixes
// of its answer, so that both agree, and what the Job holds. It changes findings
// in place, and returns them without duplicates. The trace must have its answer.
func (q *Question) Advise(findings []inspect.Finding, j Judgment) []inspect.Finding {
	t := q.Trace
	q.usePlacements(findings)
	q.addCost(findings)
	if !q.isAboutQuota() {
		return findings
	}
	for i := range findings {
		f := &findings[i]
		q.replaceBehind(f, j)
		if mayGetQuota(f) && q.isAboutPair(f) {
			q.addFixesTo(f)
		}
		if !IsAboutQuota(f.Code) || !q.isAboutPair(f) {
			continue
		}
		if f.Code == view.BehindOthers {
			f.Jobs = slices.DeleteFunc(slices.Clone(f.Jobs), func(r inspect.Ref) bool { return !q.isOfPair(r) })
			if q.fitsNowhere() {
				*f = j.Never(*f, t.Message)
			}
		}
		if f.Kind == homeKind(t) && f.Name == t.Origin.Name && len(f.Jobs) <= 1 {
			f.Say(strings.TrimSuffix(lower(t.Message), "."))
			f.Cost = t.Cost
		} else if t.Origin != nil {
			// A finding about a queue quotes the first Job.
			quoted := "; " + t.Origin.Namespace + "/" + t.Origin.Name
			if before, _, isQuoted := strings.Cut(f.Message, quoted+": "); isQuoted {
				f.Message = before + quoted + ": " + strings.TrimSuffix(lower(t.Message), ".")
			}
		}
		q.addFixesTo(f)
		q.addOutdated(f, j)
	}
	return mergeNever(findings)
}

// replaceBehind replaces a finding that a Job waits for a controller with the error that the Job fits on no
// cluster, if it fits on none. A young one is no error yet: it says when it becomes one. The fingerprint does not name
// the controller: the Job may wait for one on each worker, and that is one problem.
func (q *Question) replaceBehind(f *inspect.Finding, j Judgment) {
	if f.Code != behind || !q.fitsNowhere() || !q.isAboutPair(f) {
		return
	}
	own := q.ofOrigin(*f)
	own.Fingerprint = strings.Join([]string{behind, own.Context, own.Kind}, " ")
	if *f = j.Never(own, q.Trace.Message); f.Grace > 0 {
		f.Severity, f.Young = inspect.Info, true
	}
}

// fitsNowhere reports whether no cluster can run the Job. One that is behind a Job that never runs may fit.
func (q *Question) fitsNowhere() bool {
	return q.Trace.State == inspect.StateBlocked && q.Trace.Reason != inspect.ReasonBehindInQueue
}

// mergeNever merges findings with one fingerprint that Jobs fit on no cluster: the most severe one stays, in the place
// of the first, with the Jobs of all.
func mergeNever(findings []inspect.Finding) []inspect.Finding {
	merged := findings[:0:0]
	first := map[string]int{}
	for i := range findings {
		f := findings[i]
		k, isKnown := first[f.Fingerprint]
		if f.Code != view.NeverAdmitted || !isKnown {
			first[f.Fingerprint] = len(merged)
			merged = append(merged, f)
			continue
		}
		one, other := merged[k], f
		if other.Severity.Compare(one.Severity) < 0 {
			one, other = other, one
		}
		one.Jobs = slices.Clone(one.Jobs)
		for _, r := range other.Jobs {
			if !slices.Contains(one.Jobs, r) {
				one.Jobs = append(one.Jobs, r)
			}
		}
		merged[k] = one
	}
	return merged
}

// ofOrigin returns a finding about a controller that a Job waits for as one about the Job, with what its
// placements say.
func (q *Question) ofOrigin(f inspect.Finding) inspect.Finding {
	o := q.Pair.Origin
	f.Context, f.APIVersion, f.Kind, f.Namespace, f.Name = o.Context, o.APIVersion, o.Kind, o.Namespace, o.Name
	f.Jobs, f.Evidence, f.AwaitsActor = []inspect.Ref{inspect.RefOf(o)}, []string{}, false
	for i := range q.Trace.Placements {
		if p := &q.Trace.Placements[i]; p.Verdict == inspect.Never {
			f.Evidence = append(f.Evidence, placeName(p)+": "+p.Message)
		}
	}
	return f
}

// addOutdated makes a finding about quota a warning if Kueue has not judged the Job by its current quota: the Job neither
// waits for quota nor exceeds it. One about several Jobs is no more severe for that, because its others may wait for quota.
// So is one that another reading has not confirmed, because quota that was released just now is normal in a busy queue.
func (q *Question) addOutdated(f *inspect.Finding, j Judgment) {
	if f.Code == view.BehindOthers || !q.mayFitByNow() {
		return
	}
	isOther := func(r inspect.Ref) bool { return !q.isOfPair(r) }
	if slices.ContainsFunc(f.Jobs, isOther) || !j.Lasts(*f) {
		if f.Severity == inspect.Error {
			f.Severity = inspect.Warning
		}
		return
	}
	f.Severity = inspect.Warning
	if before, after, isAboutQueue := strings.Cut(f.Message, " wait for quota "); isAboutQueue {
		name := q.Pair.Origin.Namespace + "/" + q.Pair.Origin.Name
		after, _, _ = strings.Cut(after, "; "+name)
		f.Message = fmt.Sprintf("%s wait %s; %s: %s", before, after, name, strings.TrimSuffix(lower(q.Trace.Message), "."))
	}
}

// mayFitByNow reports whether the Job waits, and Kueue on a cluster has not judged it by its current quota.
func (q *Question) mayFitByNow() bool {
	isOutdated := func(p inspect.Placement) bool { return p.IsOutdated() }
	return q.Trace.State == inspect.StateWaiting && slices.ContainsFunc(q.Trace.Placements, isOutdated)
}

// isAboutQuota reports whether a trace has placements, and a reason that is about quota, or about a LimitRange.
func (q *Question) isAboutQuota() bool {
	return q.Trace.Message != "" && q.isReasonOfRequests(q.Trace.State, q.Trace.Reason)
}

// isReasonOfRequests reports whether the placements show the reason of an answer, and it is about what the Pods
// request: quota, or LimitRanges that refuse them on a worker, if no other worker takes the Job.
func (q *Question) isReasonOfRequests(state inspect.JobState, reason inspect.JobReason) bool {
	if len(q.Trace.Placements) == 0 || isQuotaReason(reason) {
		return len(q.Trace.Placements) > 0
	}
	isRefused := slices.ContainsFunc(q.Trace.Placements, func(p inspect.Placement) bool { return p.Reason == inspect.OutsideLimits })
	mayFit := slices.ContainsFunc(q.Trace.Placements, func(p inspect.Placement) bool { return !p.Manager && p.Verdict != inspect.Never })
	return state == inspect.StateBlocked && reason == inspect.ReasonSetup && isRefused && !mayFit
}

// addFixesTo gives a finding the fixes of the answer, if that has any.
func (q *Question) addFixesTo(f *inspect.Finding) {
	if len(q.Trace.Fixes) > 0 {
		f.Fixes, f.Remedy = slices.Clone(q.Trace.Fixes), q.Trace.Remedy
	}
}

func homeKind(t *inspect.Trace) string {
	if t.Origin == nil {
		return ""
	}
	return t.Origin.Kind
}

func isQuotaReason(r inspect.JobReason) bool {
	return slices.Contains([]inspect.JobReason{
		inspect.ReasonOverLimit, inspect.ReasonNoFlavor, inspect.ReasonQuotaInUse, inspect.ReasonBehindInQueue, inspect.ReasonNotOffered, inspect.ReasonNotAdmitted,
	}, r)
}

// NeedsQuotas reports whether the fixes of any finding depend on quotas. Reading the quotas
// of the workers explains such findings better.
func NeedsQuotas(findings []inspect.Finding) bool {
	return slices.ContainsFunc(findings, func(f inspect.Finding) bool { return HasQuotaFixes(f.Code) || isAdvised(&f) })
}

// deciding returns the placements that a waiting Job depends on: that of its manager if the
// manager does not let the Job pass, otherwise those of the workers where it waits.
func deciding(all []inspect.Placement) []inspect.Placement {
	if gate := placement.Gate(all); gate != nil {
		return []inspect.Placement{*gate}
	}
	return slices.DeleteFunc(slices.Clone(all), func(p inspect.Placement) bool { return p.Verdict != inspect.Waits })
}

// Reached changes the commands of placements so that they work for a user, as
// command.Reached does. It changes placements in place.
func Reached(placements []inspect.Placement, by command.Reach) []inspect.Placement {
	for i := range placements {
		for k := range placements[i].Changes {
			change := &placements[i].Changes[k]
			change.Command = command.Reached(change.Command, by)
			for n := range change.Then {
				step := &change.Then[n]
				step.Command = command.Words(command.Reached(command.Fix{Command: step.Command}.Shell(), by))
			}
		}
	}
	return placements
}

// Unsubmitted fills in the answer for a Job that is on no cluster, from its
// placements.
func Unsubmitted(t *inspect.Trace, holders Holders) {
	t.State = inspect.StateNotSubmitted
	q := Question{Inventory: &inspect.Inventory{}, Trace: t, Findings: holders.Findings, Holders: holders}
	a := q.outlook(t.Placements)
	t.Reason, t.Message = a.Reason, a.Message
	t.Fixes, t.Unchecked = append([]command.Fix{}, a.Fixes...), append([]inspect.Unchecked{}, a.Unchecked...)
	t.Remedy = string(command.Alternatives(a.Fixes))
	t.Summary = strings.TrimSuffix(t.Phrase()+". "+a.Message, ". ")
}

// outlook returns what would happen to a Job that is not submitted, at the manager that would let it
// run soonest.
func (q *Question) outlook(all []inspect.Placement) Answer {
	all = placement.Best(all)
	if gate := placement.Gate(all); gate != nil {
		a := q.gated(gate, all)
		if lead := map[inspect.Verdict]string{inspect.Never: "Would never run. ", inspect.Waits: "Would wait. ", inspect.Unknown: "Cannot tell whether it would run. "}[gate.Verdict]; lead != "" {
			a.Message = lead + a.Message
		}
		a.Unchecked = uncheckedOn([]inspect.Placement{*gate}, isUndecided)
		return a
	}
	candidates := slices.DeleteFunc(slices.Clone(all), func(p inspect.Placement) bool { return p.Manager })
	if len(candidates) == 0 {
		return Answer{Reason: inspect.ReasonUnread, Message: "No cluster was found that it could be submitted to."}
	}
	by := map[inspect.Verdict][]inspect.Placement{}
	for _, p := range candidates {
		by[p.Verdict] = append(by[p.Verdict], p)
	}
	switch {
	case len(by[inspect.Fits]) > 0:
		return Answer{Reason: inspect.ReasonNone, Message: "Fits on " + list(namesOf(by[inspect.Fits])) + " now." + limits(by[inspect.Fits])}
	case len(by[inspect.Waits]) > 0:
		a := q.withSetup(q.later(by[inspect.Waits]), by[inspect.Never])
		a.State, a.Message, a.Unchecked = "", "Would wait. "+a.Message, unreadOf(candidates)
		a.addNotRead(candidates)
		a.Fixes = append(a.Fixes, contextFixes(candidates)...)
		return a
	case len(by[inspect.Never]) == len(candidates):
		a := q.never(candidates)
		a.Message = "Would never run. " + a.Message
		return a
	}
	if unknown := by[inspect.Unknown]; !slices.ContainsFunc(unknown, func(p inspect.Placement) bool { return p.Reason != inspect.NoNode }) {
		return Answer{Reason: inspect.ReasonUnschedulable, Message: "Would wait for a node. " + reasonsByCluster(unknown, func(*inspect.Placement) bool { return true }), Fixes: q.fixesFor(unknown)}
	}
	if isIgnored(candidates) {
		return Answer{
			Reason: inspect.ReasonNoQueueLabel, Message: "No queue label: Kueue ignores it, and its controller starts it at once on the cluster that you submit it to.",
			Fixes: q.fixesFor(candidates), Unchecked: q.uncheckedNodes(candidates),
		}
	}
	return Answer{
		Reason: inspect.ReasonUnread, Message: "Cannot tell whether it would run. " + reasonsByCluster(candidates, func(*inspect.Placement) bool { return true }),
		Fixes: append(q.fixesIfRead(candidates), contextFixes(candidates)...), Unchecked: uncheckedOn(candidates, isUndecided),
	}
}

// contextFixes returns how clusters that no known context reaches get one, as a finding says about a submitted Job.
func contextFixes(candidates []inspect.Placement) []command.Fix {
	var names []string
	for i := range candidates {
		if p := &candidates[i]; p.Cluster != "" && p.Reason == inspect.NoContext && p.Message == inspect.NoContextReachesIt {
			names = append(names, p.Cluster)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return advice.AddContext(strings.Join(names, ", ")).Fixes()
}

// limits returns a sentence for each cluster on which not all Pods can run at once.
func limits(all []inspect.Placement) (text string) {
	for i := range all {
		p := &all[i]
		if p.Partial != nil {
			text += fmt.Sprintf(" On %s, it starts with fewer Pods: at least %d of %d.", placeName(p), p.Partial.Pods, p.Partial.Of)
		}
		if p.PodsAtOnce != nil {
			text += " But " + p.PodsAtOnce.Text(placeName(p)+"'s") + "."
		}
	}
	return text
}

// isIgnored reports whether Kueue ignores a Job without a queue label, on all clusters that were read.
func isIgnored(candidates []inspect.Placement) bool {
	ignored := 0
	for i := range candidates {
		switch candidates[i].Reason {
		case inspect.NoQueueLabel:
			ignored++
		case inspect.Unreadable:
		default:
			return false
		}
	}
	return ignored > 0
}

// Places returns the LocalQueues and the Workloads of the Jobs that findings
// about quota concern, for as many Jobs as AdviseAll handles.
func Places(v *inspect.Inventory, findings []inspect.Finding) (queues, workloads []types.NamespacedName) {
	pairs := pairsByOrigin(v)
	var wanted []inspect.Pair
	for i := range findings {
		for _, l := range lotsOf(v, pairs, &findings[i]) {
			if l.pair.Origin != nil && len(wanted) < maxAdvisedJobs {
				wanted = append(wanted, l.pair)
			}
		}
	}
	return placesOf(v, wanted)
}

// placesOf returns the LocalQueues and the Workloads of pairs.
func placesOf(v *inspect.Inventory, pairs []inspect.Pair) (queues, workloads []types.NamespacedName) {
	for _, p := range pairs {
		add := func(to *[]types.NamespacedName, name string) {
			if n := (types.NamespacedName{Namespace: p.Origin.Namespace, Name: name}); name != "" && !slices.Contains(*to, n) {
				*to = append(*to, n)
			}
		}
		add(&queues, p.Origin.Queue())
		if w := inspect.CurrentWorkload(v.WorkloadsOf(p, v.Facts(p.Origin.Context))); w != nil {
			add(&workloads, w.Name)
			add(&queues, w.Spec.QueueName)
		}
	}
	return queues, workloads
}

// WorkersUnread returns the workers that may run Jobs and that were not read, for the pairs that isWanted
// accepts.
func WorkersUnread(v *inspect.Inventory, isWanted func(inspect.Pair) bool) []inspect.Unchecked {
	var found []inspect.Unchecked
	for _, p := range v.Pairs.Pairs {
		o := p.Origin
		if o == nil || !o.IsOpen() || !isWanted(p) {
			continue
		}
		q := Question{Inventory: v, Pair: p, Trace: &inspect.Trace{}}
		for _, u := range q.unreadWorkers() {
			isKnown := slices.ContainsFunc(found, func(k inspect.Unchecked) bool { return k.What == u.What })
			if u.Cluster && !isKnown {
				found = append(found, u)
			}
		}
	}
	return found
}

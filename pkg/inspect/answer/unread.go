package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// unreadWorkers returns the workers that may run the Job and that were not read. If a mirror was found, these
// can only be the chosen worker, where another mirror runs.
func (q *Question) unreadWorkers() []inspect.Unchecked {
	f := q.Inventory.Facts(q.Pair.Origin.Context)
	w := inspect.CurrentWorkload(q.Inventory.WorkloadsOf(q.Pair, f))
	var unread []inspect.Unchecked
	for _, u := range q.Inventory.UnreadWorkersOf(f, w) {
		isSeen := func(m inspect.Mirror) bool {
			return w.ChosenCluster() == "" || !q.Inventory.IsElsewhere(f, w.ChosenCluster(), m.Job.Context)
		}
		if !slices.ContainsFunc(q.Pair.Current(), isSeen) {
			unread = append(unread, u.Unchecked)
		}
	}
	return unread
}

// addChosenUnread adds to the answer for a Job whose mirror was found that MultiKueue gave the Job to another
// worker, which was not read.
func (q *Question) addChosenUnread(a *Answer) {
	if q.Pair.Origin == nil {
		return
	}
	for _, u := range q.unreadWorkers() {
		text := fmt.Sprintf("MultiKueue gave the %s to %s, which was not read.", q.Pair.Origin.Kind, list(workersOf([]inspect.Unchecked{u})))
		if a.State == inspect.StateRunning || a.State == inspect.StateStarting {
			text = "It may run twice: " + text
		}
		a.Message = strings.TrimSpace(a.Message + " " + text)
		a.Unchecked = append(a.Unchecked, u)
	}
}

// workersOf names workers that were not read: the MultiKueueCluster, or the context if only its Workloads
// were not read.
func workersOf(unread []inspect.Unchecked) []string {
	var names []string
	for _, u := range unread {
		name, isWorker := strings.CutPrefix(u.What, inspect.WorkerPrefix)
		if !isWorker {
			name = strings.Join(u.Contexts, ", ")
		}
		names = append(names, name)
	}
	return names
}

// lostOn returns the answer if a cluster was chosen for a Workload but has no mirror.
func (q *Question) lostOn(manager *inspect.Facts, w *kueue.Workload, cluster string) Answer {
	target := q.Inventory.ContextOf(manager, cluster)
	missing := q.Inventory.UnreadWorker(manager, cluster)
	if missing == nil {
		a := Answer{State: inspect.StateWaiting, Reason: inspect.ReasonNoMirror, Message: fmt.Sprintf("MultiKueue chose %s, which has no mirror yet.", target)}
		q.addBehind(&a)
		return a
	}
	a, isFrozen := q.byFrozenStatus(manager, w, cluster)
	if !isFrozen {
		a = q.byCopiedStatus(cluster)
	}
	var why string
	switch f := q.Inventory.Facts(target); {
	case target == "" && missing.Reason == q.Inventory.WhyNoContext(manager, "it", cluster):
		why = q.Inventory.WhyNoContext(manager, cluster, cluster)
	case target == "":
		why = missing.Reason
	case f == nil:
		why = fmt.Sprintf("context %s: %s", target, missing.Reason)
	default:
		why = fmt.Sprintf("cannot read %s: %s", target, missing.Reason)
		if !kubecontext.IsRefused(f.Err) {
			// The cluster may have failed, and its Pods with it.
			a.State = inspect.StateUnknown
		}
	}
	a.Message += " " + sentence(why)
	a.Unchecked = []inspect.Unchecked{*missing}
	return a
}

// byFrozenStatus returns the answer if the status of the origin may no longer be that of its mirror: Kueue has evicted
// the Workload, and may never copy the status again (kueue issue 15380), or its manager has no connection to the chosen
// cluster. isFrozen is false in all other cases.
func (q *Question) byFrozenStatus(manager *inspect.Facts, w *kueue.Workload, cluster string) (a Answer, isFrozen bool) {
	a = Answer{State: inspect.StateUnknown, Reason: inspect.ReasonUnread}
	switch {
	case w.Is(kueue.Evicted):
		a.Message = fmt.Sprintf("Kueue evicted it (%s), but its Workload still holds quota; whether Pods still run on %s is unknown.", w.WhyEvicted(), cluster)
	case isCut(manager, cluster):
		a.Message = fmt.Sprintf("MultiKueue chose %s, which %s cannot use: the status of the %s is not updated.", cluster, manager.Context, q.Pair.Origin.Kind)
	default:
		return a, false
	}
	return a, true
}

// isCut reports whether a manager says that it cannot use a MultiKueueCluster.
func isCut(manager *inspect.Facts, cluster string) bool {
	c := manager.Kueue.ClusterNamed(cluster)
	return c != nil && meta.IsStatusConditionFalse(c.Status.Conditions, kueue.Active)
}

// dispatchedUnread completes the answer for a Job whose mirror is on a cluster that was not read: with
// the contexts that may reach it and did not answer, or that were left out.
func (q *Question) dispatchedUnread(a *Answer, place delegation.Place) {
	a.Reason, a.Unchecked = inspect.ReasonUnread, nil
	a.Message = fmt.Sprintf("It was dispatched to %s/%s", place.Namespace, place.Name)
	leftOut := q.unread()
	var failed []string
	for _, f := range q.Inventory.Clusters {
		leftOut = slices.DeleteFunc(leftOut, func(name string) bool { return name == f.Context })
		if f.Err == nil || place.On(f.Cluster()) == delegation.CertainlyOther {
			continue
		}
		why := because(f, f.Err)
		failed = append(failed, fmt.Sprintf("%s (%s)", f.Context, why))
		a.Unchecked = append(a.Unchecked, inspect.Unchecked{What: "mirror", Contexts: []string{f.Context}, Reason: why})
	}
	if len(leftOut) > 0 {
		a.Unchecked = append(a.Unchecked, inspect.Unchecked{What: "mirror", Contexts: leftOut, Reason: inspect.NotSelected})
	}
	switch {
	case len(failed) > 0 && len(leftOut) > 0:
		a.Message += fmt.Sprintf(". Cannot read %s; other contexts were %s.", list(failed), inspect.NotSelected)
	case len(failed) > 0:
		a.Message += fmt.Sprintf(". Cannot read %s.", list(failed))
	case len(leftOut) > 0:
		a.Message += fmt.Sprintf(" on another cluster, in a context that was %s.", inspect.NotSelected)
	default:
		a.Message += fmt.Sprintf(" on %s, which was not read.", place.Cluster())
		a.Unchecked = []inspect.Unchecked{{What: "mirror", Contexts: []string{}, Reason: "no known context reaches " + place.Cluster()}}
	}
}

// byCopiedStatus returns the answer if only the origin was read: its status is a copy of the
// mirror's. cluster is the MultiKueueCluster that runs the Job, "" if that is unknown.
func (q *Question) byCopiedStatus(cluster string) Answer {
	o := q.Pair.Origin
	a := Answer{State: inspect.StateUnknown, Reason: inspect.ReasonUnread}
	s := stateOf(o)
	// A status that nothing has written is not a copy.
	isStarting := s == inspect.StateStarting && (o.StartTime != nil || o.StatusWrittenAt != nil)
	says := map[bool]string{true: "Kueue says that it starts", false: "Kueue says that it runs"}[isStarting]
	switch isCopied := s == inspect.StateRunning || isStarting; {
	case isCopied && cluster != "":
		a.State, a.Message = s, says+" on "+cluster
	case isCopied:
		a.State, a.Message = s, says
	case cluster != "":
		a.Message = "MultiKueue chose " + cluster
	default:
		return a
	}
	if p := progress(o); p != "" && a.State != inspect.StateUnknown {
		a.Message += ": " + p
	} else {
		a.Message += "."
	}
	if a.State != inspect.StateUnknown {
		q.addCopiedFailures(&a, o)
	}
	return a
}

// addCopiedFailures adds the failures and restarts that the status of an origin counts, if its mirror was not read.
func (q *Question) addCopiedFailures(a *Answer, o *inspect.Job) {
	if s := q.failuresOf(o); s != nil {
		a.Message += " " + sentence(s.Failures())
		if o.Active == 0 {
			a.State = inspect.StateFailing
		}
	}
	if o.Restarts == nil {
		return
	}
	a.Message += " " + sentence("it "+o.Restarts.String())
	if o.Restarts.Now {
		a.State = inspect.StateFailing
	}
}

// answerFromManager completes the answer from what the management cluster alone shows.
func (q *Question) answerFromManager(a *Answer, manager *inspect.Facts, names, unread []string) {
	a.Reason = inspect.ReasonUnread
	// An age would change the message although nothing else changes.
	a.Message = fmt.Sprintf("Kueue on %s reserved quota and offered it to %s. Cannot see why no worker admits it: ", manager.Context, list(names))
	if said := inspect.CurrentWorkload(q.Inventory.WorkloadsOf(q.Pair, manager)).WhyNoWorker(); said != "" {
		a.Message = fmt.Sprintf("Kueue on %s offered it to %s, and says: %s. Cannot see more: ", manager.Context, list(names), strings.TrimSuffix(said, "."))
	}
	byReason := map[string][]string{}
	var reasons []string
	for i, u := range a.Unchecked {
		reason, name := u.Reason, unread[min(i, len(unread)-1)]
		if u.What == inspect.UnreadWorkloads {
			reason, name = inspect.UnreadWorkloads, u.Contexts[0]
		}
		if byReason[reason] == nil {
			reasons = append(reasons, reason)
		}
		byReason[reason] = append(byReason[reason], name)
	}
	var parts []string
	for _, reason := range reasons {
		names := list(byReason[reason])
		switch reason {
		case q.Inventory.WhyNoContext(manager, "it", byReason[reason]...):
			parts = append(parts, q.Inventory.WhyNoContext(manager, names, byReason[reason]...))
		case inspect.UnreadWorkloads:
			parts = append(parts, "you cannot read Workloads on "+names)
		case inspect.NotSelected:
			parts = append(parts, inspect.AreNotSelected(byReason[reason]))
		default:
			parts = append(parts, "cannot read "+names+": "+reason)
		}
	}
	a.Message += strings.Join(parts, "; ") + "."
}

// isUnread reports whether a placement has no verdict because something was
// not read.
func isUnread(p inspect.Placement) bool {
	return p.Reason == inspect.NoContext || p.Reason == inspect.Unreadable
}

// isUndecided reports whether a placement has no verdict although its cluster could give one: an object
// that Kueue ignores needs none, and a missing node says enough.
func isUndecided(p inspect.Placement) bool {
	return p.Verdict == inspect.Unknown && p.Reason != inspect.NoQueueLabel && p.Reason != inspect.NoNode
}

// uncheckedNodes returns the clusters where only the nodes decide whether a Job that Kueue ignores would run, and
// were not compared with its Pods. The command dispatch compares those of the cluster that its user chooses.
func (q *Question) uncheckedNodes(all []inspect.Placement) []inspect.Unchecked {
	if o := q.Trace.Origin; o != nil && o.ManagedBy == delegation.Dispatch {
		return nil
	}
	nodes := inspect.Unchecked{What: "nodes", Reason: "unknown whether they take its Pods"}
	for i := range all {
		p := &all[i]
		if state := p.Condition(inspect.ConditionPods).State; p.Reason == inspect.NoQueueLabel && (state == inspect.NotAsked || state == inspect.NotKnown) {
			nodes.Contexts = append(nodes.Contexts, p.Context)
		}
	}
	if len(nodes.Contexts) == 0 {
		return nil
	}
	return []inspect.Unchecked{nodes}
}

// unreadOf returns the clusters of placements that were not read.
func unreadOf(all []inspect.Placement) []inspect.Unchecked { return uncheckedOn(all, isUnread) }

// isUncovered reports whether a queue has no quota for resources of the Job.
func isUncovered(p *inspect.Placement) bool { return p.Reason == inspect.NoSuchResource }

// uncheckedOn returns the clusters of some placements as unchecked.
func uncheckedOn(all []inspect.Placement, isUnchecked func(inspect.Placement) bool) []inspect.Unchecked {
	var found []inspect.Unchecked
	for i := range all {
		p := &all[i]
		if !isUnchecked(*p) {
			continue
		}
		u := inspect.Unchecked{What: inspect.NoVerdict, Contexts: []string{}, Reason: p.Message, Cluster: !p.Manager}
		if isUncovered(p) {
			// The cluster was read, except Kueue's configuration.
			u.Cluster = false
			if i := slices.IndexFunc(found, func(o inspect.Unchecked) bool { return o.What == u.What && o.Reason == u.Reason }); i >= 0 {
				found[i].Contexts = append(found[i].Contexts, p.Context)
				continue
			}
		} else if p.Cluster != "" {
			u.What = inspect.WorkerPrefix + p.Cluster
		}
		if p.Context != "" {
			u.Contexts = []string{p.Context}
		}
		found = append(found, u)
	}
	return found
}

// addUnreadOf adds what an answer depends on and the placements that decide it lack: their clusters, and
// who holds their quota.
func (a *Answer) addUnreadOf(decisive []inspect.Placement) {
	a.Unchecked = append(a.Unchecked, unreadOf(decisive)...)
	if a.Reason == inspect.ReasonQuotaInUse {
		a.Unchecked = append(a.Unchecked, unreadHolders(decisive)...)
	}
}

// addNotRead mentions the clusters of candidates that were not read.
func (a *Answer) addNotRead(candidates []inspect.Placement) {
	for _, p := range candidates {
		if isUnread(p) {
			a.Message += fmt.Sprintf(" Not read: %s.", cmp.Or(p.Cluster, p.Context))
		}
	}
}

// nameUnread mentions the clusters that were not read, on which the answer depends, in a message that is about others.
func (a *Answer) nameUnread() {
	unread := slices.DeleteFunc(slices.Clone(a.Unchecked), func(u inspect.Unchecked) bool { return !u.Cluster })
	if len(unread) > 0 {
		a.Message += " Not read: " + list(workersOf(unread)) + "."
	}
}

// unreadHolders returns the origins of the first holders of quota that may be orphans, and the Workloads
// of clusters whose holders are unknown. It is nil if a holder is known that is not an orphan: to wait for
// that one is enough.
func unreadHolders(all []inspect.Placement) []inspect.Unchecked {
	var found []inspect.Unchecked
	for _, p := range deciding(all) {
		switch {
		case p.HoldersUnread != nil:
			why := kubecontext.InContext(p.Context, "", p.HoldersUnread).Cause()
			found = append(found, inspect.Unchecked{What: inspect.UnreadWorkloads, Contexts: []string{p.Context}, Reason: why})
		case len(p.Holders) == 0:
		case len(p.Holders[0].OriginUnread) == 0:
			return nil
		default:
			h := &p.Holders[0]
			found = append(found, inspect.Unchecked{What: "origin of " + h.Namespace + "/" + h.Name, Contexts: h.OriginUnread, Reason: "these contexts were not read"})
		}
	}
	return found
}

package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// byWorkers returns the answer from what Kueue reports on the workers, if
// their quota was not read.
func (q *Question) byWorkers(manager *inspect.Facts, w *kueue.Workload) Answer {
	if waits := otherChecks(manager, w); len(w.Status.Nominated) == 0 && len(waits) > 0 {
		return Answer{State: inspect.StateWaiting, Reason: inspect.ReasonAdmissionCheck, Message: fmt.Sprintf("Waits on %s for %s.", manager.Context, list(waits))}
	}
	names := q.offeredTo(manager, w)
	if len(names) == 0 {
		return q.notOffered(manager)
	}
	targets := make([]string, len(names))
	for i, name := range names {
		targets[i] = q.Inventory.ContextOf(manager, name)
	}
	if a, ok := q.admitted(targets); ok {
		return a
	}
	a := Answer{State: inspect.StateWaiting, Reason: inspect.ReasonNotAdmitted}
	var reasons, unread []string
	workers, ranks, kinds := map[string][]string{}, map[string]int{}, reasonsOfWorkers()
	best, canEnd := len(kinds), false
	for i, name := range names {
		if u := q.unreadWorker(manager, name); u != nil {
			unread = append(unread, name)
			a.Unchecked = append(a.Unchecked, *u)
			continue
		}
		target := targets[i]
		f := q.Inventory.Facts(target)
		why, reason, isForGood := q.workerReason(f)
		canEnd = canEnd || !isForGood
		at := slices.Index(kinds, reason)
		if at < best {
			best, a.Reason = at, reason
		}
		if workers[why] == nil {
			reasons = append(reasons, why)
		}
		workers[why], ranks[why] = append(workers[why], target), at
	}
	// The cluster that can still run the Job comes first.
	slices.SortStableFunc(reasons, func(x, y string) int { return cmp.Compare(ranks[x], ranks[y]) })
	switch {
	case len(reasons) == 0:
		q.answerFromManager(&a, manager, names, unread)
		return a
	case !canEnd && len(unread) == 0:
		a.State = inspect.StateBlocked
	}
	a.Message = noWorker(reasons, workers, unread)
	if slices.Contains(reasons, noCopy) {
		q.addBehind(&a)
	}
	return a
}

// notOffered returns the answer of a Job that Kueue has offered to no worker that was read.
func (q *Question) notOffered(manager *inspect.Facts) Answer {
	a := Answer{State: inspect.StateWaiting, Reason: inspect.ReasonNotOffered, Message: fmt.Sprintf("Quota is reserved on %s; Kueue has offered it to no worker yet.", manager.Context)}
	q.addBehind(&a)
	if a.Unchecked = q.unreadWorkers(); len(a.Unchecked) > 0 {
		a.Message += " It may run on a worker that was not read: " + list(workersOf(a.Unchecked)) + "."
	}
	return a
}

// unreadWorker describes why it is unknown whether a worker admits the Job, nil if that is known.
func (q *Question) unreadWorker(manager *inspect.Facts, cluster string) *inspect.Unchecked {
	if u := q.Inventory.UnreadWorker(manager, cluster); u != nil {
		return u
	}
	f := q.Inventory.Facts(q.Inventory.ContextOf(manager, cluster))
	err := f.Gaps[inspect.PartWorkloads]
	if err == nil || q.namesakeOn(f) != nil || len(q.Inventory.WorkloadsOf(q.Pair, f)) > 0 {
		return nil
	}
	return &inspect.Unchecked{What: inspect.UnreadWorkloads, Contexts: []string{f.Context}, Reason: because(f, err)}
}

// namesakeOn returns another object of the Job's name on a cluster, nil without one.
func (q *Question) namesakeOn(f *inspect.Facts) *inspect.Job {
	for _, j := range q.Pair.Namesakes {
		if j.Context == f.Context {
			return j
		}
	}
	return nil
}

// noWorker describes why no worker admits a Job, given the workers for each
// cause. A worker that lacks the Workload was not asked yet.
func noWorker(reasons []string, workers map[string][]string, unread []string) string {
	var parts, sentences []string
	for _, why := range reasons {
		if why != noCopy {
			parts = append(parts, strings.Join(workers[why], ", ")+": "+why)
		}
	}
	if len(parts) > 0 {
		sentences = append(sentences, "No worker admits it.", strings.Join(parts, "; ")+".")
	}
	if lacking := workers[noCopy]; len(lacking) > 0 {
		sentences = append(sentences, fmt.Sprintf("MultiKueue has not copied the Workload to %s yet.", list(lacking)))
	}
	text := strings.Join(sentences, " ")
	if len(unread) > 0 {
		text += " Not read: " + list(unread) + "."
	}
	return text
}

// reasonsOfWorkers returns the reasons that workerReason returns, most
// hopeful first.
func reasonsOfWorkers() []inspect.JobReason {
	return []inspect.JobReason{
		inspect.ReasonNotAdmitted, inspect.ReasonQuotaInUse, inspect.ReasonAdmissionCheck, inspect.ReasonHeld, inspect.ReasonSetup, inspect.ReasonNoFlavor,
		inspect.ReasonOverLimit,
	}
}

// offeredTo returns the MultiKueueClusters that a Workload was offered to.
// Old versions of Kueue do not record that. For them, it returns the clusters
// that have a copy or were not read.
func (q *Question) offeredTo(manager *inspect.Facts, w *kueue.Workload) []string {
	if manager.Kueue.RecordsNominations() {
		return w.Status.Nominated
	}
	var names []string
	for _, c := range manager.Kueue.Clusters {
		target := q.Inventory.ContextOf(manager, c.Name)
		f := q.Inventory.Facts(target)
		if target == "" || f == nil || f.Err != nil || len(q.Inventory.WorkloadsOf(q.Pair, f)) > 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

// otherChecks describes the AdmissionChecks of other controllers than
// MultiKueue that are not ready. MultiKueue offers a Workload to workers only
// when all of them are.
func otherChecks(f *inspect.Facts, w *kueue.Workload) []string {
	var waits []string
	multiKueue := f.StateOf(w)
	for _, state := range w.Status.AdmissionChecks {
		if state.State == kueue.CheckReady || multiKueue != nil && multiKueue.Name == state.Name {
			continue
		}
		check := f.Kueue.CheckNamed(state.Name)
		text := "AdmissionCheck " + state.Name
		if check != nil {
			text += " of " + check.Spec.ControllerName
		}
		waits = append(waits, text+" ("+strings.TrimSuffix(state.State+": "+state.Message, ": ")+")")
	}
	return waits
}

// noCopy is why a worker does not run a Job whose Workload it lacks.
const noCopy = "no copy of its Workload"

// workerReason returns why a worker does not run the Job, and whether only a
// change ends that.
func (q *Question) workerReason(f *inspect.Facts) (why string, reason inspect.JobReason, isForGood bool) {
	if j := q.namesakeOn(f); j != nil {
		return "another " + j.Kind + " of this name exists there", inspect.ReasonSetup, false
	}
	copies := q.Inventory.WorkloadsOf(q.Pair, f)
	if len(copies) == 0 {
		return noCopy, inspect.ReasonSetup, false
	}
	wait := copies[0].Waiting()
	if wait.Condition == nil {
		h := chain.WorkloadHop(f, copies[0])
		return cmp.Or(h.Message, h.State), reasonOfWait(&wait), false
	}
	return wait.Text(), reasonOfWait(&wait), wait.IsPermanent()
}

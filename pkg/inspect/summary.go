package inspect

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// summary says in a sentence where a Job is, or what it waits for.
func (v *Inventory) summary(p Pair, t *Trace) string {
	if p.Origin == nil {
		return orphanSummary(t)
	}
	running := p.Current()
	switch {
	case p.Origin.Status.IsFinished():
		return fmt.Sprintf("finished: %s", p.Origin.Status)
	case len(running) > 1:
		return "runs on several clusters at once: " + strings.Join(contexts(running), ", ")
	case len(running) == 1 && running[0].Job.Status.IsFinished():
		return fmt.Sprintf("%s on %s, which the origin does not tell yet", running[0].Job.Status, running[0].Job.Context)
	case len(running) == 1:
		return v.runsOn(p, running[0], t) + v.putOut(p)
	case p.Origin.Row().Template:
		return templateSummary(p.Origin)
	case p.Origin.ManagedBy.IsBuiltIn() && p.Origin.Queue() == "":
		return "not delegated: the built-in " + p.Origin.Kind + " controller runs it here"
	}
	if why := v.waitsFor(p); why != "" {
		return why + v.putOut(p)
	}
	if p.Origin.Status == delegation.Unclaimed {
		return fmt.Sprintf("nobody has taken it up: nothing of %s is to be seen", p.Origin.ManagedBy) + v.outOfSight(v.Unseen())
	}
	return v.unfound(p)
}

// timesOut is how often a Job may be put out before that is told.
const timesOut = 3

// putOut tells how often MultiKueue has taken a Job back, if that is often.
func (v *Inventory) putOut(p Pair) string {
	var n int32
	for _, w := range v.WorkloadsOf(p, v.Facts(p.Origin.Context)) {
		for _, state := range w.Status.AdmissionChecks {
			n = max(n, deref(state.RetryCount))
		}
	}
	if n < timesOut {
		return ""
	}
	return fmt.Sprintf("; it was started, and put out again, %d times", n)
}

func templateSummary(j *Job) string {
	if j.ManagedBy.IsBuiltIn() {
		return "what is made of it is not delegated"
	}
	return "what is made of it is delegated to " + string(j.ManagedBy)
}

func orphanSummary(t *Trace) string {
	where := "on " + t.Mirrors[0].Context
	for _, h := range t.Hops {
		if h.Depth == 0 && h.Health == HealthUnknown {
			return "a mirror " + where + "; " + h.Message
		}
	}
	return "an orphan " + where + ": its origin was not found"
}

func contexts(mirrors []Mirror) []string {
	names := make([]string, len(mirrors))
	for i, m := range mirrors {
		names[i] = m.Job.Context
	}
	return names
}

// runsOn tells of the one mirror there is.
func (v *Inventory) runsOn(p Pair, m Mirror, t *Trace) string {
	text := fmt.Sprintf("%s on %s", m.Job.Status, m.Job.Context)
	if f := v.Facts(m.Job.Context); f != nil && f.Err != nil {
		return text + " when it was last seen; " + m.Job.Context + " does not answer since"
	}
	text += v.lostTouch(p, m, t)
	if m.Job.Status == delegation.Unclaimed {
		text += ": nobody there has taken up the mirror"
	}
	for _, h := range t.Hops {
		if h.Context == m.Job.Context && h.Health != HealthOK {
			text += hopSummary(h)
		}
	}
	for _, d := range t.Differences {
		if d.isStatus() && !d.Lag {
			return text + "; the origin does not tell its state"
		}
	}
	return text
}

// hopSummary is what a hop that is not well adds to the summary of a mirror: why it does
// not run, which its status does not tell; "" if nothing.
func hopSummary(h Hop) string {
	switch {
	case h.Kind == "Pods" && h.State == "none":
		return "; no pods: " + h.Message
	case h.Kind == "Pods" && h.Health == HealthBad && h.Message != "":
		return "; pods: " + h.State + ": " + h.Message
	case h.Kind == "Pods":
		return "; pods: " + h.State
	case h.Kind == "Workload" && h.Health == HealthBad:
		return "; " + cmp.Or(h.Message, "its Workload there is "+h.State)
	}
	return ""
}

// waitsFor tells what a Job of Kueue's waits for, "" if that is not known. While
// it is pending, the manager's own objects hold no reason: it stands in the
// workers' Workloads (reference: multikueue.md A3).
func (v *Inventory) waitsFor(p Pair) string {
	f := v.Facts(p.Origin.Context)
	if f == nil || f.Kueue == nil {
		return ""
	}
	workloads := v.WorkloadsOf(p, f)
	if len(workloads) == 0 {
		return v.withoutWorkload(p, f)
	}
	w := Present(workloads)
	for _, c := range w.Status.AdmissionChecks {
		if c.State == kueue.CheckRejected {
			return fmt.Sprintf("rejected by %s: %s", c.Name, c.Message)
		}
	}
	if finished := w.Condition(kueue.Finished); finished != nil && finished.Status == metav1.ConditionTrue {
		return "Kueue on " + f.Context + " has given it up: " + reasoned(finished)
	}
	if !w.IsActive() {
		return "its Workload on " + f.Context + " was deactivated, so that it is neither queued nor run"
	}
	if quota := w.Condition(kueue.QuotaReserved); !w.Is(kueue.QuotaReserved) {
		return "waits on " + f.Context + ": " + cmp.Or(reasoned(quota), "no quota is reserved")
	}
	if name := w.ChosenCluster(); name != "" {
		return v.lostOn(f, name)
	}
	return v.waitsForWorkers(p, f, w)
}

func (v *Inventory) withoutWorkload(p Pair, f *Facts) string {
	switch {
	case f.Gaps[PartWorkloads] != nil || p.Origin.ManagedBy != delegation.MultiKueue:
		return ""
	case p.Origin.Queue() == "":
		return "never submitted to Kueue: the " + p.Origin.Kind + " names no queue (label " + delegation.QueueNameLabel + ")"
	}
	return "Kueue on " + f.Context + " has made no Workload for it"
}

// lostOn tells of a cluster that was chosen, and that shows no mirror.
func (v *Inventory) lostOn(manager *Facts, cluster string) string {
	target := v.ContextOf(manager, cluster)
	switch f := v.Facts(target); {
	case target == "":
		return fmt.Sprintf("given to MultiKueueCluster %s; which context reaches that is not known", cluster)
	case f == nil:
		return fmt.Sprintf("given to %s, which was not asked", target)
	case f.Err != nil:
		return fmt.Sprintf("given to %s, which could not be read", target)
	}
	return fmt.Sprintf("given to %s, and there is no mirror there", target)
}

// waitsForWorkers tells why no worker has admitted a Workload so far.
func (v *Inventory) waitsForWorkers(p Pair, manager *Facts, w *kueue.Workload) string {
	if waits := otherChecks(manager, w); len(w.Status.Nominated) == 0 && len(waits) > 0 {
		return "waits on " + manager.Context + " for " + strings.Join(waits, " and ")
	}
	var reasons []string
	said := map[string][]string{}
	for _, name := range v.offeredTo(p, manager, w) {
		target, reason := v.ContextOf(manager, name), "could not be looked at"
		if f := v.Facts(target); f != nil && f.Err == nil {
			reason = v.workerReason(p, f)
		}
		if target == "" {
			target = "MultiKueueCluster " + name
		}
		if said[reason] == nil {
			reasons = append(reasons, reason)
		}
		said[reason] = append(said[reason], target)
	}
	if len(reasons) == 0 && !manager.Kueue.TellsNominations() {
		return "quota is reserved on " + manager.Context + ", and no worker has taken it so far"
	}
	if len(reasons) == 0 {
		return "quota is reserved on " + manager.Context + ", and no worker cluster was nominated so far"
	}
	// First those that leave something to hope for: a column may be too narrow for all.
	slices.SortStableFunc(reasons, func(a, b string) int { return cmp.Compare(hopeless(a), hopeless(b)) })
	begin := "no worker takes it: "
	switch l := lackOf(reasons[0]); {
	case l == nil:
	case l.Kind == kueue.MoreNeeded:
		begin = "waits: "
	case l.Kind == kueue.TooMuch:
		begin = "too big: "
	}
	for i, reason := range reasons {
		reasons[i] = saidBy(strings.Join(said[reason], ", "), reason)
	}
	return begin + strings.Join(reasons, "; ")
}

// offeredTo are the MultiKueueClusters that a Workload was offered to. Where Kueue does not
// write that down, they are those where there is a copy.
func (v *Inventory) offeredTo(p Pair, manager *Facts, w *kueue.Workload) []string {
	if manager.Kueue.TellsNominations() {
		return w.Status.Nominated
	}
	var names []string
	for _, c := range manager.Kueue.Clusters {
		if len(v.WorkloadsOf(p, v.Facts(v.ContextOf(manager, c.Name)))) > 0 {
			names = append(names, c.Name)
		}
	}
	return names
}

// lackOf is what a reason of Kueue's tells, where that is all, and a matter of one amount.
func lackOf(reason string) *kueue.Lack {
	lacks := kueue.Lacks(reason)
	if len(lacks) != 1 || strings.Count(strings.ToLower(reason), "flavor ") != 1 || lacks[0].AfterOthers() || !kueue.Lacking(lacks, kueue.MoreNeeded, kueue.TooMuch) {
		return nil
	}
	return &lacks[0]
}

// saidBy is the reason of workers; an amount comes before their names.
func saidBy(workers, reason string) string {
	l := lackOf(reason)
	switch {
	case l == nil:
		return workers + ": " + reason
	case l.Kind == kueue.MoreNeeded:
		return fmt.Sprintf("%s %s more on %s, in flavor %s", l.More, l.Resource, workers, l.Flavor)
	}
	return fmt.Sprintf("%s %s at most on %s, in flavor %s, and it asks for %s", l.Most, l.Resource, workers, l.Flavor, l.Asked)
}

// otherChecks are the AdmissionChecks of others than MultiKueue's that are not ready for
// a Workload: MultiKueue offers it to nobody before they all are.
func otherChecks(f *Facts, w *kueue.Workload) []string {
	var waits []string
	for _, state := range w.Status.AdmissionChecks {
		check := f.Kueue.CheckNamed(state.Name)
		if state.State == kueue.CheckReady || check != nil && check.IsMultiKueue() {
			continue
		}
		text := "AdmissionCheck " + state.Name
		if check != nil {
			text += " of " + check.Spec.ControllerName
		}
		waits = append(waits, text+", which is "+strings.TrimSuffix(state.State+": "+state.Message, ": "))
	}
	return waits
}

// hopeless is 1 for a reason of Kueue's that does not pass, whoever else ends.
func hopeless(reason string) int {
	if strings.HasPrefix(reason, kueue.ExceedsMaxQuota) || strings.HasPrefix(reason, kueue.NoMatchingFlavor) {
		return 1
	}
	return 0
}

// onlyPodSet is how Kueue begins what it says of the only podset of a Workload.
var onlyPodSet = regexp.MustCompile(`^(\w+: )?couldn't assign flavors to pod set \S+: `)

// briefly is what Kueue says without what it begins with each time.
func briefly(message string) string {
	if strings.Count(message, "couldn't assign flavors to pod set ") != 1 {
		return message
	}
	return onlyPodSet.ReplaceAllString(message, "$1")
}

func (v *Inventory) workerReason(p Pair, f *Facts) string {
	for _, j := range p.Namesakes {
		if j.Context == f.Context {
			return "another " + j.Kind + " of this name is in the way"
		}
	}
	copies := v.WorkloadsOf(p, f)
	if len(copies) == 0 {
		return "no copy of the Workload there"
	}
	h := workloadHop(f, copies[0])
	switch {
	case h.State == kueue.Admitted && len(p.Current()) == 0:
		return "admitted, and no mirror was made"
	case h.Message == "":
		return h.State
	}
	return briefly(h.Message)
}

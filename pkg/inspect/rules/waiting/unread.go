package waiting

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func workersUnread() view.Rule {
	return view.Rule{
		Code: "JM135", Severity: inspect.Info,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartSecrets,
			inspect.PartQueues,
		},
		Detect: detectWorkersUnread,
	}
}

func detectWorkersUnread(v *view.View) {
	for w := range unadmitted(v) {
		if u := unreadOf(v, w); len(u.reasons) > 0 {
			u.report(v)
		}
	}
}

// unread describes the workers that a submission was offered to and that were not read.
type unread struct {
	w        *waiter
	reasons  []string
	remedies []command.Prose
	// hasReason is whether another worker shows why it does not admit the submission.
	hasReason bool
	// known says what quota it lacks on the other workers. waitsForQuota is whether one of them may do so later.
	known         []string
	waitsForQuota bool
	refusals      []refusal
}

// cause is equal for all submissions that wait for the same workers, which were not read for the same reasons, and to
// which the same remedy applies: to wait for quota does not help a submission that exceeds the limits.
func (u *unread) cause() string {
	cause := strings.Join(append([]string{u.w.Manager.Context}, u.reasons...), " ")
	if u.waitsForQuota {
		cause += ", and for quota"
	}
	return cause
}

// report reports one submission.
func (u *unread) report(v *view.View) {
	f, job, why := u.w.Manager, u.w.Job(), strings.Join(u.reasons, "; ")
	workload := view.OfWorkload(f, u.w.Workload)
	offer := fmt.Sprintf("%s: %s was offered to %s", f.Context, workload.String(), strings.Join(offeredNames(v, u.w), ", "))
	if f.Kueue.RecordsNominations() && len(u.w.Nominated()) == 0 {
		offer = fmt.Sprintf("%s: status.nominatedClusterNames of %s is empty", f.Context, workload.String())
	}
	s := view.Sighting{
		Object: view.Of(job), Since: u.w.since, Cause: u.cause(),
		Message:  "waits for a worker; cannot see why: " + why,
		Evidence: []string{quote.CheckState(workload, *u.w.Check), offer},
		Remedy:   command.Join(u.remedies, ", and "),
		Jobs:     []*inspect.Job{job},
	}
	if u.hasReason {
		s.Message = strings.Join(append(append([]string{"waits for a worker"}, u.known...), "not all were read: "+why), "; ")
	}
	if u.waitsForQuota {
		s.Remedy = command.Say("wait until other Workloads release quota; or %s", s.Remedy)
	}
	if said := u.w.Workload.WhyNoWorker(); said != "" {
		s.Message = fmt.Sprintf("waits for a worker; Kueue says: %s; not all workers were read: %s", said, why)
	}
	v.Report(s)
}

// refusal is what the user may not read in a context: names is what a message calls it, and kinds are
// its kinds.
type refusal struct{ context, names, kinds string }

// unreadOf ignores workers that the manager has lost, because that is why they do not admit a Job.
func unreadOf(v *view.View, w *waiter) (u unread) {
	u.w = w
	var lacking, unselected, offered []string
	var inPart []*inspect.Facts
	for _, name := range offeredNames(v, w) {
		worker, context := v.Worker(w.Manager, name)
		if context != "" {
			offered = append(offered, context)
		}
		switch {
		case view.IsFalse(v.Connection(w.Manager, name)):
			u.hasReason = true
		case worker != nil:
			isHeld := isHeldBy(v, w, worker)
			u.hasReason = u.hasReason || isHeld
			u.addHold(v, worker)
			if !isHeld && !v.CanRead(worker, inspect.PartWorkloads, inspect.PartQueues) {
				inPart = append(inPart, worker)
			}
		case context == "":
			lacking = append(lacking, name)
		case v.Failed(context) == nil:
			unselected = append(unselected, context)
		default:
			u.addFailed(context, v.Failed(context))
		}
	}
	if len(unselected) > 0 {
		u.reasons = append(u.reasons, inspect.AreNotSelected(unselected))
		u.remedies = append(u.remedies, command.Say("select the workers, too: --contexts %s", strings.Join(selection(v, w.Manager, offered), ",")))
	}
	u.addParts(inPart)
	u.addRefusals()
	if names := strings.Join(lacking, ", "); names != "" {
		u.reasons = append([]string{v.WhyNoContext(w.Manager, names, lacking...)}, u.reasons...)
		u.remedies = append(u.remedies, showAddresses(v, w.Manager, names))
	}
	return u
}

// addHold adds what quota the submission lacks on a worker that was read. Other rules report what else holds it there.
func (u *unread) addHold(v *view.View, worker *inspect.Facts) {
	copied, _ := v.Workload(worker, u.w.Workload.Namespace, u.w.Workload.Name)
	if copied == nil {
		return
	}
	wait, isHeld := view.HoldOf(copied)
	if !isHeld || !wait.IsForQuota() {
		return
	}
	u.known = append(u.known, worker.Context+": "+wait.Text())
	u.waitsForQuota = u.waitsForQuota || wait.Reason == kueue.ReasonQuotaInUse
}

// selection returns the selected contexts and those of workers: first the manager and its workers.
func selection(v *view.View, manager *inspect.Facts, workers []string) []string {
	var all []string
	for _, context := range slices.Concat([]string{manager.Context}, workers, v.Selected()) {
		if !slices.Contains(all, context) {
			all = append(all, context)
		}
	}
	return all
}

// addFailed adds a worker that could not be read.
func (u *unread) addFailed(context string, err error) {
	if denied, _ := kubecontext.DenialOf(err); denied.Resource != "" {
		kinds := denied.Resource
		if k, isKnown := delegation.KindNamed(denied.Resource); isKnown {
			kinds = delegation.Plural(k.Kind)
		}
		u.refusals = append(u.refusals, refusal{context, kinds, kinds})
		return
	}
	u.reasons = append(u.reasons, "cannot read "+context+": "+kubecontext.InContext(context, "", err).Message())
	u.remedies = append(u.remedies, command.Say("repair context %s, or the cluster behind it; check with: %s",
		context, command.Kubectl(context, "", "get", "--raw", "/readyz")))
}

// workerPart is a part of a worker that shows why a Job waits there.
type workerPart struct {
	part inspect.Part
	// name is what a message calls it, kinds are its kinds, and resource is one that kubectl reads.
	name, kinds, resource string
}

func workerParts() []workerPart {
	return []workerPart{
		{inspect.PartWorkloads, "Workloads", "Workloads", "workloads.kueue.x-k8s.io"},
		{inspect.PartQueues, "the queues", "LocalQueues and ClusterQueues", "clusterqueues.kueue.x-k8s.io"},
	}
}

// addParts adds workers whose Workloads or queues could not be read.
func (u *unread) addParts(workers []*inspect.Facts) {
	for _, worker := range workers {
		var names, kinds []string
		for _, p := range workerParts() {
			err := worker.Unread(p.part)
			switch {
			case err == nil:
			case kubecontext.IsRefused(err):
				names, kinds = append(names, p.name), append(kinds, p.kinds)
			default:
				u.reasons = append(u.reasons, p.name+" on "+worker.Context+" were not read: "+kubecontext.InContext(worker.Context, "", err).Message())
				u.remedies = append(u.remedies, advice.ShowReadError(worker.Context, p.resource))
			}
		}
		if len(names) > 0 {
			u.refusals = append(u.refusals, refusal{worker.Context, strings.Join(names, " and "), strings.Join(kinds, ", ")})
		}
	}
}

// addRefusals adds what the user may not read, once for all contexts with the same refusal.
func (u *unread) addRefusals() {
	for _, group := range view.GroupBy(u.refusals, func(r refusal) string { return r.names }) {
		contexts := make([]string, len(group.Values))
		for i, r := range group.Values {
			contexts[i] = r.context
		}
		u.reasons = append(u.reasons, "you may not read "+group.Key+" on "+inspect.And(contexts))
		u.remedies = append(u.remedies, advice.GetReadRights(group.Values[0].kinds, contexts))
	}
}

// showAddresses returns how to make the contexts of MultiKueueClusters known.
func showAddresses(v *view.View, manager *inspect.Facts, names string) command.Prose {
	v.CanRead(manager, inspect.PartClusters, inspect.PartSecrets)
	if kubecontext.IsRefused(manager.Unread(inspect.PartClusters)) || kubecontext.IsRefused(manager.Unread(inspect.PartSecrets)) {
		return command.Say("ask an administrator of %s which context reaches %s and why the Job waits, or for the rights to read MultiKueueClusters and their Secrets",
			manager.Context, names)
	}
	return advice.AddContext(names)
}

// isHeldBy reports whether a worker says why it does not admit a submission.
func isHeldBy(v *view.View, w *waiter, worker *inspect.Facts) bool {
	copied, _ := v.Workload(worker, w.Workload.Namespace, w.Workload.Name)
	if copied == nil {
		return false
	}
	_, isHeld := view.HoldOf(copied)
	isOpen := func(c kueue.CheckState) bool { return c.IsOpen() }
	return isHeld || copied.Is(kueue.QuotaReserved) && slices.ContainsFunc(copied.Status.AdmissionChecks, isOpen)
}

// offeredNames returns the MultiKueueClusters that a Workload was offered to. If that is not recorded, these are
// all clusters of its MultiKueueConfig: Kueue does not record nominations, or a worker that was not read may
// run the Job already.
func offeredNames(v *view.View, w *waiter) []string {
	if w.Manager.Kueue.RecordsNominations() && (len(w.Nominated()) > 0 || len(w.offers) > 0 || len(otherChecksOf(w.Submission)) > 0) {
		return w.used
	}
	config, _, known := notOffered(v, w)
	if !known || config == nil {
		return nil
	}
	return config.Spec.Clusters
}

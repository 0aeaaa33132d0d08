package orphans

import (
	"fmt"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func mirrorOnUnknownCluster() view.Rule {
	return view.Rule{
		Code: "JM054", Undated: true, Severity: inspect.Warning,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartKueue, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Covers: []string{"JM107"},
		Detect: func(v *view.View) {
			e := newMultiKueue(v)
			for d, x := range e.mirrors() {
				if view.IsLiveJob(x.mirror) && d.isCutOff(x.mirror.Context) && !e.isPlaced(d, x) {
					s := describeUnreached(e, d, x.mirror, x.jobs())
					s.runTwice(d, x)
					v.Report(s.Sighting)
				}
			}
			for d, s := range e.withoutOrigin(e.strays()) {
				if d.isCutOff(s.worker.Context) {
					v.Report(describeUnreached(e, d, s.job, []*inspect.Job{s.job}).Sighting)
				}
			}
		},
	}
}

// isPlaced reports whether a mirror may be in the right place after all: its
// management cluster has given the Job to an existing MultiKueueCluster, and
// no other mirror was found in the context that seems to reach it.
func (e *multiKueue) isPlaced(d *dispatcher, x createdMirror) bool {
	w, known := e.Workload(d.Facts, x.mirror.Namespace, x.mirror.Prebuilt())
	if w == nil || w.ChosenCluster() == "" {
		return !known
	}
	context, isThere := d.contexts[w.ChosenCluster()]
	return isThere && !slices.ContainsFunc(x.Mirrors, func(m inspect.Mirror) bool { return m.Job.Context == context })
}

// unreached is the sighting of a mirror on a cluster that no MultiKueueCluster points to.
type unreached struct{ view.Sighting }

// runTwice makes the sighting an error if the Job also runs on another cluster: MultiKueue never ends
// the mirror that it does not reach.
func (s *unreached) runTwice(d *dispatcher, x createdMirror) {
	i := slices.IndexFunc(x.Mirrors, func(m inspect.Mirror) bool {
		return m.Job.Context != x.mirror.Context && view.IsLiveJob(m.Job) && !d.isCutOff(m.Job.Context)
	})
	if i < 0 {
		return
	}
	other := x.Mirrors[i].Job
	s.Severity = inspect.Error
	s.Cause += " twice"
	s.Message = fmt.Sprintf("runs on %s and on %s, to which no MultiKueueCluster of %s points", other.Context, x.mirror.Context, d.Context)
	s.Evidence = append(s.Evidence, quote.State(other))
	s.Remedy = command.Say("delete the mirror on %s (that on %s continues): %s", x.mirror.Context, other.Context, advice.DeleteJob(x.mirror))
}

func describeUnreached(e *multiKueue, d *dispatcher, mirror *inspect.Job, jobs []*inspect.Job) *unreached {
	return &unreached{view.Sighting{
		Object: view.Of(mirror), Since: view.Latest(mirror.CreationTimestamp.Time, view.TimeOf(mirror.FinishedTime)), Jobs: jobs,
		Cause:   "cut off " + d.Context + " " + mirror.Context + " " + mirror.Kind,
		Message: fmt.Sprintf("no MultiKueueCluster of %s points to %s: MultiKueue neither updates nor deletes its mirrors there", d.Context, mirror.Context),
		Evidence: []string{
			quote.State(mirror),
			fmt.Sprintf("%s: label %s of %s is %s", mirror.Context, delegation.MultiKueueOriginLabel, view.Of(mirror).String(), mirror.Marks.MultiKueueOrigin),
			fmt.Sprintf("%s: none of its %d MultiKueueClusters points to %s", d.Context, len(d.contexts), mirror.Context),
		},
		Remedy: command.Say("%s; or %s: %s; check -o wide lists the other %s",
			restoreCluster(e, d, mirror), deletionOfUnreached(mirror), advice.DeleteJob(mirror), quote.Plural(mirror)),
	}}
}

// restoreCluster returns how to create the MultiKueueCluster that pointed to the cluster of a mirror.
func restoreCluster(e *multiKueue, d *dispatcher, mirror *inspect.Job) command.Prose {
	which := "the MultiKueueCluster of " + mirror.Context
	if w, _ := e.Workload(d.Facts, mirror.Namespace, mirror.Prebuilt()); w != nil && w.ChosenCluster() != "" {
		if _, exists := d.contexts[w.ChosenCluster()]; !exists {
			which = "MultiKueueCluster " + w.ChosenCluster()
		}
	}
	return command.Say("create %s on %s again, with its manifest in FILE: %s", which, d.Context, command.Kubectl(d.Context, "", "create", "-f", "FILE"))
}

// deletionOfUnreached describes the deletion of a mirror, which ends its Pods if it runs.
func deletionOfUnreached(mirror *inspect.Job) string {
	if view.IsLiveJob(mirror) {
		return fmt.Sprintf("to give up %s as a worker, delete the mirror, which stops its Pods", mirror.Context)
	}
	return "delete the mirror on " + mirror.Context
}

func rejectedLeftovers() view.Rule {
	return view.Rule{
		Code: "JM058", Severity: inspect.Warning,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartKueue, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: func(v *view.View) {
			e := newMultiKueue(v)
			keepers := sets.New[*kueue.Workload]()
			for k := range e.keepers() {
				keepers.Insert(k.workload)
			}
			for _, d := range e.dispatchers {
				workloads, _ := v.Workloads(d.Facts)
				for _, w := range workloads {
					state := v.CheckState(d.Facts, w)
					// MultiKueue rejects a Workload without a Job. JM062 reports it if its mirror is left.
					if state != nil && state.State == kueue.CheckRejected && w.DeletionTimestamp == nil && !keepers.Has(w) {
						e.reportCopies(d, w, state)
					}
				}
			}
		},
	}
}

// reportCopies reports the copies on workers of a Workload that was rejected.
func (e *multiKueue) reportCopies(d *dispatcher, w *kueue.Workload, state *kueue.CheckState) {
	var remedies []command.Prose
	evidence := []string{fmt.Sprintf("%s: status.admissionChecks[%s].state of Workload %s/%s is Rejected since %s: %s",
		d.Context, state.Name, w.Namespace, w.Name, quote.Time(state.LastTransitionTime), state.Message)}
	for _, f := range e.Clusters() {
		copied, _ := e.Workload(f, w.Namespace, w.Name)
		if len(d.at(f.Context)) == 0 || f == d.Facts || copied == nil || copied.DeletionTimestamp != nil || copied.Labels[delegation.MultiKueueOriginLabel] == "" {
			continue
		}
		evidence = append(evidence, fmt.Sprintf("%s: Workload %s/%s exists since %s", f.Context, w.Namespace, w.Name, quote.Time(copied.CreationTimestamp)))
		remedies = append(remedies, deleteWorkload(f, w.Namespace, w.Name).Prose())
	}
	if len(evidence) == 1 {
		return
	}
	s := view.Sighting{
		Object: view.OfKueue(d.Facts, "Workload", w.Namespace, w.Name), Since: state.LastTransitionTime.Time, Evidence: evidence,
		Message: "MultiKueue rejected it, but left its copies on the workers", Remedy: command.Say("delete the copies: %s", command.Join(remedies, "; ")),
	}
	if j := e.JobOf(d.Facts, w); j != nil {
		s.Object, s.Jobs = view.Of(j), []*inspect.Job{j}
	}
	e.Report(s)
}

func keptByWorkload() view.Rule {
	return view.Rule{
		Code: "JM062", Undated: true, Severity: inspect.Warning,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartKueue, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Detect: func(v *view.View) {
			for k := range newMultiKueue(v).keepers() {
				v.Report(keptWorkload(k.manager, k.workload, k.stray, v.CheckState(k.manager, k.workload)))
			}
		},
	}
}

// keeper is a Workload whose Job is gone, and that keeps the mirror of the Job alive.
type keeper struct {
	stray
	manager  *inspect.Facts
	workload *kueue.Workload
}

// keepers returns the Workloads that keep mirrors without an origin alive.
func (e *multiKueue) keepers() iter.Seq[keeper] {
	return func(yield func(keeper) bool) {
		for _, s := range e.strays() {
			manager, w, _ := e.originalOf(s.worker, s.namespace, s.name)
			isLeft := w != nil && w.DeletionTimestamp == nil && !view.IsOwned(w) && w.Labels[delegation.JobUIDLabel] != ""
			if isLeft && e.KnowsAll(manager, s.job.Row()) && e.JobOf(manager, w) == nil && !yield(keeper{s, manager, w}) {
				return
			}
		}
	}
}

func keptWorkload(manager *inspect.Facts, w *kueue.Workload, s stray, state *kueue.CheckState) view.Sighting {
	sighting := view.Sighting{
		Object: view.OfKueue(manager, "Workload", w.Namespace, w.Name), Since: w.CreationTimestamp.Time, Jobs: []*inspect.Job{s.job},
		Message: fmt.Sprintf("its %s is gone, but it keeps the mirror on %s alive", s.job.Kind, s.worker.Context),
		Evidence: []string{
			fmt.Sprintf("%s: %s has no ownerReferences, and the %s of its label %s=%s does not exist",
				manager.Context, view.OfKueue(manager, "Workload", w.Namespace, w.Name).String(), s.job.Kind, delegation.JobUIDLabel, w.Labels[delegation.JobUIDLabel]),
			quote.State(s.job),
		},
		Remedy: command.Say("delete the Workload: %s; if the mirror still exists a minute later, %s", deleteWorkload(manager, w.Namespace, w.Name), advice.DeleteJob(s.job)),
	}
	if state := s.state(); state != "" {
		sighting.Message += " (" + state + ")"
	}
	if s.state() == stateRunning {
		// Users delete a Job with --cascade=orphan to keep its Pods.
		sighting.Remedy = command.Say("if the Pods are no longer needed, delete the Workload, which stops them: %s; if the mirror still exists a minute later, %s; or wait until the mirror has finished, and delete the Workload then",
			deleteWorkload(manager, w.Namespace, w.Name), advice.DeleteJob(s.job))
	}
	if c := w.Condition(kueue.Finished); view.IsTrue(c) {
		sighting.Since = c.LastTransitionTime.Time
		sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: condition Finished of %s is True since %s, %s", manager.Context, sighting.Object.String(), quote.Time(c.LastTransitionTime), c.Reason))
	} else if state != nil {
		sighting.Since = state.LastTransitionTime.Time
		sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: status.admissionChecks[%s].state of %s is %s since %s",
			manager.Context, state.Name, sighting.Object.String(), state.State, quote.Time(state.LastTransitionTime)))
	}
	return sighting
}

package rules

import (
	"fmt"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// isLiveMirror says whether MultiKueue made a mirror, and it has not ended.
func isLiveMirror(m inspect.Mirror) bool {
	return m.Is(inspect.ByMultiKueue) && isLiveJob(m.Job)
}

func cutOff() Rule {
	return Rule{
		Code: "JM054", Undated: true, Title: "left on a cluster whose MultiKueueCluster is gone", Severity: inspect.Warning,
		Holds: "no mirror is left on a cluster whose MultiKueueCluster is gone",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartKueue, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `MultiKueue reaches a worker by its MultiKueueCluster alone. Once that is deleted, it neither follows what
runs on the worker nor cleans up there, and what is left runs to its end unheard, perhaps a second time.`,
		Shows: `A Job on a cluster has the label kueue.x-k8s.io/multikueue-origin and comes from a management cluster
that has no MultiKueueCluster which leads there.`,
		Remedy: `Delete the Jobs and Workloads that carry the label on that cluster, or create the MultiKueueCluster again,
and MultiKueue cleans up within a minute.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/tree/main/keps/693-multikueue",
		Covers: []string{"JM107"},
		Detect: func(v *View) {
			e := newMultiKueue(v)
			for d, x := range e.mirrors() {
				if isLiveJob(x.mirror) && d.isCutOff(x.mirror.Context) && !e.isPlaced(d, x) {
					v.Report(unreached(d, x.mirror, x.jobs()))
				}
			}
			for d, s := range e.lost(e.strays()) {
				if d.isCutOff(s.worker.Context) {
					v.Report(unreached(d, s.job, []*inspect.Job{s.job}))
				}
			}
		},
	}
}

// isPlaced is whether a mirror may be where it was put after all: its management
// cluster has given the Job to a MultiKueueCluster that is there, and no other
// mirror is found where that seems to lead.
func (e *multiKueue) isPlaced(d *dispatcher, x made) bool {
	w, known := e.Workload(d.Facts, x.mirror.Namespace, x.mirror.Prebuilt())
	if w == nil || w.ChosenCluster() == "" {
		return !known
	}
	context, isThere := d.contexts[w.ChosenCluster()]
	return isThere && !slices.ContainsFunc(x.Mirrors, func(m inspect.Mirror) bool { return m.Job.Context == context })
}

func unreached(d *dispatcher, mirror *inspect.Job, jobs []*inspect.Job) Sighting {
	return Sighting{
		Object: Of(mirror), Since: newest(mirror.CreationTimestamp.Time, timeOf(mirror.FinishedTime)), Jobs: jobs,
		Cause:   "cut off " + d.Context + " " + mirror.Context + " " + mirror.Kind,
		Message: fmt.Sprintf("no MultiKueueCluster of %s points to %s: nothing follows or deletes what it has there", d.Context, mirror.Context),
		Evidence: []string{
			stateOf(mirror),
			fmt.Sprintf("%s: label %s of %s is %s", mirror.Context, delegation.MultiKueueOriginLabel, named(Of(mirror)), mirror.Marks.MultiKueueOrigin),
			fmt.Sprintf("%s: none of its %d MultiKueueClusters leads to %s", d.Context, len(d.contexts), mirror.Context),
		},
		Remedy: command.Say("create the MultiKueueCluster on %s again, or %s, and so for all %s named here", d.Context, deleteJob(mirror), plural(mirror)),
	}
}

func rejectedLeaves() Rule {
	return Rule{
		Code: "JM058", Title: "rejected by MultiKueue, with copies left on workers", Severity: inspect.Warning,
		Holds: "no rejected Job has copies on workers",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `Where MultiKueue rejects a Workload, it does not delete the copies that it has already made on workers;
these are collected only once the Workload is gone from the management cluster. Until then they wait in the workers'
queues, or hold quota there.`,
		Shows: `The state of MultiKueue's check in the Workload's status is Rejected, and a worker has a Workload of the
same name with the label kueue.x-k8s.io/multikueue-origin.`,
		Remedy: `Delete the origin, which has to be created anew anyway, or delete the copies on the workers.`,
		Link:   "https://github.com/kubernetes-sigs/kueue/issues/3841",
		Detect: func(v *View) {
			e := newMultiKueue(v)
			for _, d := range e.dispatchers {
				workloads, _ := v.Workloads(d.Facts)
				for _, w := range workloads {
					state := v.checkState(d.Facts, w)
					if state != nil && state.State == kueue.CheckRejected && w.DeletionTimestamp == nil {
						e.reportCopies(d, w, state)
					}
				}
			}
		},
	}
}

// reportCopies reports what is left on workers of a Workload that was rejected.
func (e *multiKueue) reportCopies(d *dispatcher, w *kueue.Workload, state *kueue.CheckState) {
	var remedies []command.Prose
	evidence := []string{fmt.Sprintf("%s: status.admissionChecks[%s].state of Workload %s/%s is Rejected since %s: %s",
		d.Context, state.Name, w.Namespace, w.Name, stamp(state.LastTransitionTime), state.Message)}
	for _, f := range e.Clusters() {
		copied, _ := e.Workload(f, w.Namespace, w.Name)
		if len(d.at(f.Context)) == 0 || f == d.Facts || copied == nil || copied.DeletionTimestamp != nil || copied.Labels[delegation.MultiKueueOriginLabel] == "" {
			continue
		}
		evidence = append(evidence, fmt.Sprintf("%s: Workload %s/%s is there since %s", f.Context, w.Namespace, w.Name, stamp(copied.CreationTimestamp)))
		remedies = append(remedies, deleteWorkload(f, w.Namespace, w.Name).Prose())
	}
	if len(evidence) == 1 {
		return
	}
	s := Sighting{
		Object: OfKueue(d.Facts, "Workload", w.Namespace, w.Name), Since: state.LastTransitionTime.Time, Evidence: evidence,
		Message: "MultiKueue rejected it, but left its copies on the workers", Remedy: command.Join(remedies, "; "),
	}
	if j := e.jobOf(d.Facts, w); j != nil {
		s.Object, s.Jobs = Of(j), []*inspect.Job{j}
	}
	e.Report(s)
}

func keptByWorkload() Rule {
	return Rule{
		Code: "JM062", Undated: true, Title: "the origin is gone, but the Workload keeps the mirror", Severity: inspect.Warning,
		Holds: "no Workload keeps a mirror without origin running",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartKueue, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `An origin that is deleted with --cascade=orphan leaves its Workload behind, without an owner. As long as
the Workload exists on the management cluster, MultiKueue keeps what it has made of it on the worker, and nobody will
ever hear how the mirror ends.`,
		Shows: `The Workload on the management cluster has no ownerReferences, and the Job whose uid its label
kueue.x-k8s.io/job-uid has is not there; the mirror is still on the worker.`,
		Remedy: `Delete the Workload on the management cluster; MultiKueue then deletes the mirror. If it does not, delete
the mirror too.`,
		Link: "https://github.com/kubernetes-sigs/kueue/issues/1789",
		Detect: func(v *View) {
			e := newMultiKueue(v)
			for _, s := range e.strays() {
				manager, w, _ := e.home(s.worker, s.namespace, s.name)
				if w == nil || w.DeletionTimestamp != nil || isOwned(w) || w.Labels[delegation.JobUIDLabel] == "" {
					continue
				}
				if !v.KnowsAll(manager, s.job.Row()) || e.jobOf(manager, w) != nil {
					continue
				}
				v.Report(kept(manager, w, s, v.checkState(manager, w)))
			}
		},
	}
}

func kept(manager *inspect.Facts, w *kueue.Workload, s stray, state *kueue.CheckState) Sighting {
	sighting := Sighting{
		Object: OfKueue(manager, "Workload", w.Namespace, w.Name), Since: w.CreationTimestamp.Time, Jobs: []*inspect.Job{s.job},
		Message: fmt.Sprintf("its %s is gone, but it keeps the mirror on %s alive", s.job.Kind, s.worker.Context),
		Evidence: []string{
			fmt.Sprintf("%s: %s has no ownerReferences, and the %s of its label %s=%s is not there",
				manager.Context, named(OfKueue(manager, "Workload", w.Namespace, w.Name)), s.job.Kind, delegation.JobUIDLabel, w.Labels[delegation.JobUIDLabel]),
			stateOf(s.job),
		},
		Remedy: command.Say("%s; if the mirror is still there a minute later, %s", deleteWorkload(manager, w.Namespace, w.Name), deleteJob(s.job)),
	}
	if c := w.Condition(kueue.Finished); isTrue(c) {
		sighting.Since = c.LastTransitionTime.Time
		sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: condition Finished of it is True since %s, %s", manager.Context, stamp(c.LastTransitionTime), c.Reason))
	} else if state != nil {
		sighting.Since = state.LastTransitionTime.Time
		sighting.Evidence = append(sighting.Evidence, fmt.Sprintf("%s: status.admissionChecks[%s].state of it is %s since %s",
			manager.Context, state.Name, state.State, stamp(state.LastTransitionTime)))
	}
	return sighting
}

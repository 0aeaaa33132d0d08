package kinds

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// reclaimedMirror is a mirror whose origin exists but is no longer delegated.
type reclaimedMirror struct {
	origin, mirror *inspect.Job
	// proof quotes the evidence that the mirror belongs to the origin.
	proof string
}

func takenFromMirror() view.Rule {
	return view.Rule{
		Code: "JM303", Severity: inspect.Error,
		Reads:  []inspect.Part{inspect.PartJobs, inspect.PartWorkloads},
		Covers: []string{"JM012", "JM053", "JM057", "JM058", "JM062", "JM106"},
		Detect: func(v *view.View) {
			for _, r := range reclaimedMirrors(v) {
				v.Report(r.sighting(v))
			}
		},
	}
}

// owner returns the owner that created the mirror.
func (r *reclaimedMirror) owner() delegation.Owner {
	if r.mirror.Marks.OriginUID != "" {
		return delegation.Dispatch
	}
	return delegation.MultiKueue
}

func (r *reclaimedMirror) sighting(v *view.View) view.Sighting {
	o, m := r.origin, r.mirror
	since, isUndated := view.Proven([]time.Time{v.On(o.Context, m.Context, m.CreationTimestamp.Time)}, o.SpecWrittenAt)
	s := view.Sighting{
		Object: view.Of(o), Jobs: []*inspect.Job{o, m}, Since: since, IsUndated: isUndated,
		Message: fmt.Sprintf("it is no longer managed by %s, but its mirror on %s still runs", r.owner(), m.Context),
		Evidence: []string{
			ownerNotSet(o), r.proof, quote.State(m), quote.State(o),
		},
		Remedy: command.Say("to run it only on %s, delete the mirror: %s; or to run it elsewhere, %s", o.Context, advice.DeleteJob(m), advice.GiveTo(v, o, r.owner())),
	}
	if view.IsLiveJob(o) {
		s.Message = fmt.Sprintf("it runs twice: no longer managed by %s, it runs on %s, and its mirror on %s still runs", r.owner(), o.Context, m.Context)
	} else {
		s.Severity = inspect.Warning
	}
	return s
}

// ownerNotSet quotes that an object is not delegated.
func ownerNotSet(j *inspect.Job) string {
	return fmt.Sprintf("%s: %s of %s names no other controller than its own", j.Context, quote.OwnerFieldOf(j), view.Of(j).String())
}

func writtenWithoutField() view.Rule {
	return view.Rule{
		Code: "JM304", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartQueues,
		},
		Covers: []string{"JM012", "JM017", "JM303"},
		Detect: func(v *view.View) {
			reported := map[*inspect.Job]bool{}
			for _, r := range reclaimedMirrors(v) {
				as := versionWithoutField(r.origin)
				if as == "" || reported[r.origin] {
					continue
				}
				reported[r.origin] = true
				s := sightingOfVersion(v, r.origin, as)
				s.Evidence = append(s.Evidence, r.proof, quote.State(r.mirror))
				s.Jobs = append(s.Jobs, r.mirror)
				v.Report(s)
			}
			for _, s := range v.Submissions() {
				if as := versionWithoutField(s.Job()); as != "" && !reported[s.Job()] && s.IsLive() {
					reportQueuedVersion(v, s, as)
				}
			}
		},
	}
}

// versionWithoutField returns the API version without managedBy through which an object
// that is not delegated was written, "" if there is none.
func versionWithoutField(j *inspect.Job) string {
	if !j.ManagedBy.IsBuiltIn() || len(j.WrittenAs) == 0 {
		return ""
	}
	row := j.Row()
	for _, version := range row.VersionsWithoutField {
		gv := schema.GroupVersion{Group: row.Resource.Group, Version: version}.String()
		if slices.Contains(j.WrittenAs, gv) {
			return gv
		}
	}
	return ""
}

// sightingOfVersion returns the sighting of an object that was written through a
// version without managedBy.
func sightingOfVersion(v *view.View, j *inspect.Job, version string) view.Sighting {
	row := j.Row()
	since, isUndated := view.Proven([]time.Time{j.CreationTimestamp.Time}, j.SpecWrittenAt)
	return view.Sighting{
		Object: view.Of(j), Jobs: []*inspect.Job{j}, Since: since, IsUndated: isUndated,
		Message: fmt.Sprintf("it was written as %s, which has no %s: it is not delegated", version, quote.OwnerField(row)),
		Evidence: []string{
			fmt.Sprintf("%s: metadata.managedFields of %s has apiVersion %s", j.Context, view.Of(j).String(), version),
			ownerNotSet(j), quote.State(j),
		},
		Remedy: command.Say("write it through %s, and then %s", row.Resource.GroupVersion(), advice.GiveTo(v, j, delegation.MultiKueue)),
	}
}

// reportQueuedVersion reports an object that was submitted to a queue with a
// MultiKueue check.
func reportQueuedVersion(v *view.View, submission view.Submission, version string) {
	j := submission.Job()
	if is, _ := v.IsDispatched(submission.Manager, j.Namespace, j.Queue()); !is {
		return
	}
	s := sightingOfVersion(v, j, version)
	s.Evidence = append(s.Evidence, fmt.Sprintf("%s: label %s of %s is %s, whose ClusterQueue has a MultiKueue check",
		j.Context, delegation.QueueNameLabel, view.Of(j).String(), j.Queue()))
	if w := submission.Workload; w != nil && !w.IsActive() {
		s.Remedy += ", and then " + kueue.Activate(submission.Manager.Context, w).Prose()
	}
	v.Report(s)
}

// reclaimedMirrors returns the mirrors that still run although their origins are
// no longer delegated. That is possible only for kinds whose managedBy can
// change.
func reclaimedMirrors(v *view.View) []reclaimedMirror {
	var found []reclaimedMirror
	for _, m := range v.Orphans() {
		if row := m.Row(); !view.IsLiveJob(m) || row.IsUnmanaged() || row.Change == delegation.Never {
			continue
		}
		for _, f := range v.Clusters() {
			if f.Context == m.Context {
				continue
			}
			if r := reclaimedBy(v, f, m); r != nil {
				found = append(found, *r)
				break
			}
		}
	}
	return found
}

// reclaimedBy returns a mirror with its origin on a cluster if that is no
// longer delegated, otherwise nil.
func reclaimedBy(v *view.View, f *inspect.Facts, mirror *inspect.Job) *reclaimedMirror {
	origin := v.JobNamed(f, mirror, mirror.Namespace, mirror.Name)
	if mirror.Marks.OriginUID != "" {
		origin = v.JobByUID(f, mirror.Marks.OriginUID)
	}
	if origin == nil || !origin.ManagedBy.IsBuiltIn() || !origin.IsOpen() || origin.IsMirror() {
		return nil
	}
	proof := proofOf(v, f, origin, mirror)
	if proof == "" {
		return nil
	}
	return &reclaimedMirror{origin, mirror, proof}
}

// proofOf quotes the evidence that a mirror was created for this very object,
// "" if there is none.
func proofOf(v *view.View, f *inspect.Facts, origin, mirror *inspect.Job) string {
	prebuilt := mirror.Prebuilt()
	var w *kueue.Workload
	if prebuilt != "" {
		w, _ = v.Workload(f, mirror.Namespace, prebuilt)
	}
	switch {
	case mirror.Marks.OriginUID == origin.UID:
		return quote.Mark(mirror)
	case w != nil && view.IsMadeFor(w, origin), slices.Contains(origin.WorkloadNames(), prebuilt):
		return mirror.Context + ": annotation " + delegation.PrebuiltWorkload + " of " + view.Of(mirror).String() + " is " + prebuilt +
			", which is a Workload of UID " + origin.UID
	}
	return ""
}

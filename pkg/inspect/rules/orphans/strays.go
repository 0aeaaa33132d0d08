package orphans

import (
	"iter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// stray is an object that MultiKueue created on a worker, and whose origin
// was not found.
type stray struct {
	worker *inspect.Facts
	// job is the mirror, nil if there is only the copy of a Workload.
	job *inspect.Job
	// copied is the copy of the Workload. It is nil if there is only the
	// mirror, or if Workloads could not be read.
	copied *kueue.Workload
	// origin is the value of MultiKueue's label. namespace and name identify
	// the Workload.
	origin, namespace, name string
	// dying is the Workload on the manager, if its Job is gone and its deletion
	// waits for Kueue. It is nil if there is no Workload.
	dying *kueue.Workload
}

// strays returns the mirrors without an origin that are not being deleted.
func (e *multiKueue) strays() []stray {
	var found []stray
	for _, j := range e.Orphans() {
		isOurs := j.Marks.MultiKueueOrigin != "" && j.Marks.OriginUID == "" && j.Prebuilt() != ""
		if !isOurs || j.DeletedAt != nil || e.submitted.Has(inspect.NameOf(j)) {
			continue
		}
		if f, ok := e.Facts(j.Context); ok {
			w, _ := e.Workload(f, j.Namespace, j.Prebuilt())
			found = append(found, stray{
				worker: f, job: j, copied: w, origin: j.Marks.MultiKueueOrigin, namespace: j.Namespace, name: j.Prebuilt(),
			})
		}
	}
	return found
}

// strayCopies returns the copies of Workloads that have no mirror.
func (e *multiKueue) strayCopies() []stray {
	var found []stray
	for _, f := range e.Clusters() {
		workloads, _ := e.Workloads(f)
		for _, w := range workloads {
			origin := w.Labels[delegation.MultiKueueOriginLabel]
			if origin == "" || w.DeletionTimestamp != nil || w.Is(kueue.Finished) || view.IsOwned(w) {
				continue
			}
			found = append(found, stray{worker: f, copied: w, origin: origin, namespace: w.Namespace, name: w.Name})
		}
	}
	return found
}

// knowsOrigins reports whether a stray's origin would have been found on a
// management cluster, because objects of the mirror's kind were read there.
// For the copy of a Workload, reading Workloads is enough.
func (e *multiKueue) knowsOrigins(d *dispatcher, s stray) bool {
	e.Reads(inspect.PartJobs)
	return s.job == nil || d.IsRequested(s.job.Row())
}

// since returns the earliest time at which the object can have become a
// stray, by the clock of its worker.
func (s *stray) since() time.Time {
	if s.job == nil {
		return s.copied.CreationTimestamp.Time
	}
	return view.Latest(s.job.CreationTimestamp.Time, view.TimeOf(s.job.FinishedTime))
}

// creatorOf returns the management cluster that created a stray: one that
// dispatches or dispatched to its worker, and uses its mark. It returns nil
// if unknown.
func (e *multiKueue) creatorOf(s stray) *dispatcher {
	for _, d := range e.dispatchers {
		isItsMark, _ := d.names.MayLabel(s.origin)
		dispatchesThere := d.workers.Has(s.worker.Context) || d.hasRun.Has(s.worker.Context)
		if d.Facts != s.worker && dispatchesThere && isItsMark {
			return d
		}
	}
	return nil
}

// withoutOrigin returns the strays whose origin certainly does not exist, each with
// the management cluster that created it.
func (e *multiKueue) withoutOrigin(strays []stray) iter.Seq2[*dispatcher, stray] {
	return func(yield func(*dispatcher, stray) bool) {
		for _, s := range strays {
			d := e.creatorOf(s)
			if d == nil || !e.knowsOrigins(d, s) {
				continue
			}
			manager, original, known := e.originalOf(s.worker, s.namespace, s.name)
			switch {
			case original == nil && !known:
				continue
			case original != nil && (manager != d.Facts || !e.isDying(manager, original)):
				continue
			}
			s.dying = original
			if !yield(d, s) {
				return
			}
		}
	}
}

// isDying reports whether a Workload is being deleted because its Job was
// deleted. Kueue then deletes the mirrors.
func (e *multiKueue) isDying(f *inspect.Facts, w *kueue.Workload) bool {
	owner := metav1.GetControllerOf(w)
	if w.DeletionTimestamp == nil || owner == nil || e.JobOf(f, w) != nil {
		return false
	}
	row, isKnown := delegation.KindOf(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind))
	return isKnown && e.KnowsAll(f, row)
}

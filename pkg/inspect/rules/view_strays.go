package rules

import (
	"iter"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// stray is something that MultiKueue made on a worker, and whose origin is not
// there.
type stray struct {
	worker *inspect.Facts
	// job is the mirror, nil where there is only the copy of a Workload.
	job *inspect.Job
	// copied is the copy of the Workload, nil where there is only the mirror, or
	// where Workloads could not be read.
	copied *kueue.Workload
	// origin is the value of MultiKueue's label; namespace and name are those of the
	// Workload.
	origin, namespace, name string
}

// strays are the mirrors that have no origin. What is being deleted is not among
// them.
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

// strayCopies are the copies of Workloads that have neither a mirror nor a
// Workload that they were made of.
func (e *multiKueue) strayCopies() []stray {
	var found []stray
	for _, f := range e.Clusters() {
		workloads, _ := e.Workloads(f)
		for _, w := range workloads {
			origin := w.Labels[delegation.MultiKueueOriginLabel]
			if origin == "" || w.DeletionTimestamp != nil || w.Is(kueue.Finished) || isOwned(w) {
				continue
			}
			if _, original, known := e.home(f, w.Namespace, w.Name); original == nil && known {
				found = append(found, stray{worker: f, copied: w, origin: origin, namespace: w.Namespace, name: w.Name})
			}
		}
	}
	return found
}

// isOwned says whether anything runs under a Workload, of whatever kind, read or not.
// The pods of a group own theirs together, and none of them controls it.
func isOwned(w *kueue.Workload) bool { return len(w.OwnerReferences) > 0 }

// knowsOrigins says whether a stray's origin would have been found on a management
// cluster: objects of the mirror's kind were looked for there. That there is no
// Workload of a copy is told by Workloads alone.
func (e *multiKueue) knowsOrigins(d *dispatcher, s stray) bool {
	e.read.Insert(inspect.PartJobs)
	return s.job == nil || d.LookedFor(s.job.Row())
}

// since is the first time at which it can have been a stray.
func (s *stray) since() time.Time {
	if s.job == nil {
		return s.copied.CreationTimestamp.Time
	}
	return newest(s.job.CreationTimestamp.Time, timeOf(s.job.FinishedTime))
}

// maker is the management cluster that made a stray: one that dispatches to its
// worker, or did, and marks its mirrors like this. nil if that is not known.
func (e *multiKueue) maker(s stray) *dispatcher {
	for _, d := range e.dispatchers {
		isItsMark, _ := d.marks.may(s.origin)
		dispatchesThere := len(d.at(s.worker.Context)) > 0 || d.hasRun.Has(s.worker.Context)
		if d.Facts != s.worker && dispatchesThere && isItsMark {
			return d
		}
	}
	return nil
}

// lost are those of some strays whose origin is known not to be there, each with the
// management cluster that made it.
func (e *multiKueue) lost(strays []stray) iter.Seq2[*dispatcher, stray] {
	return func(yield func(*dispatcher, stray) bool) {
		for _, s := range strays {
			d := e.maker(s)
			if d == nil || !e.knowsOrigins(d, s) {
				continue
			}
			if _, original, known := e.home(s.worker, s.namespace, s.name); original == nil && known && !yield(d, s) {
				return
			}
		}
	}
}

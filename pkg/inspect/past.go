package inspect

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Past is what was read about finished Jobs on a cluster.
type Past struct {
	// Jobs are the delegated Jobs, with the facts from their own status.
	Jobs []*PastJob
	// Places are where dispatch ran Jobs, by their UIDs.
	Places map[string]delegation.Place
	// Workloads are the Workloads that were admitted or finished, without mirrors.
	Workloads []*kueue.Past
	// HasMirrors is whether the cluster also has Workloads that MultiKueue copied from another
	// cluster.
	HasMirrors bool
	// IsManager is whether the cluster dispatches Workloads to others, as far as that could be
	// read.
	IsManager bool
	// Retention is how long Kueue keeps finished Workloads.
	Retention Retention
}

// Retention is how long Kueue's configuration keeps finished Workloads.
type Retention struct {
	// Known is whether the configuration was read.
	Known bool
	// For is how long they are kept; nil means forever.
	For *time.Duration
}

// with merges what two contexts read of one cluster.
func (p *Past) with(other *Past) *Past {
	if p == nil || other == nil {
		if p == nil {
			return other
		}
		return p
	}
	both := &Past{
		Jobs:       added(p.Jobs, other.Jobs, func(j *PastJob) string { return j.UID }),
		Places:     union(p.Places, other.Places),
		Workloads:  added(p.Workloads, other.Workloads, func(w *kueue.Past) string { return w.UID }),
		HasMirrors: p.HasMirrors || other.HasMirrors, IsManager: p.IsManager || other.IsManager, Retention: p.Retention,
	}
	if !both.Retention.Known {
		both.Retention = other.Retention
	}
	return both
}

// Add keeps only the needed fields of a finished Job, because there may be very many.
func (p *Past) Add(j *Job) {
	row := NewPastJob(j)
	p.Jobs = append(p.Jobs, &row)
	if place := j.Pinned(); !place.IsZero() {
		if p.Places == nil {
			p.Places = map[string]delegation.Place{}
		}
		p.Places[j.UID] = place
	}
}

// NewPastJob returns the facts that a finished Job itself has.
func NewPastJob(j *Job) PastJob {
	row := PastJob{
		Context: j.Context, ClusterUID: j.ClusterUID, APIVersion: j.APIVersion, Kind: j.Kind, Namespace: j.Namespace, Name: j.Name, UID: j.UID,
		ManagedBy: j.ManagedBy, Labels: j.Labels, CreatedAt: j.CreationTimestamp, Result: resultOf(j),
		AdmittedAt: j.StartTime, FinishedAt: cmp.Or(j.FinishedTime, j.CompletionTime),
	}
	if j.Marks != nil {
		row.Queue = j.Marks.Queue
	}
	return row
}

// resultOf returns how a Job ended, by its own status.
func resultOf(j *Job) Result {
	switch {
	case j.Status == delegation.Complete:
		return ResultComplete
	case j.Status == delegation.Failed:
		return ResultFailed
	case j.Row().IsJob() && j.CompletionTime != nil:
		// The status is Terminating.
		return ResultComplete
	case j.Row().IsJob() && j.FinishedTime != nil:
		return ResultFailed
	}
	return ResultUnknown
}

// Resized is a size field whose value on an origin differs from its mirror's.
type Resized struct {
	Field          string
	Origin, Mirror int64
}

// ResizedFrom returns the size fields in which an object differs from its mirror, sorted. It skips
// fields that only one of them has, because a server may have set a default.
func (j *Job) ResizedFrom(mirror *Job) []Resized {
	var found []Resized
	for _, field := range slices.Sorted(maps.Keys(j.Sizes)) {
		if there, known := mirror.Sizes[field]; known && there != j.Sizes[field] {
			found = append(found, Resized{field, j.Sizes[field], there})
		}
	}
	return found
}

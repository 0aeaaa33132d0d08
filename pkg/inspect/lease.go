package inspect

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Lease holds the needed fields of the Lease of a dispatched Job.
type Lease struct {
	Namespace, Name string
	// OriginUID is the UID of the Lease's Job.
	OriginUID string
	Holder    string
	// Duration is how long the Lease is held without a renewal.
	Duration time.Duration
	// Acquired is when Holder acquired the Lease, by Holder's clock, or by that of the cluster if
	// Holder's is known to be wrong.
	Acquired time.Time
	// Renewed is when the Lease was last written. renewTime is by the holder's clock, which may be
	// wrong, so the API server's record of that write takes precedence.
	Renewed time.Time
}

// heldAt reports whether the Lease has a holder, at a time by the clock of its cluster. A nil Lease
// has none.
func (l *Lease) heldAt(now time.Time) bool {
	return l != nil && l.Holder != "" && delegation.IsLeaseValid(l.Renewed, l.Duration, now)
}

// FreeSince returns since when a free Lease has been free; zero if unknown.
func (l *Lease) FreeSince() time.Time {
	if l.Holder == "" || l.Renewed.IsZero() {
		return l.Renewed
	}
	return l.Renewed.Add(l.Duration)
}

// knowsLeases reports whether the Leases of dispatched Jobs were read.
func (f *Facts) knowsLeases() bool { return f.Leases != nil && f.Gaps[PartLeases] == nil }

// LeaseOf returns the Lease of a Job, nil if there is none. It ignores the Lease of an older Job of
// the same name. known is false if Leases were not read.
func (f *Facts) LeaseOf(j *Job) (l *Lease, known bool) {
	if f == nil || !f.knowsLeases() {
		return nil, false
	}
	l = f.Leases[j.Namespace+"/"+j.Row().LeaseName(j.Name)]
	if l == nil || !delegation.IsLeaseOf(j.UID, l.OriginUID) {
		return nil, true
	}
	return l, true
}

// IsHeld reports whether a Lease of a context's cluster has a holder now.
func (v *Inventory) IsHeld(name string, l *Lease) bool { return l.heldAt(v.clusterTime(name)) }

// Dispatcher says which process of the command dispatch serves a Job, according to the Job's Lease.
type Dispatcher struct {
	// Holder is the current or last holder of the Lease; empty if it never had one, or the last one
	// released it.
	Holder string `json:"holder"`
	// Since is when Holder acquired the Lease, null without a Holder. The time is by Holder's
	// clock, or by that of the Lease's cluster if Holder's is known to be wrong.
	Since *metav1.Time `json:"since"`
	// Renewed is when the Lease was last written, by the clock of its cluster; null if there is no
	// Lease.
	Renewed *metav1.Time `json:"renewed"`
	// Held is whether Holder still holds the Lease. If not, no process copies the Job's status.
	Held bool `json:"held"`
}

func (d *Dispatcher) deepCopy() *Dispatcher {
	c := clone(d)
	if c != nil {
		c.Since, c.Renewed = clone(d.Since), clone(d.Renewed)
	}
	return c
}

// dispatcher describes the Lease at a time by the clock of its cluster.
func (l *Lease) dispatcher(now time.Time) *Dispatcher {
	d := &Dispatcher{Held: l.heldAt(now)}
	if l == nil {
		return d
	}
	if !l.Renewed.IsZero() {
		d.Renewed = &metav1.Time{Time: l.Renewed}
	}
	if d.Holder = l.Holder; d.Holder != "" && !l.Acquired.IsZero() {
		d.Since = &metav1.Time{Time: l.Acquired}
	}
	return d
}

// IsDispatched reports whether the command dispatch owns the Job, even if no Dispatcher is running.
func (j *Job) IsDispatched() bool { return delegation.IsDispatched(j.ManagedBy, j.Marks) }

// DispatchedJobs returns the Jobs that the command dispatch owns.
func DispatchedJobs(jobs []*Job) []*Job {
	return slices.DeleteFunc(slices.Clone(jobs), func(j *Job) bool { return !j.IsDispatched() })
}

// SetDispatchers sets the Dispatcher of each dispatched Job, if the Leases are known.
func (f *Facts) SetDispatchers(now time.Time) {
	if !f.knowsLeases() {
		return
	}
	for _, j := range f.Jobs {
		if j.IsDispatched() {
			l, _ := f.LeaseOf(j)
			j.Dispatcher = l.dispatcher(clusterTime(now, f.Skew))
		}
	}
}

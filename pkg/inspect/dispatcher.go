package inspect

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

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
	d := &Dispatcher{Held: l.HeldAt(now)}
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

// IsDispatched says whether the command dispatch owns the Job, even if no Dispatcher is running.
func (j *Job) IsDispatched() bool { return delegation.IsDispatched(j.ManagedBy, j.Marks) }

// Dispatched returns the Jobs that the command dispatch owns.
func Dispatched(jobs []*Job) []*Job {
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

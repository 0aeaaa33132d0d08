package inspect

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Dispatcher is who looks after a Job that is dispatched, as the Job's Lease tells.
type Dispatcher struct {
	// Holder is who holds the Lease, or held it last; "" where nobody ever did, or
	// where the last one has let it go.
	Holder string `json:"holder"`
	// Since is when Holder took it, null without a Holder: by Holder's clock, or, where
	// that is known to be off, by that of the Lease's cluster.
	Since *metav1.Time `json:"since"`
	// Renewed is when the Lease was last written, by the clock of its cluster; null
	// where there is no Lease.
	Renewed *metav1.Time `json:"renewed"`
	// Held is whether Holder still holds it. If not, nobody copies the Job's status.
	Held bool `json:"held"`
}

func (d *Dispatcher) deepCopy() *Dispatcher {
	c := clone(d)
	if c != nil {
		c.Since, c.Renewed = clone(d.Since), clone(d.Renewed)
	}
	return c
}

// dispatcher is what the Lease tells of that, at a time by the clock of its cluster.
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

// IsDispatched says whether the Job has a Dispatcher, or should have one.
func (j *Job) IsDispatched() bool { return delegation.IsDispatched(j.ManagedBy, j.Marks) }

// Dispatched are those of the Jobs that are dispatched.
func Dispatched(jobs []*Job) []*Job {
	return slices.DeleteFunc(slices.Clone(jobs), func(j *Job) bool { return !j.IsDispatched() })
}

// SetDispatchers tells the dispatched Jobs who looks after them, if that is known.
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

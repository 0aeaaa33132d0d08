package inspect

import (
	"time"
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

// leaseMargin extends the duration of a Lease. Clocks are known to about a second, and a renewal
// may be on its way.
const leaseMargin = 5 * time.Second

// HeldAt says whether the Lease has a holder, at a time by the clock of its cluster. A nil Lease
// has none.
func (l *Lease) HeldAt(now time.Time) bool {
	return l != nil && l.Holder != "" && now.Before(l.Renewed.Add(l.Duration+leaseMargin))
}

// FreeSince returns since when a free Lease has been free; zero if unknown.
func (l *Lease) FreeSince() time.Time {
	if l.Holder == "" || l.Renewed.IsZero() {
		return l.Renewed
	}
	return l.Renewed.Add(l.Duration)
}

// knowsLeases says whether the Leases of dispatched Jobs were read.
func (f *Facts) knowsLeases() bool { return f.Leases != nil && f.Gaps[PartLeases] == nil }

// LeaseOf returns the Lease of a Job, nil if there is none. It ignores the Lease of an older Job of
// the same name. known is false if Leases were not read.
func (f *Facts) LeaseOf(j *Job) (l *Lease, known bool) {
	if f == nil || !f.knowsLeases() {
		return nil, false
	}
	l = f.Leases[j.Namespace+"/"+j.Row().LeaseName(j.Name)]
	if l == nil || l.OriginUID != j.UID {
		return nil, true
	}
	return l, true
}

// IsHeld says whether a Lease of a context's cluster has a holder now.
func (v *Inventory) IsHeld(name string, l *Lease) bool { return l.HeldAt(v.clusterTime(name)) }

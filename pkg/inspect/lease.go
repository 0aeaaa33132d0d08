package inspect

import (
	"time"
)

// Lease is what is kept of the Lease of a Job that is dispatched.
type Lease struct {
	Namespace, Name string
	// OriginUID is the uid of the Job that it is for.
	OriginUID string
	Holder    string
	// Duration is how long it is held without being renewed.
	Duration time.Duration
	// Acquired is when Holder took it; where Holder's clock is known to be off, by that of
	// its cluster.
	Acquired time.Time
	// Renewed is when it was last written. renewTime is of the clock of whoever
	// holds it, which may be off; so the API server's own note of that write counts
	// where there is one.
	Renewed time.Time
}

// leaseMargin is how much longer than it says a Lease is taken to be held: clocks
// are known to a second or so, and a renewal may just be on its way.
const leaseMargin = 5 * time.Second

// HeldAt says whether somebody holds it, at a time by the clock of its cluster. No
// Lease is held by nobody.
func (l *Lease) HeldAt(now time.Time) bool {
	return l != nil && l.Holder != "" && now.Before(l.Renewed.Add(l.Duration+leaseMargin))
}

// FreeSince is since when nobody holds a Lease that nobody holds; zero where
// nothing tells.
func (l *Lease) FreeSince() time.Time {
	if l.Holder == "" || l.Renewed.IsZero() {
		return l.Renewed
	}
	return l.Renewed.Add(l.Duration)
}

// knowsLeases says whether the Leases of dispatched Jobs were read.
func (f *Facts) knowsLeases() bool { return f.Leases != nil && f.Gaps[PartLeases] == nil }

// LeaseOf is the Lease of a Job, nil if there is none. That of an older Job of the
// same name is not its own. known is false where Leases were not read.
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

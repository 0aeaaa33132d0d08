package delegation

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
)

// leasePrefix is the prefix of the Leases of Jobs, hashedPrefix that of all others. No
// name has both.
const (
	leasePrefix  = "jobs-managedby-"
	hashedPrefix = "jobs-managedby."
)

// longestName is the length of the longest name of a Lease, in bytes (apimachinery:
// pkg/util/validation, DNS1123SubdomainMaxLength).
const longestName = 253

// LeaseName returns the name of the Lease of a Job's dispatcher. The Lease is in the origin's
// namespace and cluster, has OriginUIDLabel, and the origin owns it. Its spec is that of
// client-go's leader election: no dispatcher holds it if holderIdentity is empty, or if renewTime
// is older than leaseDurationSeconds. acquireTime is when the holder took it.
func LeaseName(job string) string { return jobKind.LeaseName(job) }

// LeaseName returns the name of the Lease for an object of any kind: "jobs-managedby-" and the
// name for a Job. For other kinds, and for the few Jobs whose name is too long for that, it ends in
// a hash of resource and name. No two objects of a namespace share a Lease, whatever their
// kinds and names: with one Lease, the dispatcher of one would block that of the other.
func (k Kind) LeaseName(name string) string {
	if lease := leasePrefix + name; k.IsJob() && len(lease) <= longestName {
		return lease
	}
	// A NUL is in no name, so each pair has a text of its own.
	sum := sha256.Sum256([]byte(k.Resource.GroupResource().String() + "\x00" + name))
	readable, suffix := hashedPrefix+k.String()+"-"+name, "-"+hex.EncodeToString(sum[:16])
	if most := longestName - len(suffix); len(readable) > most {
		// A dot in front of the hyphen is invalid.
		readable = strings.TrimRight(readable[:most], ".")
	}
	return readable + suffix
}

// IsDispatched reports whether an object has a Lease of its dispatcher. It belongs to dispatch,
// or to another controller and was dispatched anyway, as MirrorAnnotation shows.
func IsDispatched(owner Owner, m *Marks) bool {
	return owner == Dispatch || !owner.IsBuiltIn() && m != nil && (!m.Mirror.IsZero() || m.BadMirror != "")
}

// IsLeaseOf reports whether the Lease of an object's name belongs to the object with a UID, and not to an
// older one of the same name. label is the Lease's OriginUIDLabel. A Lease without it belongs to the object
// that exists now: its dispatcher adds the label with the next write.
func IsLeaseOf(uid, label string) bool { return label == uid || label == "" }

// leaseMargin extends the duration of a Lease. Clocks are known to about a second, and a renewal
// may be on its way.
const leaseMargin = 5 * time.Second

// IsLeaseValid reports whether the holder of a Lease may still be alive. written is when the Lease
// was last written. It and now are by the clock of the Lease's cluster.
func IsLeaseValid(written time.Time, duration time.Duration, now time.Time) bool {
	return now.Before(written.Add(duration + leaseMargin))
}

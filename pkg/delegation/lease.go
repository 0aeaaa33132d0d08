package delegation

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// leasePrefix is what the names of all our Leases begin with.
const leasePrefix = "jobs-managedby-"

// LeaseName is the name of the Lease that whoever dispatches a Job holds: in the
// origin's namespace, on the origin's cluster, with OriginUIDLabel on it and the
// origin as its owner. Its spec is that of client-go's leader election: an empty
// holderIdentity, or a renewTime that is longer ago than leaseDurationSeconds,
// means that nobody holds it; acquireTime is since when somebody does.
func LeaseName(job string) string { return leasePrefix + job }

// longestName is how long the name of a Lease may be, in bytes (apimachinery:
// pkg/util/validation, DNS1123SubdomainMaxLength).
const longestName = 253

// LeaseName is the same for an object of any kind. Of objects of several kinds that
// have one name, each has a Lease of its own.
func (k Kind) LeaseName(name string) string {
	if k.IsJob() {
		return LeaseName(name)
	}
	lease := leasePrefix + k.String() + "-" + name
	if len(lease) <= longestName {
		return lease
	}
	sum := sha256.Sum256([]byte(lease))
	suffix := "-" + hex.EncodeToString(sum[:5])
	// A dot before the hyphen would make it no name.
	return strings.TrimRight(lease[:longestName-len(suffix)], ".") + suffix
}

// IsDispatched says whether a Lease tells who looks after an object: its owner is
// ours, or it has another one and was dispatched all the same, which is what
// MirrorAnnotation is a sign of.
func IsDispatched(owner Owner, m *Marks) bool {
	return owner == Dispatch || !owner.IsBuiltIn() && m != nil && (!m.Mirror.IsZero() || m.BadMirror != "")
}

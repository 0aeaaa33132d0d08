package delegation

// LeaseName is the name of the Lease that whoever dispatches a Job holds: in the
// origin's namespace, on the origin's cluster, with OriginUIDLabel on it and the
// origin as its owner. Its spec is that of client-go's leader election: an empty
// holderIdentity, or a renewTime that is longer ago than leaseDurationSeconds,
// means that nobody holds it; acquireTime is since when somebody does.
func LeaseName(job string) string { return "jobs-managedby-" + job }

// IsDispatched says whether a Lease tells who looks after an object: its owner is
// ours, or it has another one and was dispatched all the same, which is what
// MirrorAnnotation is a sign of.
func IsDispatched(owner Owner, m *Marks) bool {
	return owner == Dispatch || !owner.IsBuiltIn() && m != nil && !m.Mirror.IsZero()
}

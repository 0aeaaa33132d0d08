package dispatch

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// heldError means that another dispatcher holds a Job's Lease.
type heldError struct {
	// Lease is the Lease as namespace/name. Holder is the identity of its holder.
	Lease, Holder string
	// Since is when the holder took the Lease. For is the time from then to its last renewal.
	// Both come from the holder's clock, which may differ from ours.
	Since time.Time
	For   time.Duration
	// Within is the duration after which the Lease expires without a renewal.
	Within time.Duration
}

func (e *heldError) Error() string {
	if e.Within > longestLease {
		return e.endless() + "; delete the Lease if no dispatch runs"
	}
	return fmt.Sprintf("already dispatched by %s, %s, with Lease %s", e.Holder, e.since(), e.Lease)
}

// endless describes a Lease with a longer duration than dispatch writes.
func (e *heldError) endless() string {
	return fmt.Sprintf("Lease %s says that %s holds it for %s, which no dispatch writes", e.Lease, e.Holder, e.Within)
}

// since describes how long the holder has had the Lease. It does not use our clock, which may be
// an hour ahead of the holder's.
func (e *heldError) since() string {
	return fmt.Sprintf("since %s (for %s, by the clock of the holder)", e.Since.UTC().Format(time.RFC3339), e.For.Round(time.Second))
}

// longestLease exceeds the duration of every Lease that dispatch writes: with 10,000 Jobs, it is
// 25 minutes.
const longestLease = 30 * time.Minute

func heldBy(found *coordinationv1.Lease) *heldError {
	e := &heldError{Lease: found.Namespace + "/" + found.Name, Holder: holderOf(found), Within: durationOf(found)}
	if found.Spec.AcquireTime != nil {
		e.Since = found.Spec.AcquireTime.Time
		if found.Spec.RenewTime != nil {
			e.For = max(0, found.Spec.RenewTime.Sub(e.Since))
		}
	}
	return e
}

// DescribeHolder describes the dispatcher that serves an origin now, or may do so, according to the origin's Lease;
// "" if none does. remedy is the fix if cancelling the dispatch does not help.
func DescribeHolder(ctx context.Context, c *fleet.Cluster, now clock.PassiveClock, k delegation.Kind, origin *unstructured.Unstructured) (holder string, remedy command.Prose, err error) {
	s := &leaseStore{cluster: c, kind: k, origin: refOf(c, origin)}
	found, err := s.find(ctx)
	if err != nil || found == nil || !s.isHeld(found, now.Now()) {
		return "", "", err
	}
	held, verb := heldBy(found), "dispatches"
	if held.Within > longestLease {
		return held.endless(), command.Say("delete the Lease if no dispatch runs: %s", c.Kubectl(found.Namespace, "delete", "lease", found.Name)), nil
	}
	if _, isKnown := s.lastWrite(found); !isKnown {
		verb = "may dispatch"
	}
	return fmt.Sprintf("%s %s it (Lease %s)", held.Holder, verb, held.Lease), "", nil
}

// isHeld reports whether a Lease has a holder that may be alive. now is by our own clock. renewTime is by
// the holder's clock, so the time at which the API server stored the last write counts instead. A Lease
// without that time is held, and so is one of a server whose clock is unknown.
func (s *leaseStore) isHeld(found *coordinationv1.Lease, now time.Time) bool {
	written, isKnown := s.lastWrite(found)
	return holderOf(found) != "" && (!isKnown || delegation.IsLeaseValid(written, durationOf(found), now.Add(s.cluster.Skew().Min)))
}

// lastWrite returns when the API server stored the last write of a Lease, by its own clock. isKnown is whether that
// can be compared with our time.
func (s *leaseStore) lastWrite(found *coordinationv1.Lease) (written time.Time, isKnown bool) {
	for _, f := range found.ManagedFields {
		if f.Time != nil && f.Time.After(written) {
			written = f.Time.Time
		}
	}
	return written, s.cluster.Skew().Known && !written.IsZero()
}

func holderOf(l *coordinationv1.Lease) string {
	if l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

func durationOf(l *coordinationv1.Lease) time.Duration {
	if l.Spec.LeaseDurationSeconds == nil {
		return 0
	}
	return time.Duration(*l.Spec.LeaseDurationSeconds) * time.Second
}

package dispatch

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
)

// wallClock is a wall clock that can be set.
type wallClock struct {
	clock.RealClock
	ahead atomic.Int64
}

func (c *wallClock) Now() time.Time {
	return time.Now().Round(0).Add(time.Duration(c.ahead.Load()))
}

func (c *wallClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// TestLeaseIsRenewedWhateverTheTime sets the clock back or forward while a Lease is held. The
// holder keeps renewing the Lease, and others see it as held all the time.
func TestLeaseIsRenewedWhateverTheTime(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, time.Hour} {
		server := dispatchtest.NewServer(t)
		cluster := clusterOf(t, server, "here")
		mine, now := leaseOf(cluster, server.Create(t, delegation.Job().Resource, dispatchtest.SmallJob(t)), "mine"), &wallClock{}
		mine.clock = now
		held, ended, stop := startLease(t, mine)
		assert.Assert(t, awaits(t, held, "the Lease is held"))
		now.ahead.Store(int64(ahead))
		for range 3 { // One renewal may have been in flight.
			was := storedLease(t, cluster, "small").ResourceVersion
			eventually(t, "the Lease is renewed", func() bool { return storedLease(t, cluster, "small").ResourceVersion != was })
		}
		eventually(t, "the Lease is held again", mine.held)
		assert.Equal(t, len(held), 0, "it was lost in between")
		stop()
		assert.NilError(t, awaits(t, ended, "the dispatch ends"))
	}
}

// TestLeaseIsValidFromTheRequest checks that a Lease counts from when its write was sent. A
// holder that counts from the response would believe in the Lease for longer than others wait.
func TestLeaseIsValidFromTheRequest(t *testing.T) {
	server := dispatchtest.NewServer(t)
	now := &wallClock{}
	server.Before = func(r *http.Request) *apierrors.StatusError {
		if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/leases") {
			now.ahead.Add(int64(9 * time.Second))
		}
		return nil
	}
	l := leaseOf(clusterOf(t, server, "here"), server.Create(t, delegation.Job().Resource, dispatchtest.SmallJob(t)), "mine")
	l.clock, l.timing = now, timingFor(1)
	lock := &leaseLock{lease: l}
	assert.NilError(t, lock.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "mine", LeaseDurationSeconds: 15}))
	l.leading.Store(true)
	assert.Assert(t, l.held())
	now.ahead.Add(int64(time.Second))
	assert.Assert(t, !l.held(), "ten seconds after it was asked for, the server may have written it as long ago")
}

// TestHeldByHolderClock checks that HeldError uses only the holder's times, even if the holder's
// clock is an hour ahead of ours or behind it.
func TestHeldByHolderClock(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, 0, time.Hour} {
		taken := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(ahead)
		holder, acquired, renewed := "theirs", metav1.NewMicroTime(taken), metav1.NewMicroTime(taken.Add(90*time.Second))
		e := heldBy(&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "small"},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, AcquireTime: &acquired, RenewTime: &renewed},
		})
		assert.Error(t, e, "theirs is dispatching it already, since "+taken.Format(time.RFC3339)+" (for 1m30s, by their clock), and holds Lease ml/small")
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) { return is(), nil })
	assert.NilError(t, err, "timed out waiting until "+what)
}

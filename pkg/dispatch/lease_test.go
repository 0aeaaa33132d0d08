package dispatch

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

func leases() schema.GroupVersionResource {
	return coordinationv1.SchemeGroupVersion.WithResource("leases")
}

// clusterOf returns the cluster of a server.
func clusterOf(t *testing.T, s *dispatchtest.Server, name string) *fleet.Cluster {
	t.Helper()
	if s.Namespaces == nil {
		s.Namespaces = map[string]string{metav1.NamespaceSystem: name + "-uid"}
	}
	return s.Cluster(t, name)
}

// quickTiming returns a Lease timing for tests.
func quickTiming() leaseTiming {
	return leaseTiming{duration: 2 * time.Second, deadline: time.Second, retry: 20 * time.Millisecond}
}

// leaseOf returns the Lease of an origin, as one of its dispatchers uses it.
func leaseOf(cluster *fleet.Cluster, origin *unstructured.Unstructured, identity string) *lease {
	return &lease{
		leaseStore: leaseStore{cluster: cluster, kind: delegation.Job(), origin: refOf(cluster, origin)}, identity: identity, timing: quickTiming(), clock: clock.RealClock{},
	}
}

// startLease holds a Lease until the test ends or stop is called. ended receives the result of keep.
func startLease(t *testing.T, l *lease) (held chan bool, ended chan error, stop func()) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	held, ended = make(chan bool, 100), make(chan error, 1)
	go func() {
		ended <- l.keep(ctx, leaseEvents{
			waiting: func(*heldError) {}, electing: func() {}, renewedLate: func() {},
			changed: func(is bool) { held <- is }, failed: func(err error) { t.Log(err) },
		})
	}()
	return held, ended, stop
}

func awaits[T any](t *testing.T, from chan T, what string) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(20 * time.Second):
		t.Fatalf("timed out waiting until %s", what)
		panic("unreachable")
	}
}

func storedLease(t *testing.T, cluster *fleet.Cluster, name string) *coordinationv1.Lease {
	t.Helper()
	found, err := cluster.Kubernetes().CoordinationV1().Leases("ml").Get(t.Context(), delegation.LeaseName(name), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	assert.NilError(t, err)
	return found
}

// TestLeaseOfSuccessiveJobs has two dispatchers of successive Jobs with the same name. The
// dispatcher of the existing Job keeps the Lease, and the other one ends.
func TestLeaseOfSuccessiveJobs(t *testing.T) {
	server := dispatchtest.NewServer(t)
	cluster := clusterOf(t, server, "here")
	jobs := delegation.Job().Resource
	first := server.Create(t, jobs, dispatchtest.SmallJob(t))
	held, ended, stop := startLease(t, leaseOf(cluster, first, "old"))
	defer stop()
	assert.Assert(t, awaits(t, held, "the first process holds the Lease"))

	server.Delete(t, jobs, "ml", "small")
	second := server.Create(t, jobs, dispatchtest.SmallJob(t))
	next, nextEnded, release := startLease(t, leaseOf(cluster, second, "new"))
	assert.Assert(t, awaits(t, next, "the second process takes over the Lease of a missing origin"))
	assert.Assert(t, errors.Is(awaits(t, ended, "the first process ends"), errOriginGone))
	now := storedLease(t, cluster, "small")
	assert.Equal(t, now.Labels[delegation.OriginUIDLabel], string(second.GetUID()))
	assert.Equal(t, now.OwnerReferences[0].UID, second.GetUID())
	assert.Equal(t, holderOf(now), "new")

	// A late dispatcher of the first Job does not touch it.
	late := leaseOf(cluster, first, "late")
	assert.Assert(t, errors.Is(late.keep(t.Context(), leaseEvents{}), errOriginGone))
	assert.Equal(t, storedLease(t, cluster, "small").UID, now.UID)
	release()
	assert.NilError(t, awaits(t, nextEnded, "the second process releases the Lease"))
	assert.Equal(t, holderOf(storedLease(t, cluster, "small")), "")
	for len(next) > 0 {
		assert.Assert(t, <-next, "it was lost in between")
	}
}

// TestLeaseOfAnOriginThatIsGone checks that the holder does not recreate the Lease of a deleted
// origin.
func TestLeaseOfAnOriginThatIsGone(t *testing.T) {
	server := dispatchtest.NewServer(t)
	cluster := clusterOf(t, server, "here")
	jobs := delegation.Job().Resource
	held, ended, stop := startLease(t, leaseOf(cluster, server.Create(t, jobs, dispatchtest.SmallJob(t)), "old"))
	defer stop()
	assert.Assert(t, awaits(t, held, "the Lease is held"))
	server.Delete(t, jobs, "ml", "small")
	// As the garbage collector does.
	server.Delete(t, leases(), "ml", delegation.LeaseName("small"))
	assert.Assert(t, errors.Is(awaits(t, ended, "the dispatch ends"), errOriginGone))
	assert.Assert(t, storedLease(t, cluster, "small") == nil)
}

// TestLeaseIsReleasedByItsHolder checks that a dispatcher which has lost its Lease without
// noticing does not release the new holder's.
func TestLeaseIsReleasedByItsHolder(t *testing.T) {
	server := dispatchtest.NewServer(t)
	var frozen atomic.Bool
	thawed := make(chan struct{})
	server.Before = func(r *http.Request) *apierrors.StatusError {
		if frozen.Load() && strings.Contains(r.URL.Path, "/leases/") {
			<-thawed
		}
		return nil
	}
	cluster := clusterOf(t, server, "here")
	mine := leaseOf(cluster, server.Create(t, delegation.Job().Resource, dispatchtest.SmallJob(t)), "mine")
	held, ended, stop := startLease(t, mine)
	assert.Assert(t, awaits(t, held, "the Lease is held"))
	assert.NilError(t, mine.confirm(t.Context()))
	frozen.Store(true)
	server.Change(t, leases(), "ml", delegation.LeaseName("small"), func(l *unstructured.Unstructured) {
		dispatchtest.Set(t, l, "spec.holderIdentity", "theirs")
	})
	stop()
	close(thawed)
	assert.NilError(t, awaits(t, ended, "the dispatch ends"))
	assert.Equal(t, holderOf(storedLease(t, cluster, "small")), "theirs")
	assert.Assert(t, apierrors.IsConflict(mine.confirm(t.Context())), "who looks sees that it is another's")
}

// TestLeaseIsRemovedInTheEnd checks that remove retries after temporary errors of the server, and
// not after a refusal.
func TestLeaseIsRemovedInTheEnd(t *testing.T) {
	server := dispatchtest.NewServer(t)
	cluster := clusterOf(t, server, "here")
	l := leaseOf(cluster, server.Create(t, delegation.Job().Resource, dispatchtest.SmallJob(t)), "mine")
	_, err := l.create(t.Context(), coordinationv1.LeaseSpec{}, l.target)
	assert.NilError(t, err)
	var asked, busy atomic.Int32
	refusal := apierrors.NewForbidden(leases().GroupResource(), "small", errors.New("no"))
	answers := []*apierrors.StatusError{apierrors.NewInternalError(errors.New("busy")), apierrors.NewConflict(leases().GroupResource(), "small", errors.New("old"))}
	server.Before = func(r *http.Request) *apierrors.StatusError {
		if r.Method != http.MethodDelete {
			return nil
		}
		asked.Add(1)
		if n := int(busy.Add(1)) - 1; n < len(answers) {
			return answers[n]
		}
		return nil
	}
	answers = append(answers, refusal)
	assert.Assert(t, apierrors.IsForbidden(l.remove(t.Context())))
	assert.Equal(t, asked.Load(), int32(3))
	assert.Assert(t, storedLease(t, cluster, "small") != nil)
	assert.NilError(t, l.remove(t.Context()))
	assert.Assert(t, storedLease(t, cluster, "small") == nil)
}

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

// TestLeaseOutlivesAnUnansweredRenewal checks that one renewal without an answer leaves time for another one.
func TestLeaseOutlivesAnUnansweredRenewal(t *testing.T) {
	server := dispatchtest.NewServer(t)
	mine := leaseOf(clusterOf(t, server, "here"), server.Create(t, delegation.Job().Resource, dispatchtest.SmallJob(t)), "mine")
	mine.timing = leaseTiming{duration: 6 * time.Second, deadline: 4 * time.Second, retry: 20 * time.Millisecond}
	held, ended, stop := startLease(t, mine)
	assert.Assert(t, awaits(t, held, "the Lease is held"))
	var renewals atomic.Int64
	server.SetBefore(func(r *http.Request) *apierrors.StatusError {
		if r.Method == http.MethodPut && renewals.Add(1) == 1 {
			<-r.Context().Done()
		}
		return nil
	})
	eventually(t, "the Lease is renewed again", func() bool { return renewals.Load() > 2 })
	assert.Equal(t, len(held), 0, "it was lost in between")
	stop()
	assert.NilError(t, awaits(t, ended, "the dispatch ends"))
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

// TestHeldByHolderClock checks that heldError uses only the holder's times, even if the holder's
// clock is an hour ahead of ours or behind it.
func TestHeldByHolderClock(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, 0, time.Hour} {
		taken := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(ahead)
		holder, acquired, renewed := "theirs", metav1.NewMicroTime(taken), metav1.NewMicroTime(taken.Add(90*time.Second))
		e := heldBy(&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "small"},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, AcquireTime: &acquired, RenewTime: &renewed},
		})
		assert.Error(t, e, "already dispatched by theirs, since "+taken.Format(time.RFC3339)+" (for 1m30s, by the clock of the holder), with Lease ml/small")
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) { return is(), nil })
	assert.NilError(t, err, "timed out waiting until "+what)
}

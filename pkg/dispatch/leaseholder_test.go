package dispatch

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
)

// addLease adds the Lease of the origin with a holder. Its API server stored the last renewal at a time;
// the zero time means that it has no record of that.
func (s *stage) addLease(holder string, written time.Time) {
	s.Helper()
	lease := &coordinationv1.Lease{
		TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ml", Name: delegation.LeaseName("small"), Labels: map[string]string{delegation.OriginUIDLabel: string(s.origin.GetUID())},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: new(int32(15)),
			// By the holder's clock, which is a day behind.
			AcquireTime: &metav1.MicroTime{Time: written.AddDate(0, 0, -1).Add(-90 * time.Second)},
			RenewTime:   &metav1.MicroTime{Time: written.AddDate(0, 0, -1)},
		},
	}
	if !written.IsZero() {
		lease.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl-jobmanagedby", Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: written}}}
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(lease)
	assert.NilError(s.T, err)
	s.here.Create(s.T, leases(), &unstructured.Unstructured{Object: content})
}

// leaseCases are Leases of a holder, with whether it may be alive at a time. Its clock must stand still, so that no
// machine is too slow. The clock of the server runs on, but only its difference from ours counts.
func leaseCases(now time.Time) map[string]struct {
	holder  string
	written time.Time
	isHeld  bool
} {
	return map[string]struct {
		holder  string
		written time.Time
		isHeld  bool
	}{
		"renewed now":       {"theirs", now, true},
		"expired":           {"theirs", now.Add(-time.Hour), false},
		"renewed, undated":  {"theirs", time.Time{}, true},
		"released long ago": {"", now.Add(-time.Hour), false},
		"released now":      {"", now, false},
	}
}

// TestCancelRemovesExpiredLease checks that cancel deletes the Lease of the Job if its holder has stopped,
// by the clock of the API server, and leaves it to a holder that may be alive.
func TestCancelRemovesExpiredLease(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Now())
	for name, tt := range leaseCases(now.Now()) {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.addLease(tt.holder, tt.written)
			c, events := s.canceller(clusterOf(t, s.there, "there"))
			c.Clock = now
			assert.NilError(t, c.Cancel(t.Context(), delegation.Job(), "ml", "small"))
			lease := s.here.Get(leases(), "ml", delegation.LeaseName("small"))
			assert.Equal(t, lease != nil, tt.isHeld)
			isReported := slices.ContainsFunc(*events, func(e Event) bool { return e.Event == Warned && strings.Contains(e.Message, "theirs holds its Lease") })
			assert.Equal(t, isReported, tt.isHeld, "%v", *events)
		})
	}
}

// TestCancelRemovesUnlabeledLease checks that cancel deletes the expired Lease of the Job if it has lost its
// label: a dispatcher would take it, too.
func TestCancelRemovesUnlabeledLease(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Now())
	s := newStage(t)
	s.addLease("theirs", now.Now().Add(-time.Hour))
	s.here.Change(t, leases(), "ml", delegation.LeaseName("small"), func(l *unstructured.Unstructured) { l.SetLabels(nil) })
	c, _ := s.canceller(clusterOf(t, s.there, "there"))
	c.Clock = now
	assert.NilError(t, c.Cancel(t.Context(), delegation.Job(), "ml", "small"))
	assert.Assert(t, s.here.Get(leases(), "ml", delegation.LeaseName("small")) == nil)
}

// TestCancelLeavesRenewedLease checks that cancel does not delete a Lease that is renewed after cancel has
// read it as expired, and warns about its holder.
func TestCancelLeavesRenewedLease(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Now())
	s := newStage(t)
	s.addLease("theirs", now.Now().Add(-time.Hour))
	c, events := s.canceller(clusterOf(t, s.there, "there"))
	c.Clock = now
	var once sync.Once
	s.here.SetBefore(func(r *http.Request) *apierrors.StatusError {
		if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "/leases/"+delegation.LeaseName("small")) {
			once.Do(func() { s.renewLease("woken", now.Now()) })
		}
		return nil
	})
	assert.NilError(t, c.Cancel(t.Context(), delegation.Job(), "ml", "small"))
	assert.Equal(t, holderOf(storedLease(t, c.Origin, "small")), "woken")
	assert.Assert(t, slices.ContainsFunc(*events, func(e Event) bool { return e.Event == Warned && strings.Contains(e.Message, "woken holds its Lease") }), "%v", *events)
}

// renewLease renews the Lease for a holder.
func (s *stage) renewLease(holder string, now time.Time) {
	s.giveLeaseTo(holder)
	s.here.Change(s.T, leases(), "ml", delegation.LeaseName("small"), func(l *unstructured.Unstructured) {
		l.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl-jobmanagedby", Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: now}}})
	})
}

// TestDescribeHolder checks that a dispatcher is described if it may be alive, and not the one
// of an earlier Job of the same name.
func TestDescribeHolder(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Now())
	for name, tt := range leaseCases(now.Now()) {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.addLease(tt.holder, tt.written)
			here := clusterOf(t, s.here, "here")
			described, _, err := DescribeHolder(t.Context(), here, now, delegation.Job(), s.origin)
			assert.NilError(t, err)
			if !tt.isHeld {
				assert.Equal(t, described, "")
				return
			}
			verb := "dispatches"
			if tt.written.IsZero() {
				verb = "may dispatch"
			}
			assert.Equal(t, described, "theirs "+verb+" it (Lease ml/jobs-managedby-small)")
			later := s.origin.DeepCopy()
			later.SetUID("later")
			described, _, err = DescribeHolder(t.Context(), here, now, delegation.Job(), later)
			assert.NilError(t, err)
			assert.Equal(t, described, "")
		})
	}
}

// TestDescribeEndlessHolder checks that the fix for a Lease with a longer duration than dispatch writes is its
// deletion.
func TestDescribeEndlessHolder(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Now())
	s := newStage(t)
	s.addLease("theirs", now.Now())
	s.here.Change(t, leases(), "ml", delegation.LeaseName("small"), func(l *unstructured.Unstructured) {
		dispatchtest.Set(t, l, "spec.leaseDurationSeconds", int64(36000))
	})
	described, remedy, err := DescribeHolder(t.Context(), clusterOf(t, s.here, "here"), now, delegation.Job(), s.origin)
	assert.NilError(t, err)
	assert.Equal(t, described, "Lease ml/jobs-managedby-small says that theirs holds it for 10h0m0s, which no dispatch writes")
	assert.Equal(t, string(remedy), "delete the Lease if no dispatch runs: `kubectl --context here -n ml delete lease jobs-managedby-small`")
}

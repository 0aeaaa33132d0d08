package dispatch

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// limits records whether all requests of a method for Leases had the time limit of a request.
type limits struct {
	mu      sync.Mutex
	methods map[string]bool
}

func (l *limits) record(r *http.Request) {
	if !strings.Contains(r.URL.Path, "/leases") {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	deadline, isLimited := r.Context().Deadline()
	isLimited = isLimited && time.Until(deadline) <= fleet.RequestTimeout
	if before, ok := l.methods[r.Method]; ok {
		isLimited = isLimited && before
	}
	l.methods[r.Method] = isLimited
}

func (l *limits) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.methods = map[string]bool{}
}

// recording is a transport that records its requests.
type recording struct {
	http.RoundTripper
	into *limits
}

func (t recording) RoundTrip(r *http.Request) (*http.Response, error) {
	t.into.record(r)
	return t.RoundTripper.RoundTrip(r)
}

// limited returns the cluster of a server, and a transport that records its requests.
func limited(t *testing.T, server *dispatchtest.Server) (*fleet.Cluster, *limits) {
	t.Helper()
	recorded := &limits{methods: map[string]bool{}}
	config := server.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return recording{next, recorded} })
	cluster := fleet.Open(t.Context(), []fleet.Context{{Name: "here", Config: config}}, fleet.Options{}).Clusters()[0]
	recorded.reset()
	return cluster, recorded
}

// TestLeaseRequestsAreLimited checks that each request about a Lease has a time limit while the Lease
// is acquired: when it is created, taken from a holder that has stopped, and after one of an
// earlier Job was deleted. client-go limits renewals only.
func TestLeaseRequestsAreLimited(t *testing.T) {
	for name, tt := range map[string]struct {
		// uid is the UID of the origin of an existing Lease, "" if there is none.
		uid     string
		methods []string
	}{
		"no Lease":            {"", []string{http.MethodGet, http.MethodPost}},
		"of a stopped holder": {"origin", []string{http.MethodGet, http.MethodPut}},
		"of an earlier Job":   {"earlier", []string{http.MethodGet, http.MethodDelete, http.MethodPost}},
	} {
		t.Run(name, func(t *testing.T) {
			server := dispatchtest.NewServer(t)
			origin := dispatchtest.SmallJob(t)
			origin.SetUID("origin")
			origin = server.Create(t, delegation.Job().Resource, origin)
			cluster, recorded := limited(t, server)
			l := leaseOf(cluster, origin, "me")
			if tt.uid != "" {
				stored := &coordinationv1.Lease{
					TypeMeta:   metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"},
					ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: l.name(), Labels: map[string]string{delegation.OriginUIDLabel: tt.uid}},
					Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("other"), LeaseDurationSeconds: new(int32(1))},
				}
				content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stored)
				assert.NilError(t, err)
				server.Create(t, leases(), &unstructured.Unstructured{Object: content})
			}
			held, ended, stop := startLease(t, l)
			assert.Assert(t, awaits(t, held, "the Lease is taken"))
			recorded.mu.Lock()
			for _, method := range tt.methods {
				isLimited, isSent := recorded.methods[method]
				assert.Check(t, isSent && isLimited, "%s: sent %t, with a limit %t", method, isSent, isLimited)
			}
			recorded.mu.Unlock()
			stop()
			assert.NilError(t, awaits(t, ended, "it is released"))
		})
	}
}

// TestTimeoutLimitsNoRequest checks that requests about the Lease keep their time limit if the dispatch has
// a later one: a dead connection would block the task until then.
func TestTimeoutLimitsNoRequest(t *testing.T) {
	s := newStage(t)
	here, recorded := limited(t, s.here)
	created := make(chan struct{})
	events := NewRecorder(clock.RealClock{}, func(e *Event) {
		if e.Event == MirrorCreated {
			close(created)
		}
	})
	loop := NewLoop(here, clusterOf(t, s.there, "there"), LoopOptions{Identity: "me"}, clock.RealClock{}, events)
	ctx, stop := context.WithTimeout(t.Context(), time.Hour)
	ended := make(chan []Outcome, 1)
	go func() { ended <- loop.Run(ctx, s.tasks) }()
	awaits(t, created, "the mirror is created")
	stop()
	awaits(t, ended, "the dispatch ends")
	recorded.mu.Lock()
	defer recorded.mu.Unlock()
	assert.Assert(t, recorded.methods[http.MethodGet], "the Lease is read again before the mirror is created")
}

package e2e

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/retry"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// gate is another address of a cluster, which delays requests that create a Job.
type gate struct {
	kubeconfig string
	// arrived receives the namespace of each request that waits to create a Job.
	arrived chan string
	// passed receives it when the cluster has answered.
	passed chan string
	// open is closed to let all requests pass. If loses is set, they are processed, but the answer
	// is lost.
	open        chan struct{}
	losesAnswer func(path string) bool
}

func newGate(t *testing.T, cluster string) *gate {
	t.Helper()
	g := &gate{arrived: make(chan string, 10), passed: make(chan string, 10), open: make(chan struct{})}
	config, err := set.Config(cluster)
	assert.NilError(t, err)
	transport, err := rest.TransportFor(config)
	assert.NilError(t, err)
	target, err := url.Parse(config.Host)
	assert.NilError(t, err)
	forward := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/jobs") || r.URL.Query().Has("dryRun") {
			forward.ServeHTTP(w, r)
			return
		}
		g.arrived <- r.URL.Path
		select {
		case <-g.open:
		case <-t.Context().Done():
			return // The test has failed.
		}
		// The Job is created, however long its client was paused: the time of its Lease may be up.
		answer := httptest.NewRecorder()
		forward.ServeHTTP(answer, r.WithContext(t.Context()))
		g.passed <- r.URL.Path
		if g.losesAnswer != nil && g.losesAnswer(r.URL.Path) {
			panic(http.ErrAbortHandler)
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()) // The client may be gone.
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	all, err := clientcmd.LoadFromFile(set.Kubeconfig)
	assert.NilError(t, err)
	all.Clusters["gate"], all.AuthInfos["gate"] = &clientcmdapi.Cluster{Server: s.URL}, &clientcmdapi.AuthInfo{}
	all.Contexts[cluster] = &clientcmdapi.Context{Cluster: "gate", AuthInfo: "gate"}
	g.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	assert.NilError(t, clientcmd.WriteToFile(*all, g.kubeconfig))
	return g
}

// waits returns once a client requests to create a Job.
func (g *gate) waits(t *testing.T) {
	t.Helper()
	within(t, g.arrived, "no request to create a Job")
}

// opens lets the waiting request pass, and waits until the cluster has answered. From then on its
// Job exists, whatever the client learns.
func (g *gate) opens(t *testing.T) {
	t.Helper()
	close(g.open)
	within(t, g.passed, "the cluster doesn't answer who creates a Job")
}

func within(t *testing.T, come <-chan string, otherwise string) {
	t.Helper()
	select {
	case <-come:
	case <-time.After(poll.Limit):
		t.Fatal(otherwise)
	}
}

func leaseNow(t *testing.T, ns, name string) *coordinationv1.Lease {
	t.Helper()
	l, err := client(t, management).CoordinationV1().Leases(ns).Get(t.Context(), delegation.LeaseName(name), metav1.GetOptions{})
	assert.NilError(t, err)
	return l
}

// shorten shortens the Lease of a paused dispatcher, so that no other waits for it.
func shorten(t *testing.T, ns, name string) {
	t.Helper()
	assert.NilError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		l := leaseNow(t, ns, name)
		l.Spec.LeaseDurationSeconds = new(int32(1))
		_, err := client(t, management).CoordinationV1().Leases(ns).Update(t.Context(), l, metav1.UpdateOptions{})
		return err
	}))
}

// settled waits until Pods can be created in a namespace of a cluster.
func settled(t *testing.T, cluster, ns string) {
	t.Helper()
	assert.NilError(t, poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
		_, err := client(t, cluster).CoreV1().ServiceAccounts(ns).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	}))
}

func isReady(job *batchv1.Job) bool {
	return job != nil && job.Status.Ready != nil && *job.Status.Ready == 1
}

// TestTwoDispatchers checks the case that a dispatcher has read the Lease and is paused while the
// request for its mirror is sent. Another one takes over. Whatever happens to the first one's
// request, one mirror remains: that of the second.
func TestTwoDispatchers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		ns, worker string
		isLost     bool
	}{
		{"dispatch-two-together", worker1, false},
		{"dispatch-two-apart", worker2, false},
		{"dispatch-two-unanswered", worker2, true},
	} {
		t.Run(tt.ns, func(t *testing.T) {
			t.Parallel()
			g := newGate(t, worker1)
			g.losesAnswer = func(string) bool { return tt.isLost }
			origin(t, tt.ns, "train", fixture.RunsFor("1h"))
			namespaces(t, tt.ns, worker2)
			settled(t, worker2, tt.ns)
			first := dispatches(t, tt.ns, "train", "--kubeconfig", g.kubeconfig)
			g.waits(t)
			first.Signal(syscall.SIGSTOP)
			shorten(t, tt.ns, "train")

			second := dispatchesTo(t, tt.worker, tt.ns, "train")
			made := second.Expect(dispatch.MirrorCreated, "train")
			eventuallyJob(t, management, tt.ns, "train", isReady)
			lease := leaseNow(t, tt.ns, "train")

			g.opens(t)
			first.Signal(syscall.SIGCONT)
			assert.Equal(t, first.End(), 1, first.Stderr.String())
			assert.Equal(t, string(jobOf(t, tt.worker, tt.ns, "train").UID), made.Mirror.UID)
			if tt.worker != worker1 {
				assert.Equal(t, first.Count(dispatch.MirrorRemoved), 1, "%v %s", first.Seen, first.Stderr.String())
				eventuallyJob(t, worker1, tt.ns, "train", isGone)
			}
			mark := jobOf(t, management, tt.ns, "train").Annotations[delegation.MirrorAnnotation]
			assert.Assert(t, strings.HasSuffix(mark, "/"+made.Mirror.UID), mark)
			now := leaseNow(t, tt.ns, "train")
			assert.Equal(t, *now.Spec.HolderIdentity, *lease.Spec.HolderIdentity)
			assert.Equal(t, now.UID, lease.UID)

			// The holder releases it.
			second.Signal(syscall.SIGTERM)
			assert.Equal(t, second.End(), 143, second.Stderr.String())
			assert.Equal(t, second.Count(dispatch.LeaseLost), 0)
			assert.Equal(t, *leaseNow(t, tt.ns, "train").Spec.HolderIdentity, "")
			assert.Equal(t, string(jobOf(t, tt.worker, tt.ns, "train").UID), made.Mirror.UID)
		})
	}
}

// TestSuccessiveDispatchers checks the case that the Job of a dispatcher was deleted, and another
// Job has its name now. The dispatcher removes its own mirror and ends, and leaves the Lease of
// the other Job alone.
func TestSuccessiveDispatchers(t *testing.T) {
	t.Parallel()
	const ns = "dispatch-successive"
	origin(t, ns, "train", fixture.RunsFor("1h"))
	namespaces(t, ns, worker2)
	settled(t, worker2, ns)
	first := dispatches(t, ns, "train")
	old := first.Expect(dispatch.MirrorCreated, "train")
	eventuallyJob(t, management, ns, "train", isReady)
	first.Signal(syscall.SIGSTOP)
	deletes(t, management, ns, "train")
	eventuallyJob(t, management, ns, "train", isGone)
	origin(t, ns, "train", fixture.RunsFor("1h"))

	second := dispatchesTo(t, worker2, ns, "train")
	made := second.Expect(dispatch.MirrorCreated, "train")
	eventuallyJob(t, management, ns, "train", isReady)
	lease := leaseNow(t, ns, "train")
	assert.Equal(t, string(jobOf(t, worker1, ns, "train").UID), old.Mirror.UID)

	first.Signal(syscall.SIGCONT)
	first.Expect(dispatch.MirrorRemoved, "train")
	assert.Equal(t, first.End(), 1, first.Stderr.String())
	assert.Equal(t, first.Seen[len(first.Seen)-1].Event, dispatch.OriginDeleted)
	eventuallyJob(t, worker1, ns, "train", isGone)
	now := leaseNow(t, ns, "train")
	assert.Equal(t, now.UID, lease.UID)
	assert.Equal(t, *now.Spec.HolderIdentity, *lease.Spec.HolderIdentity)
	second.Signal(syscall.SIGINT)
	assert.Equal(t, second.End(), 130, second.Stderr.String())
	assert.Equal(t, second.Count(dispatch.LeaseLost), 0)
	assert.Equal(t, string(jobOf(t, worker2, ns, "train").UID), made.Mirror.UID)
}

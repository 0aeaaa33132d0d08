package read_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// recorded is a fleet of one context "hub" with the given objects. It records the requests for
// Leases.
type recorded struct {
	*fleet.Fleet
	now time.Time

	mu    sync.Mutex
	asked []string
}

const (
	kubeSystem = "- {apiVersion: v1, kind: Namespace, metadata: {name: kube-system, uid: uid-of-hub}}\n"
	plainJob   = "- {apiVersion: batch/v1, kind: Job, metadata: {name: plain, namespace: default, uid: p}}\n"
	ourJob     = "- {apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: default, uid: u}, spec: {managedBy: jobmanagedby.github.io/dispatch}}\n"
	otherJob   = "- {apiVersion: batch/v1, kind: Job, metadata: {name: b, namespace: other, uid: v}, spec: {managedBy: jobmanagedby.github.io/dispatch}}\n"
	ourLease   = `- apiVersion: coordination.k8s.io/v1
  kind: Lease
  metadata: {name: jobs-managedby-a, namespace: default, labels: {jobmanagedby.github.io/origin-uid: u}, managedFields: [{manager: m, time: "2026-01-31T11:59:50Z"}]}
  spec: {holderIdentity: alice, leaseDurationSeconds: 15, acquireTime: "2026-01-31T09:10:10.000000Z", renewTime: "2026-01-31T10:10:00.000000Z"}
`
	servesLeases = "  served: [coordination.k8s.io/v1]\n"
	forbidden    = servesLeases + "  unread: [{resource: leases.coordination.k8s.io, status: {code: 403, reason: Forbidden, message: leases are forbidden}}]\n"
)

func recordedFleet(t *testing.T, fields, items string) *recorded {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"snapshot.yaml": "apiVersion: jobmanagedby.github.io/v1alpha1\nkind: Snapshot\ntakenAt: \"2026-01-31T12:00:00Z\"\n" +
			"contexts:\n- name: hub\n  server: https://hub.example:6443\n  file: hub.yaml\n" + fields,
		"hub.yaml": "apiVersion: v1\nkind: List\nitems:\n" + kubeSystem + items,
	} {
		assert.NilError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	b, err := bundle.Open(dir)
	assert.NilError(t, err)
	r := &recorded{now: b.TakenAt()}
	contexts := b.Contexts()
	next := contexts[0].Config.Transport
	contexts[0].Config.Transport = roundTripper(func(request *http.Request) (*http.Response, error) {
		if strings.Contains(request.URL.Path, "/leases") {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.asked = append(r.asked, request.URL.Path+"?"+request.URL.Query().Get("labelSelector"))
		}
		return next.RoundTrip(request)
	})
	r.Fleet = fleet.Open(t.Context(), contexts, fleet.Options{AllNamespaces: true, Clock: clocktesting.NewFakePassiveClock(r.now)})
	return r
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (r *recorded) clock() time.Time { return r.now }

// list lists the Jobs as ls does, and finds their dispatchers.
func (r *recorded) list(t *testing.T) map[string]*inspect.Job {
	t.Helper()
	var jobs []*inspect.Job
	for _, a := range fleet.Ask(t.Context(), r.Fleet, func(ctx context.Context, c *fleet.Cluster) (found []*inspect.Job, err error) {
		err = read.List(ctx, c, read.Query{AllNamespaces: true}, func(j inspect.Job) { found = append(found, &j) })
		return found, err
	}) {
		assert.NilError(t, a.Err)
		jobs = append(jobs, a.Value...)
	}
	read.Dispatchers(t.Context(), r.Fleet, jobs, r.clock)
	return byName(jobs)
}

func byName(jobs []*inspect.Job) map[string]*inspect.Job {
	found := map[string]*inspect.Job{}
	for _, j := range jobs {
		found[j.Name] = j
	}
	return found
}

// assertHeld checks that a Dispatcher matches ourLease.
func assertHeld(t *testing.T, d *inspect.Dispatcher) {
	t.Helper()
	assert.Assert(t, d != nil)
	assert.Equal(t, d.Holder, "alice")
	assert.Assert(t, d.Held)
	assert.Equal(t, d.Since.UTC().Format(time.RFC3339), "2026-01-31T11:00:00Z")
	assert.Equal(t, d.Renewed.UTC().Format(time.RFC3339), "2026-01-31T11:59:50Z")
}

func TestFindDispatchers(t *testing.T) {
	t.Run("nobody is asked where there is nothing to ask for", func(t *testing.T) {
		r := recordedFleet(t, servesLeases, plainJob)
		assert.Assert(t, r.list(t)["plain"].Dispatcher == nil)
		assert.Equal(t, len(r.asked), 0)
	})
	t.Run("held", func(t *testing.T) {
		r := recordedFleet(t, "", plainJob+ourJob+ourLease)
		jobs := r.list(t)
		assertHeld(t, jobs["a"].Dispatcher)
		assert.Assert(t, jobs["plain"].Dispatcher == nil)
		// A user with rights in one namespace can make this request.
		assert.DeepEqual(t, r.asked, []string{"/apis/coordination.k8s.io/v1/namespaces/default/leases?" + delegation.OriginUIDLabel})
	})
	t.Run("in several namespaces", func(t *testing.T) {
		r := recordedFleet(t, "", ourJob+otherJob+ourLease)
		jobs := r.list(t)
		assertHeld(t, jobs["a"].Dispatcher)
		assert.DeepEqual(t, jobs["b"].Dispatcher, &inspect.Dispatcher{})
		assert.DeepEqual(t, r.asked, []string{"/apis/coordination.k8s.io/v1/leases?" + delegation.OriginUIDLabel})
	})
	t.Run("no Lease", func(t *testing.T) {
		assert.DeepEqual(t, recordedFleet(t, servesLeases, ourJob).list(t)["a"].Dispatcher, &inspect.Dispatcher{})
	})
	t.Run("forbidden", func(t *testing.T) {
		assert.Assert(t, recordedFleet(t, forbidden, ourJob).list(t)["a"].Dispatcher == nil)
	})
	t.Run("a bundle that was made before Leases were recorded", func(t *testing.T) {
		assert.Assert(t, recordedFleet(t, "", ourJob).list(t)["a"].Dispatcher == nil)
	})
}

// TestLeasesInFacts checks that the facts for rules have the same Leases, and gaps for missing
// ones.
func TestLeasesInFacts(t *testing.T) {
	factsOf := func(t *testing.T, r *recorded) *inspect.Facts {
		t.Helper()
		return read.Read(t.Context(), r.Fleet, read.Want{Jobs: &read.Query{AllNamespaces: true}, Evidence: true, Now: r.clock}).Clusters[0]
	}
	r := recordedFleet(t, servesLeases, plainJob)
	facts := factsOf(t, r)
	assert.Equal(t, len(r.asked), 0)
	assert.NilError(t, facts.Gaps[inspect.PartLeases])

	facts = factsOf(t, recordedFleet(t, "", ourJob+ourLease))
	assertHeld(t, facts.Jobs[0].Dispatcher)
	lease, known := facts.LeaseOf(facts.Jobs[0])
	assert.Assert(t, lease != nil && known)

	for _, fields := range []string{forbidden, ""} {
		facts = factsOf(t, recordedFleet(t, fields, ourJob))
		assert.ErrorContains(t, facts.Gaps[inspect.PartLeases], "list leases.coordination.k8s.io: ")
		assert.Assert(t, facts.Jobs[0].Dispatcher == nil)
		_, known := facts.LeaseOf(facts.Jobs[0])
		assert.Assert(t, !known)
	}
}

// TestTraceTellsDispatcher checks that a trace reads only the Lease of its Job.
func TestTraceTellsDispatcher(t *testing.T) {
	r := recordedFleet(t, "", plainJob+ourJob+otherJob+ourLease)
	traceOf := func(name string) *inspect.Trace {
		v := read.Read(t.Context(), r.Fleet, read.Want{Named: &read.Wanted{Name: name}, Now: r.clock})
		return chain.Trace(v, v.Subjects()[0])
	}
	assertHeld(t, traceOf("a").Origin.Dispatcher)
	assert.DeepEqual(t, slices.Clone(r.asked), []string{"/apis/coordination.k8s.io/v1/namespaces/default/leases?" + delegation.OriginUIDLabel + "=u"})
	assert.DeepEqual(t, traceOf("b").Origin.Dispatcher, &inspect.Dispatcher{})
	r.asked = nil
	assert.Assert(t, traceOf("plain").Origin.Dispatcher == nil)
	assert.Equal(t, len(r.asked), 0)
}

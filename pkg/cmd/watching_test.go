package cmd

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/rbactest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// TestWatchingSendsNoLists: objects that are watched are listed once. In a minute without changes
// no server gets a list request; a change is seen within a second, without reading again.
func TestWatchingSendsNoLists(t *testing.T) {
	for _, tt := range []struct{ args, context, path string }{
		{"trace train -n default", "kwok-w1", "/api/v1/namespaces/default/pods"},
		{"trace -A -o json", "kwok-mgr", "/apis/batch/v1/jobs"},
		{"ls -A -o json --output-watch-events", "kwok-mgr", "/apis/batch/v1/jobs"},
		{"ls -A --all-contexts", "kwok-w1", "/apis/batch/v1/jobs"},
		{"check -A --grace 0s -o json", "kwok-w1", "/apis/batch/v1/jobs"},
		{"queues", "kwok-mgr", "/apis/kueue.x-k8s.io/v1beta2/clusterqueues"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			f := newWatchedFleet(t, filepath.Join(recordings, "running"))
			looking := rights.Of(rights.LookSecrets)
			f.may = func(_ string, r rbactest.Request) bool {
				may := r.AllowedBy(looking)
				// In the recording, the kubeconfigs are in another namespace than Kueue's.
				assert.Check(t, may || r.Resource == "secrets", "%s", r)
				return may
			}
			w := f.follow(strings.Fields(tt.args)...)
			w.until("it has looked", func() bool { return w.clock.count() == 1 })
			// Findings that need two readings have been confirmed.
			w.rest(2)
			first := w.out.String()
			assert.Assert(t, first != "", w.errOut)
			// Watches begin at the same time as the first reading.
			w.until("it watches", func() bool {
				_, watches := f.count()
				return watches > 0
			})
			before, _ := f.count()
			assert.Assert(t, before["list"] > 0, "%v", before)

			w.rest(30)
			after, _ := f.count()
			assert.Equal(t, after["list"], before["list"], "a minute without changes has cost lists: %v, and before %v", after, before)
			assert.Assert(t, after["watch"] <= after["list"], "%v", after)
			// Twice for the resources that clusters serve, and for those that they do not.
			assert.Assert(t, after["refused"] <= before["refused"]*3, "%v, and before %v", after, before)
			assert.Assert(t, after["get"] == before["get"] && after[""] <= before[""]+3*2*len(f.transports), "%v, and before %v", after, before)
			assert.Equal(t, w.out.String(), first)

			f.happen(tt.context, tt.path, "DELETED")
			rounds := w.clock.count()
			w.clock.Step(util.Redraw)
			w.until("it sees the change", func() bool { return w.clock.count() > rounds })
			if strings.HasPrefix(tt.args, "check") {
				w.rest(1)
			}
			w.until("it shows the change", func() bool { return w.out.String() != first })
			end, _ := f.count()
			if tt.args == "trace -A -o json" || tt.args == "ls -A --all-contexts" {
				// For an orphan, trace reads once which clusters are managers. For a Job without a
				// mirror, ls reads once where its manager runs it.
				w.rest(2)
				after, _ = f.count()
				w.rest(30)
				end, _ = f.count()
			}
			assert.Equal(t, end["list"], after["list"], "a change has cost lists: %v, and before %v", end, after)
			assert.Equal(t, w.stop(), 130)
			assert.Equal(t, w.errOut.String(), "")
		})
	}
}

// TestWatchingWithoutTheRight: objects that may be read and not watched are read again, and a
// note says so once. Objects that may not be read at all are requested rarely.
func TestWatchingWithoutTheRight(t *testing.T) {
	t.Parallel()
	f := newWatchedFleet(t, filepath.Join(recordings, "running"))
	var mu sync.Mutex
	refused := 0
	f.may = func(_ string, r rbactest.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if r.Resource == "namespaces" && r.Verb == "list" {
			refused++
			return false
		}
		return r.Resource != "pods" || r.Verb != "watch"
	}
	w := f.follow("check", "-A", "-o", "json")
	w.until("it has looked", func() bool { return w.clock.count() == 1 })
	w.rest(1)
	before, _ := f.count()
	mu.Lock()
	refusedBefore := refused
	mu.Unlock()
	w.rest(5)
	after, _ := f.count()
	const contexts = 3 // pods are read in this many contexts: a deleted mirror may have left some anywhere
	lists := after["list"] - before["list"]
	assert.Assert(t, lists >= contexts && lists <= 5*contexts, "pods are listed %d times in 10 seconds", lists)
	mu.Lock()
	assert.Assert(t, refused-refusedBefore <= len(f.transports), "what is refused is asked for %d times more", refused-refusedBefore)
	mu.Unlock()
	assert.Equal(t, w.stop(), 130)
	for _, name := range []string{"kwok-mgr", "kwok-w1", "kwok-w2"} {
		note := fmt.Sprintf("note: context %q: pods cannot be watched, and are read again every 2s: ", name)
		assert.Equal(t, strings.Count(w.errOut.String(), note), 1, w.errOut)
	}
}

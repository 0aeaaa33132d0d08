package e2e

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// clusterBehind returns a cluster behind a proxy.
func clusterBehind(t *testing.T, cluster string, p *faulty) *fleet.Cluster {
	t.Helper()
	config := &rest.Config{Host: p.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw}),
	}}
	return opened(t, cluster, config)
}

// TestNoGoroutinesAfterADispatch checks the case that each fault affects a dispatch of many Jobs
// in this process. All but one of the Jobs end, and the dispatch is interrupted. No goroutine is
// left after that.
func TestNoGoroutinesAfterADispatch(t *testing.T) {
	t.Parallel()
	const ns, n = "dispatch-leaks", 12
	proxies := []*faulty{newFaulty(t, management), newFaulty(t, worker1)}
	var tasks []dispatch.Task
	for i := range n {
		name, runs := fmt.Sprintf("job-%d", i), fmt.Sprintf("%ds", 1+i%3)
		if i == 0 {
			runs = "1h"
		}
		origin(t, ns, name, fixture.RunsFor(runs))
		tasks = append(tasks, dispatch.Task{Namespace: ns, Name: name, UID: jobOf(t, management, ns, name).UID})
	}
	from, to := clusterBehind(t, management, proxies[0]), clusterBehind(t, worker1, proxies[1])
	ctx, interrupt := context.WithCancel(t.Context())
	var left sync.WaitGroup
	var ended, seen atomic.Int32
	left.Add(n) // All Jobs but one, and the faults.
	tell := func(e *dispatch.Event) {
		if e.Event == dispatch.MirrorCreated {
			seen.Store(int32(len(goroutinesOf(t, ns))))
		}
		if e.Event == dispatch.Completed && ended.Add(1) < n {
			left.Done()
		}
	}
	var suffering sync.WaitGroup
	suffering.Go(func() {
		defer left.Done()
		for i, f := range faults() {
			if ctx.Err() == nil {
				proxies[i%2].inject(ctx, f, 300*time.Millisecond)
			}
		}
	})
	defer suffering.Wait()
	defer interrupt()
	go func() {
		left.Wait()
		interrupt()
	}()
	var outcomes []dispatch.Outcome
	// Goroutines inherit the labels of the goroutine that starts them.
	pprof.Do(ctx, pprof.Labels(ns, "runs"), func(ctx context.Context) {
		options := dispatch.LoopOptions{Identity: "leaks", MirrorTTL: time.Hour, DeleteOnInterrupt: true}
		outcomes = dispatch.NewLoop(from, to, options, clock.RealClock{}, dispatch.NewRecorder(clock.RealClock{}, tell)).Run(ctx, tasks)
	})
	assert.Equal(t, outcomes[0].End, dispatch.Interrupted)
	for _, o := range outcomes[1:] {
		assert.Equal(t, o.End, dispatch.Completed, "%+v", o)
		ranOnce(t, ns, o.Origin.Name)
	}
	eventuallyJob(t, worker1, ns, "job-0", isGone)
	noLeaseIsLeft(t, ns)
	assert.Assert(t, seen.Load() > 0, "no goroutine has the label")
	var stacks []string
	_ = poll.Until(t.Context(), 30*time.Second, func(context.Context) (bool, error) {
		stacks = goroutinesOf(t, ns)
		return len(stacks) == 0, nil
	})
	assert.Equal(t, len(stacks), 0, "%s", strings.Join(stacks, "\n\n"))
}

// goroutinesOf returns the stacks of goroutines with a label, except those of Go's idle
// connections.
func goroutinesOf(t *testing.T, label string) (found []string) {
	t.Helper()
	var all bytes.Buffer
	assert.NilError(t, pprof.Lookup("goroutine").WriteTo(&all, 1))
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(stack, fmt.Sprintf("%q:", label)) && contains(stack, "k8s.io/") {
			found = append(found, stack)
		}
	}
	return found
}

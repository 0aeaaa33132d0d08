package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/multikueue"
)

// churnGrace covers what MultiKueue itself takes between two steps; reference
// multikueue.md D-VI has about five seconds.
const churnGrace = "5s"

// churn is how much healthy Jobs come and go under the eyes of check.
type churn struct {
	// lasts is for how long, and jobs is how many there are at the end.
	lasts time.Duration
	jobs  int
	// bursts of so many Jobs at once wait for a slow MultiKueue, which takes at least
	// and at most so long for each step.
	bursts, burst int
	least, most   time.Duration
}

// churnOf is the short form, or the one that was asked for.
func churnOf(t *testing.T) churn {
	t.Helper()
	switch os.Getenv("CHURN") {
	case "":
		t.Skip("make churn runs it, by itself: what it leaves on the clusters slows all other tests down")
	case "long":
		return churn{lasts: time.Minute, jobs: 1000, bursts: 3, burst: 100, least: 5 * time.Second, most: 15 * time.Second}
	}
	return churn{lasts: 15 * time.Second, jobs: 300, bursts: 1, burst: 20, least: time.Second, most: 3 * time.Second}
}

// TestNoFalseAlarms has check look at healthy Jobs in all phases of their lives,
// over and over, and wants no finding.
func TestNoFalseAlarms(t *testing.T) {
	size := churnOf(t)
	const ns = "churn"
	manager, paris, tokyo := playKueue(t, ns)
	c := client(t, management)
	ctx, cancel := context.WithTimeout(t.Context(), size.lasts)
	defer cancel()
	var lived atomic.Int64
	players, playing := errgroup.WithContext(ctx)
	for n := range 12 {
		players.Go(func() error {
			for i := 0; playing.Err() == nil; i++ {
				p := &life{t: t, client: c, ns: ns, name: fmt.Sprintf("job-%d-%d", n, i), manager: manager, winner: paris, loser: tokyo}
				if rand.IntN(2) == 0 {
					p.winner, p.loser = tokyo, paris
				}
				// A life that has begun is lived to its end.
				if err := p.live(context.WithoutCancel(ctx)); err != nil {
					return err
				}
				lived.Add(1)
			}
			return nil
		})
	}
	contexts := healthyKubeconfig(t)
	looks := 0
	for playing.Err() == nil {
		found := checkWithGrace(t, churnGrace, "-n", ns, contexts)
		assert.Equal(t, len(found), 0, "%+v", found)
		looks++
	}
	assert.NilError(t, players.Wait())
	t.Logf("%d Jobs lived while check looked %d times", lived.Load(), looks)
	fill(t, c, ns, size.jobs-int(lived.Load()))
	assert.Equal(t, len(checkWithGrace(t, churnGrace, "-n", ns, contexts)), 0)
}

// TestNoFalseAlarmsOfASlowMultiKueue has check look at bursts of healthy Jobs for which
// MultiKueue takes long at every step, and wants to hear no more than that it is behind.
func TestNoFalseAlarmsOfASlowMultiKueue(t *testing.T) {
	size := churnOf(t)
	const ns = "burst"
	manager, paris, tokyo := playKueue(t, ns)
	c := client(t, management)
	contexts := healthyKubeconfig(t)
	looks, behind := 0, 0
	look := func(grace string) {
		for code, f := range checkWithGrace(t, grace, "-n", ns, contexts) {
			assert.Assert(t, code == "JM114" || f.Severity == inspect.Info, "%+v", f)
			assert.Assert(t, f.Severity != inspect.Error, "%+v", f)
			if code == "JM114" {
				behind++
			}
		}
		looks++
	}
	for b := range size.bursts {
		players, playing := errgroup.WithContext(t.Context())
		for n := range size.burst {
			players.Go(func() error {
				l := &life{t: t, client: c, ns: ns, name: fmt.Sprintf("job-%d-%d", b, n), manager: manager, winner: paris, loser: tokyo}
				return l.liveSlowly(playing, func() {
					// MultiKueue is this slow; there is nothing to be waited for.
					select {
					case <-time.After(size.least + rand.N(size.most-size.least)):
					case <-playing.Done():
					}
				})
			})
		}
		done := make(chan error, 1)
		go func() { done <- players.Wait() }()
		for ended := false; !ended; {
			look(churnGrace)
			select {
			case err := <-done:
				assert.NilError(t, err)
				ended = true
			default:
			}
		}
	}
	t.Logf("check looked %d times, and saw MultiKueue behind %d times", looks, behind)
	assert.Assert(t, behind > 0, "nobody saw that MultiKueue is behind")
}

// life is one Job's, from its submission to its end.
type life struct {
	t                      *testing.T
	client                 kubernetes.Interface
	ns, name               string
	manager, winner, loser *multikueue.Cluster
}

// liveSlowly is live, with a pause before each step of MultiKueue's.
func (l *life) liveSlowly(ctx context.Context, pause func()) error {
	job := submitted(l.ns, l.name, fixture.Suspended(), fixture.RunsFor("1s"))
	if _, err := l.client.BatchV1().Jobs(l.ns).Create(ctx, job, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := l.manager.Queue(ctx, l.ns, l.name); err != nil {
		return err
	}
	pause()
	if err := l.manager.Nominate(ctx, l.ns, l.name, l.winner, l.loser); err != nil {
		return err
	}
	for _, worker := range []*multikueue.Cluster{l.winner, l.loser} {
		pause()
		if err := l.manager.Copy(ctx, l.ns, l.name, worker); err != nil {
			return err
		}
	}
	pause()
	if err := l.manager.Admit(ctx, l.ns, l.name, l.winner, l.loser); err != nil {
		return err
	}
	for {
		pause()
		mirror, err := l.winner.Mirror(ctx, l.ns, l.name)
		if err != nil {
			return fmt.Errorf("job %s: %w", l.name, err)
		}
		if multikueue.IsFinished(mirror) {
			return l.manager.Finish(ctx, l.ns, l.name, l.winner)
		}
		if err := l.manager.CopyStatus(ctx, l.ns, l.name, l.winner); err != nil {
			return err
		}
	}
}

// fill adds healthy Jobs of other owners until there are enough.
func fill(t *testing.T, c kubernetes.Interface, ns string, n int) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(16)
	for i := range max(0, n) {
		group.Go(func() error {
			_, err := c.BatchV1().Jobs(ns).Create(t.Context(), fixture.New(ns, fmt.Sprintf("plain-%d", i), fixture.Suspended()), metav1.CreateOptions{})
			return err
		})
	}
	assert.NilError(t, group.Wait())
}

func (l *life) live(ctx context.Context) error {
	job := submitted(l.ns, l.name, fixture.Suspended(), fixture.RunsFor("1s"))
	if _, err := l.client.BatchV1().Jobs(l.ns).Create(ctx, job, metav1.CreateOptions{}); err != nil {
		return err
	}
	if err := l.manager.Hold(ctx, l.ns, l.name, "", l.winner, l.loser); err != nil {
		return err
	}
	if err := l.manager.Admit(ctx, l.ns, l.name, l.winner, l.loser); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		mirror, err := l.winner.Mirror(ctx, l.ns, l.name)
		if err != nil {
			return false, err
		}
		if multikueue.IsFinished(mirror) {
			return true, nil
		}
		return false, l.manager.CopyStatus(ctx, l.ns, l.name, l.winner)
	})
	if err != nil {
		return fmt.Errorf("job %s: %w", l.name, err)
	}
	return l.manager.Finish(ctx, l.ns, l.name, l.winner)
}

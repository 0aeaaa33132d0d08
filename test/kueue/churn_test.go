package kueue

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// churnGrace covers what MultiKueue itself takes between two steps, about five seconds.
const churnGrace = 5 * time.Second

// churn is the number of healthy Jobs that come and go while check runs.
type churn struct {
	// lasts is the duration, and jobs the number of Jobs at its end.
	lasts time.Duration
	jobs  int
	// bursts is the number of bursts, burst the number of Jobs in each, and qps the number of
	// requests per second of Kueue.
	bursts, burst, qps int
	// large is the number of Jobs in a burst for a Kueue at its usual speed; 0 for no such burst.
	large int
}

// churnOf returns the short form, or the requested one.
func churnOf(t *testing.T) churn {
	t.Helper()
	switch os.Getenv("CHURN") {
	case "":
		t.Skip("make churn runs it, by itself: what it leaves on the clusters slows all other tests down")
	case "long":
		return churn{lasts: time.Minute, jobs: 1000, bursts: 2, burst: 50, qps: 2, large: 200}
	}
	return churn{lasts: 15 * time.Second, jobs: 300, bursts: 1, burst: 20, qps: 2}
}

// TestNoFalseAlarms runs check repeatedly on healthy Jobs in all phases of their lives. The only
// finding it may report is that MultiKueue is behind.
func TestNoFalseAlarms(t *testing.T) {
	size := churnOf(t)
	const ns = "churn"
	c := client(t, management)
	ctx, cancel := context.WithTimeout(t.Context(), size.lasts)
	defer cancel()
	var lived atomic.Int64
	lives, living := errgroup.WithContext(ctx)
	for n := range 12 {
		lives.Go(func() error {
			for i := 0; living.Err() == nil; i++ {
				// A Job that was submitted is followed to its end.
				if err := live(context.WithoutCancel(ctx), c, ns, fmt.Sprintf("job-%d-%d", n, i)); err != nil {
					return err
				}
				lived.Add(1)
			}
			return nil
		})
	}
	looks := 0
	for living.Err() == nil {
		findsAtMostDelay(t, ns, churnGrace)
		looks++
	}
	assert.NilError(t, lives.Wait())
	t.Logf("%d Jobs lived while check looked %d times", lived.Load(), looks)
	fill(t, c, ns, size.jobs-int(lived.Load()))
	findsAtMostDelay(t, ns, churnGrace)
}

// TestNoFalseAlarmsOfASlowMultiKueue runs check on bursts of healthy Jobs that Kueue processes
// slowly. The only finding it may report is that MultiKueue is behind.
func TestNoFalseAlarmsOfASlowMultiKueue(t *testing.T) {
	size := churnOf(t)
	const ns = "churn-slow"
	c := client(t, management)
	assert.NilError(t, multiKueue.Throttle(t.Context(), size.qps))
	t.Cleanup(func() { assert.NilError(t, multiKueue.Throttle(context.Background(), 0)) })
	looks, behind := 0, 0
	for b := range size.bursts {
		more, seen := burst(t, c, ns, fmt.Sprintf("job-%d", b), size.burst, func() int { return findsAtMostDelay(t, ns, churnGrace) })
		looks, behind = looks+more, behind+seen
	}
	t.Logf("check looked %d times, and saw MultiKueue behind %d times", looks, behind)
	assert.Assert(t, behind > 0, "check did not report that MultiKueue is behind")
}

// TestNoFalseAlarmsOfALargeBurst runs check on a burst of healthy Jobs, with and without a grace
// period. The only finding above info that it may report is that MultiKueue is behind.
func TestNoFalseAlarmsOfALargeBurst(t *testing.T) {
	size := churnOf(t)
	if size.large == 0 {
		t.Skip("make churn-long runs it: it takes minutes")
	}
	const ns = "churn"
	looks, _ := burst(t, client(t, management), ns, "large", size.large, func() int {
		return findsAtMostDelay(t, ns, 0) + findsAtMostDelay(t, ns, churnGrace)
	})
	t.Logf("check looked %d times, each with two graces", looks)
}

// burst submits healthy Jobs at once, and calls look until all have completed. It returns the
// number of calls and the sum of their results.
func burst(t *testing.T, c kubernetes.Interface, ns, prefix string, jobs int, look func() int) (looks, seen int) {
	t.Helper()
	lives, living := errgroup.WithContext(t.Context())
	for n := range jobs {
		lives.Go(func() error { return live(living, c, ns, fmt.Sprintf("%s-%d", prefix, n)) })
	}
	done := make(chan error, 1)
	go func() { done <- lives.Wait() }()
	for {
		seen += look()
		looks++
		select {
		case err := <-done:
			assert.NilError(t, err)
			return looks, seen
		default:
		}
	}
}

// findsAtMostDelay runs check, which may find that MultiKueue is behind and nothing more severe
// than info besides that. It returns how often it found that.
func findsAtMostDelay(t *testing.T, ns string, grace time.Duration) (behind int) {
	t.Helper()
	for _, f := range read[inspect.FindingList](t, "check", "-n", ns, "--grace", grace.String()).Items {
		assert.Assert(t, f.Severity == inspect.Info || f.Code == "JM114" && f.Severity == inspect.Warning,
			"%s %s %s: %s\n%s\nremedy: %s", f.Code, f.Severity, f.Name, f.Message, strings.Join(f.Evidence, "\n"), f.Remedy)
		if f.Code == "JM114" {
			behind++
		}
	}
	return behind
}

// live submits a Job to MultiKueue and waits until it has completed.
func live(ctx context.Context, c kubernetes.Interface, ns, name string) error {
	job := fixture.New(ns, name, fixture.ManagedBy(string(delegation.MultiKueue)), fixture.Labels(delegation.QueueNameLabel, queue),
		fixture.Suspended(), fixture.Limits(corev1.ResourceCPU, "100m"), fixture.RunsFor("1s"))
	jobs := c.BatchV1().Jobs(ns)
	if _, err := jobs.Create(ctx, job, metav1.CreateOptions{}); err != nil {
		return err
	}
	err := poll.Until(ctx, 20*time.Minute, func(ctx context.Context) (bool, error) {
		j, err := jobs.Get(ctx, name, metav1.GetOptions{})
		return err == nil && isComplete(j), err
	})
	if err != nil {
		return fmt.Errorf("job %s: %w", name, err)
	}
	return nil
}

func isComplete(j *batchv1.Job) bool {
	for _, c := range j.Status.Conditions {
		if c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

// fill adds healthy Jobs of other owners up to a number.
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

// client returns a client of one of the clusters.
func client(t *testing.T, cluster string) kubernetes.Interface {
	t.Helper()
	config, err := set.Config(cluster)
	assert.NilError(t, err)
	config.QPS = -1
	c, err := kubernetes.NewForConfig(config)
	assert.NilError(t, err)
	return c
}

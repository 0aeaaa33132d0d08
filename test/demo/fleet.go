package main

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
)

const (
	management = "management"
	worker1    = "worker-1"
	worker2    = "worker-2"
)

// delegated makes a Job of MultiKueue's, whose pods have a GPU each. It runs for hours.
func delegated(namespace, name, queue string, pods int32, options ...fixture.Option) *batchv1.Job {
	return fixture.New(namespace, name, append([]fixture.Option{
		fixture.ManagedBy(string(delegation.MultiKueue)), fixture.Labels(delegation.QueueNameLabel, queue),
		fixture.Pods(pods), fixture.Limits("nvidia.com/gpu", "1"), fixture.RunsFor("2h"),
	}, options...)...)
}

// fleet is what each cluster is filled with, next to what is submitted to MultiKueue.
var fleet = map[string][]*batchv1.Job{
	management: {
		// Built-in ones.
		fixture.New("ops", "backup"),
		fixture.New("ops", "migrate", fixture.Pods(2), fixture.RunsFor("2h")),
		fixture.New("ops", "report", fixture.Fails()),
		fixture.New("ops", "cleanup", fixture.Suspended()),
		// One that names MultiKueue and no queue: Kueue ignores it.
		fixture.New("ml", "eval", fixture.Pods(2), fixture.ManagedBy(string(delegation.MultiKueue))),
		// Other owners: one that is there, one that is not.
		fixture.New("etl", "import", fixture.Pods(3), fixture.ManagedBy("flows.example.com/runner")),
		fixture.New("etl", "export", fixture.ManagedBy("flows.example.com/runner")),
		fixture.New("etl", "index", fixture.ManagedBy("flow.example.com/runner")),
	},
	worker1: {
		fixture.New("ci", "test-1", fixture.RunsFor("2h")),
		fixture.New("ci", "test-2", fixture.RunsFor("2h"), fixture.NeverStarts()),
	},
	worker2: {
		fixture.New("ci", "lint"),
		fixture.New("ci", "test-3", fixture.RunsFor("2h")),
	},
}

// settled is what the built-in controllers make of some of them, to be waited
// for before anything is shown.
var settled = []struct {
	cluster, namespace, name string
	when                     func(*batchv1.JobStatus) bool
}{
	{management, "ops", "backup", isTrue(batchv1.JobComplete)},
	{management, "ops", "migrate", areReady(2)},
	{management, "ops", "report", isTrue(batchv1.JobFailed)},
	{management, "ops", "cleanup", isTrue(batchv1.JobSuspended)},
	{worker1, "ci", "test-1", areReady(1)},
	{worker2, "ci", "lint", isTrue(batchv1.JobComplete)},
	{worker2, "ci", "test-3", areReady(1)},
}

func fill(ctx context.Context, set *clusters.Set) error {
	clients := map[string]kubernetes.Interface{}
	for _, cluster := range []string{management, worker1, worker2} {
		config, err := set.Config(cluster)
		if err != nil {
			return err
		}
		if clients[cluster], err = kubernetes.NewForConfig(config); err != nil {
			return err
		}
	}
	if err := equip(ctx, clients); err != nil {
		return fmt.Errorf("give nodes accelerators: %w", err)
	}
	m, err := startKueue(ctx, set)
	if err != nil {
		return err
	}
	for cluster, jobs := range fleet {
		if err := fixture.Create(ctx, clients[cluster], jobs...); err != nil {
			return fmt.Errorf("cluster %s: %w", cluster, err)
		}
	}
	for _, s := range settled {
		if err := waitFor(ctx, clients[s.cluster], s.namespace, s.name, s.when); err != nil {
			return fmt.Errorf("cluster %s: %w", s.cluster, err)
		}
	}
	if err := submit(ctx, m, clients); err != nil {
		return fmt.Errorf("submit Jobs to MultiKueue: %w", err)
	}
	return playRunner(ctx, clients[management])
}

// playRunner writes what the invented owner flows.example.com/runner would.
func playRunner(ctx context.Context, client kubernetes.Interface) error {
	start := metav1.NewTime(time.Now().Truncate(time.Second))
	if err := writeStatus(ctx, client, "etl", "import", batchv1.JobStatus{
		StartTime: &start, Active: 2, Ready: new(int32(2)), Succeeded: 1,
	}); err != nil {
		return err
	}
	end := metav1.NewTime(start.Add(2 * time.Second))
	done := func(t batchv1.JobConditionType) batchv1.JobCondition {
		return batchv1.JobCondition{Type: t, Status: corev1.ConditionTrue, Reason: "CompletionsReached", LastTransitionTime: end}
	}
	return writeStatus(ctx, client, "etl", "export", batchv1.JobStatus{
		StartTime: &start, CompletionTime: &end, Succeeded: 1,
		Conditions: []batchv1.JobCondition{done(batchv1.JobSuccessCriteriaMet), done(batchv1.JobComplete)},
	})
}

func writeStatus(ctx context.Context, client kubernetes.Interface, namespace, name string, status batchv1.JobStatus) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		jobs := client.BatchV1().Jobs(namespace)
		job, err := jobs.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		job.Status = status
		_, err = jobs.UpdateStatus(ctx, job, metav1.UpdateOptions{})
		return err
	})
}

func waitFor(ctx context.Context, client kubernetes.Interface, namespace, name string, when func(*batchv1.JobStatus) bool) error {
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		job, err := client.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
		return err == nil && when(&job.Status), err
	})
	if err != nil {
		return fmt.Errorf("job %s/%s did not reach the expected state: %w", namespace, name, err)
	}
	return nil
}

func isTrue(t batchv1.JobConditionType) func(*batchv1.JobStatus) bool {
	return func(s *batchv1.JobStatus) bool {
		for _, c := range s.Conditions {
			if c.Type == t && c.Status == corev1.ConditionTrue {
				return true
			}
		}
		return false
	}
}

func areReady(n int32) func(*batchv1.JobStatus) bool {
	return func(s *batchv1.JobStatus) bool { return s.Ready != nil && *s.Ready == n }
}

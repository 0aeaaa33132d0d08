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
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/multikueue"
)

const (
	management = "management"
	worker1    = "worker-1"
	worker2    = "worker-2"
)

var (
	multiKueues = fixture.ManagedBy(string(delegation.MultiKueue))
	queued      = fixture.Labels(delegation.QueueNameLabel, multikueue.Queue)
)

// fleet is what each cluster is filled with.
var fleet = map[string][]*batchv1.Job{
	management: {
		// Built-in ones.
		fixture.New("ops", "backup"),
		fixture.New("ops", "migrate", fixture.Pods(2), fixture.RunsFor("2h")),
		fixture.New("ops", "report", fixture.Fails()),
		fixture.New("ops", "cleanup", fixture.Suspended()),
		// MultiKueue's: one that runs on worker-1, one that no worker has room for, and
		// one that names no queue, so that nobody will ever pick it up.
		fixture.New("ml", "train", fixture.Pods(4), fixture.RunsFor("2h"), multiKueues, queued),
		fixture.New("ml", "sweep", fixture.Pods(8), fixture.RunsFor("2h"), fixture.Suspended(), multiKueues, queued),
		fixture.New("ml", "eval", fixture.Pods(2), multiKueues),
		// More that wait for a place (holdBack).
		fixture.New("vision", "finetune", fixture.Pods(6), fixture.Suspended(), multiKueues, queued),
		fixture.New("vision", "score", fixture.Pods(2), fixture.Suspended(), multiKueues, queued),
		fixture.New("vision", "align", fixture.Pods(4), fixture.InOne("example.com/rack"), fixture.Suspended(), multiKueues, queued),
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
	for cluster, jobs := range fleet {
		config, err := set.Config(cluster)
		if err != nil {
			return err
		}
		if clients[cluster], err = kubernetes.NewForConfig(config); err != nil {
			return err
		}
		if err := fixture.Create(ctx, clients[cluster], jobs...); err != nil {
			return fmt.Errorf("cluster %s: %w", cluster, err)
		}
	}
	for _, s := range settled {
		if err := waitFor(ctx, clients[s.cluster], s.namespace, s.name, s.when); err != nil {
			return fmt.Errorf("cluster %s: %w", s.cluster, err)
		}
	}
	if err := equip(ctx, clients); err != nil {
		return fmt.Errorf("give nodes accelerators: %w", err)
	}
	if err := playMultiKueue(ctx, set, clients[worker1]); err != nil {
		return fmt.Errorf("play MultiKueue: %w", err)
	}
	// The runner of flows.example.com writes what it does itself.
	start := metav1.NewTime(time.Now().Truncate(time.Second))
	if err := writeStatus(ctx, clients[management], "etl", "import", batchv1.JobStatus{
		StartTime: &start, Active: 2, Ready: new(int32(2)), Succeeded: 1,
	}); err != nil {
		return err
	}
	end := metav1.NewTime(start.Add(2 * time.Second))
	done := func(t batchv1.JobConditionType) batchv1.JobCondition {
		return batchv1.JobCondition{Type: t, Status: corev1.ConditionTrue, Reason: "CompletionsReached", LastTransitionTime: end}
	}
	return writeStatus(ctx, clients[management], "etl", "export", batchv1.JobStatus{
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
		return fmt.Errorf("job %s/%s did not get where it should: %w", namespace, name, err)
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

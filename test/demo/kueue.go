package main

import (
	"context"
	_ "embed"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kueue"
)

// What each cluster has of Kueue's objects.
var (
	//go:embed queues-management.yaml
	managementQueues string
	//go:embed queues-paris.yaml
	parisQueues string
	//go:embed queues-tokyo.yaml
	tokyoQueues string
)

// workers are the contexts of the worker clusters, by MultiKueue's names for them.
var workers = map[string]string{"paris": worker1, "tokyo": worker2}

// startKueue runs a MultiKueue on the clusters, with its queues. It deletes no orphans, so
// that one can be shown.
func startKueue(ctx context.Context, set *clusters.Set) (*kueue.MultiKueue, error) {
	m, err := kueue.Start(ctx, set, kueue.Config{Program: *kueues, Manager: management, Workers: workers, GarbageCollection: "0s"})
	if err != nil {
		return nil, fmt.Errorf("start Kueue: %w", err)
	}
	for cluster, queues := range map[string]string{management: managementQueues, worker1: parisQueues, worker2: tokyoQueues} {
		if err := m.Apply(ctx, cluster, queues); err != nil {
			return nil, err
		}
		if err := m.Await(ctx, cluster, "clusterqueues.kueue.x-k8s.io", "--all", "--for=condition=Active"); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// submit submits Jobs to MultiKueue, one after the other where one must take the quota that the
// next one lacks, until Kueue has decided about each.
func submit(ctx context.Context, m *kueue.MultiKueue, clients map[string]kubernetes.Interface) error {
	manager := clients[management]
	// At first tokyo is the only worker, so train-old runs there. train then finds free quota
	// on paris alone.
	for _, step := range []struct {
		workers []string
		job     *batchv1.Job
	}{
		{[]string{"tokyo"}, delegated("ml", "train-old", "gpu", 4)},
		{[]string{"paris", "tokyo"}, delegated("ml", "train", "gpu", 4)},
	} {
		if err := m.Offer(ctx, step.workers...); err != nil {
			return err
		}
		if err := fixture.Create(ctx, manager, step.job); err != nil {
			return err
		}
		if err := waitFor(ctx, manager, step.job.Namespace, step.job.Name, areReady(4)); err != nil {
			return err
		}
	}
	// One Job for each reason to wait: too large; behind another Job; no topology fits; its
	// queue is missing on a worker.
	if err := hold(ctx, m, manager,
		delegated("ml", "sweep", "gpu", 8),
		delegated("vision", "finetune", "gpu", 6),
		delegated("vision", "align", "gpu", 4, fixture.InOne("example.com/rack")),
		delegated("vision", "score", "inference", 2),
	); err != nil {
		return err
	}
	return m.Orphan(ctx, "ml", "train-old")
}

// hold submits Jobs that no worker admits, and waits until each worker has said so.
func hold(ctx context.Context, m *kueue.MultiKueue, client kubernetes.Interface, jobs ...*batchv1.Job) error {
	if err := fixture.Create(ctx, client, jobs...); err != nil {
		return err
	}
	for _, j := range jobs {
		workload, err := workloadOf(ctx, client, j.Namespace, j.Name)
		if err != nil {
			return err
		}
		for _, worker := range workers {
			for _, condition := range []string{"create", "condition=QuotaReserved=false"} {
				if err := m.Await(ctx, worker, "-n", j.Namespace, "workloads.kueue.x-k8s.io/"+workload, "--for="+condition); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func workloadOf(ctx context.Context, client kubernetes.Interface, namespace, name string) (string, error) {
	job, err := client.BatchV1().Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return delegation.Job().WorkloadNames(name, string(job.UID), "")[0], nil
}

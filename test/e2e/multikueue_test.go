package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// kueueProgram is the directory with Kueue's program and its definitions.
const kueueProgram = "../../bin/kueue/current"

// gpuQueue is the LocalQueue of each namespace with a MultiKueue.
const gpuQueue = "gpu"

// kueueQuotas are the GPUs that each cluster has for the tests that share a MultiKueue. Each
// has a namespace with a ClusterQueue of its own, of the same name.
var kueueQuotas = map[string]map[string]string{
	"remedies":       {management: "1000", worker1: "1", worker2: "1"},
	"traced":         {management: "1000", worker1: "4", worker2: "4"},
	"recreate-kueue": {management: "1000", worker1: "1", worker2: "0"},
	"logs":           {management: "1000", worker1: "2", worker2: "0"},
	"logs-follow":    {management: "1000", worker1: "0", worker2: "0"},
}

// submitted is a Job as it is submitted to MultiKueue. Each Pod requests a GPU.
func submitted(namespace, name string, options ...fixture.Option) *batchv1.Job {
	return fixture.New(namespace, name, append([]fixture.Option{
		fixture.ManagedBy(string(delegation.MultiKueue)), fixture.Labels(delegation.QueueNameLabel, gpuQueue),
		fixture.Limits("nvidia.com/gpu", "1"), fixture.RunsFor("2h"),
	}, options...)...)
}

// sharesKueue runs a test in parallel with others, with a MultiKueue of which it changes only its
// own queues and Jobs.
func sharesKueue(t *testing.T, ns string) {
	t.Helper()
	assert.Assert(t, kueueQuotas[ns] != nil)
	serving(t, "Kueue's", management, worker1)
	served[worker2].enter(t, "Kueue's", func() func() {
		m := startKueue(t)
		clients := []kubernetes.Interface{client(t, management), client(t, worker1), client(t, worker2)}
		remove := func() {
			if err := errors.Join(m.Remove(context.Background()), removeJobs(context.Background(), clients)); err != nil {
				panic(err)
			}
		}
		// If a step fails, the next test sets all up again, and needs clusters without Kueue for that.
		isReady := false
		defer func() {
			if !isReady {
				remove()
			}
		}()
		for ns, quotas := range kueueQuotas {
			addGPUs(t, m, ns, quotas)
		}
		orphan(t, m, "traced", "forgotten", 4)
		orphan(t, m, "remedies", "sick", 1)
		isReady = true
		return remove
	})
}

// removeJobs deletes all Jobs of the tests that share a MultiKueue. The next set-up would run those
// that are left, and they would hold its quota.
func removeJobs(ctx context.Context, clients []kubernetes.Interface) error {
	for i, c := range clients {
		for ns := range kueueQuotas {
			jobs := c.BatchV1().Jobs(ns)
			if err := jobs.DeleteCollection(ctx, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}, metav1.ListOptions{}); err != nil {
				return err
			}
			err := poll.Until(ctx, poll.Limit, func(ctx context.Context) (bool, error) {
				left, err := jobs.List(ctx, metav1.ListOptions{})
				return err == nil && len(left.Items) == 0, err
			})
			if err != nil {
				return fmt.Errorf("wait until all Jobs of %s on %s are deleted: %w", ns, all[i], err)
			}
		}
	}
	return nil
}

// startKueue runs a MultiKueue on all clusters. It leaves orphans alone.
func startKueue(t *testing.T) *kueue.MultiKueue {
	t.Helper()
	for _, cluster := range []string{worker1, worker2} {
		nodes := client(t, cluster).CoreV1().Nodes()
		list, err := nodes.List(t.Context(), metav1.ListOptions{})
		assert.NilError(t, err)
		for _, n := range list.Items {
			_, err := nodes.Patch(t.Context(), n.Name, types.MergePatchType, []byte(`{"status": {"capacity": {"nvidia.com/gpu": "16"}, "allocatable": {"nvidia.com/gpu": "16"}}}`), metav1.PatchOptions{}, "status")
			assert.NilError(t, err)
		}
	}
	m, err := kueue.Start(t.Context(), set, kueue.Config{
		Program: kueueProgram, Manager: management, Workers: map[string]string{"paris": worker1, "tokyo": worker2}, GarbageCollection: "0s",
	})
	assert.NilError(t, err)
	return m
}

func addGPUs(t *testing.T, m *kueue.MultiKueue, ns string, quotas map[string]string) {
	t.Helper()
	assert.NilError(t, m.AddQueues(t.Context(), kueue.Queues{
		ClusterQueue: ns, LocalQueue: gpuQueue, Namespaces: []string{ns}, Flavor: "a100", Resource: "nvidia.com/gpu", Quotas: quotas,
	}))
}

// orphan creates a mirror without an origin, with this many Pods, on tokyo.
func orphan(t *testing.T, m *kueue.MultiKueue, ns, name string, pods int32) {
	t.Helper()
	assert.NilError(t, m.Offer(t.Context(), "tokyo"))
	createJobs(t, management, submitted(ns, name, fixture.Pods(pods)))
	waitReady(t, management, ns, name, pods)
	assert.NilError(t, m.Offer(t.Context(), "paris", "tokyo"))
	assert.NilError(t, m.Orphan(t.Context(), ns, name))
}

// setQuota changes how many GPUs a worker has for a namespace.
func setQuota(t *testing.T, cluster, ns, gpus string) {
	t.Helper()
	shell(t, "kubectl --context "+cluster+" patch clusterqueues.kueue.x-k8s.io "+ns+` --type json -p '[{"op":"replace","path":"/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota","value":"`+gpus+`"}]'`)
}

package queues_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestWorkers checks that the quota of the workers behind a manager's queue is that of the queues
// that admit Workloads.
func TestWorkers(t *testing.T) {
	inactive := []metav1.Condition{{Type: kueue.Active, Status: metav1.ConditionFalse, Reason: "FlavorNotFound"}}
	for _, c := range []struct {
		name   string
		change func(*kueue.ClusterQueue, *kueue.LocalQueue)
		want   string
	}{
		{"both are active", func(*kueue.ClusterQueue, *kueue.LocalQueue) {}, "12 4 [paris tokyo] []"},
		{"the policy is None", func(q *kueue.ClusterQueue, _ *kueue.LocalQueue) { q.Spec.StopPolicy = "None" }, "12 4 [paris tokyo] []"},
		{"a ClusterQueue is not active", func(q *kueue.ClusterQueue, _ *kueue.LocalQueue) { q.Status.Conditions = inactive }, "4 3 [tokyo] [paris]"},
		{"a ClusterQueue is stopped", func(q *kueue.ClusterQueue, _ *kueue.LocalQueue) { q.Spec.StopPolicy = "Hold" }, "4 3 [tokyo] [paris]"},
		{"a LocalQueue is stopped", func(_ *kueue.ClusterQueue, q *kueue.LocalQueue) { q.Spec.StopPolicy = "HoldAndDrain" }, "4 3 [tokyo] [paris]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			paris, tokyo := workerFacts(t, "8", "1"), workerFacts(t, "4", "3")
			c.change(paris.Kueue.Capacity.ClusterQueues[0], paris.Kueue.LocalQueues[0])
			rows := queues.List(manager(t, paris, tokyo))
			w := rows[0].Workers
			assert.Equal(t, fmt.Sprintf("%s %s %v %v", w.Nominal, *w.Used, w.Clusters, w.Inactive), c.want)
		})
	}
}

// TestOneWorkerTwice checks that the quota of a worker with two names counts once.
func TestOneWorkerTwice(t *testing.T) {
	paris, tokyo := workerFacts(t, "8", "1"), workerFacts(t, "4", "3")
	v := manager(t, paris, tokyo)
	hub := v.Facts("hub").Kueue
	addTo(&hub.Clusters).Name = "paris-2"
	hub.Addresses["paris-2"] = hub.Addresses["paris"]
	hub.Configs[0].Spec.Clusters = append(hub.Configs[0].Spec.Clusters, "paris-2")
	w := queues.List(v)[0].Workers
	assert.Equal(t, fmt.Sprintf("%s %s %v %v", w.Nominal, *w.Used, w.Clusters, w.Inactive), "12 4 [paris tokyo] []")
}

// workerFacts returns a cluster with one queue.
func workerFacts(t *testing.T, cpu, used string) *inspect.Facts {
	t.Helper()
	return fleet(t, "", "queues: ["+queue("b", "", cpu, used)+"]\nlocals: ["+local("q", "b", used)+"]\n", inspect.PartClaims).Clusters[0]
}

// manager returns an inventory of a manager whose queue gives to paris and tokyo.
func manager(t *testing.T, paris, tokyo *inspect.Facts) *inspect.Inventory {
	t.Helper()
	hub := workerFacts(t, "100", "0")
	hub.Context, paris.Context, tokyo.Context = "hub", "paris", "tokyo"
	hub.ClusterUID, paris.ClusterUID, tokyo.ClusterUID = "h", "p", "t"
	hub.Kueue.Capacity.ClusterQueues[0].Spec.AdmissionChecks = []string{"check"}
	assert.NilError(t, yaml.Unmarshal([]byte(`{"metadata": {"name": "check"}, "spec": {"controllerName": "kueue.x-k8s.io/multikueue",
 "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": "both"}}}`), addTo(&hub.Kueue.Checks)))
	assert.NilError(t, yaml.Unmarshal([]byte(`{"metadata": {"name": "both"}, "spec": {"clusters": ["paris", "tokyo"]}}`), addTo(&hub.Kueue.Configs)))
	hub.Kueue.Addresses = map[string]kubecontext.Address{}
	var addresses []kubecontext.Address
	for _, name := range []string{"paris", "tokyo"} {
		addTo(&hub.Kueue.Clusters).Name = name
		address := kubecontext.Address{Context: name, Server: "https://" + name, CA: name}
		hub.Kueue.Addresses[name] = address
		addresses = append(addresses, address)
	}
	return inspect.NewInventory(time.Now(), []*inspect.Facts{hub, paris, tokyo}, addresses)
}

// addTo adds an empty object to a list, and returns it.
func addTo[T any](list *[]*T) *T {
	o := new(T)
	*list = append(*list, o)
	return o
}

package answer

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestDeactivatedAndTooLarge checks that the fixes of a deactivated Job that would never run begin with
// the change that makes it fit, and that they name the activation. If only its queue is stopped, to resume that comes first.
func TestDeactivatedAndTooLarge(t *testing.T) {
	for limit, want := range map[string][]string{
		"9":     {"activate the Workload"},
		"9000m": {"resume ClusterQueue q on hub, then activate the Workload"},
		"2": {
			"request at most 2 cpu, for hub, then delete Job ml/big, and create it again", "raise the quota of ClusterQueue q on hub from 2 to 4 cpu (flavor f)",
			"activate the Workload, after a change that makes the Job fit",
		},
	} {
		job := &inspect.Job{
			APIVersion: "batch/v1", Kind: "Job", Context: "hub", Namespace: "ml", Name: "big", UID: "big", ManagedBy: delegation.BuiltIn,
			Status: delegation.Suspended, Suspended: true, Marks: &delegation.Marks{Queue: "q"},
		}
		w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "job-big", UID: "w", Labels: map[string]string{delegation.JobUIDLabel: "big"}}}
		w.Spec.Active, w.Spec.QueueName = ptr.To(false), "q"
		var queue kueue.ClusterQueue
		assert.NilError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(`{metadata: {name: q}, spec: {namespaceSelector: {},
  resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: LIMIT}]}]}]}}`, "LIMIT", limit)), &queue))
		if limit == "9000m" {
			queue.Spec.StopPolicy = "Hold"
		}
		var template kueue.PodTemplates
		assert.NilError(t, yaml.Unmarshal([]byte(`{spec: {podSets: [{name: main, count: 1, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 4}}}]}}}]}}`), &template))
		local := &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "q"}}
		local.Spec.ClusterQueue = "q"
		hub := &inspect.Facts{Context: "hub", ClusterUID: "hub", Jobs: []*inspect.Job{job}, Kueue: &inspect.KueueFacts{
			Workloads: []*kueue.Workload{w},
			Capacity: &inspect.Capacity{
				ClusterQueues: []*kueue.ClusterQueue{&queue}, LocalQueues: []*kueue.LocalQueue{local},
				Flavors:    []*kueue.ResourceFlavor{{ObjectMeta: metav1.ObjectMeta{Name: "f"}}},
				Namespaces: map[string]*inspect.Namespace{"ml": {Name: "ml"}}, Templates: map[types.UID]*kueue.PodTemplates{"w": &template},
			},
		}}
		v := inspect.NewInventory(time.Unix(6000, 0), []*inspect.Facts{hub}, nil)
		q := Question{Inventory: v, Pair: inspect.Pair{Origin: job}, Trace: &inspect.Trace{}}
		var texts []string
		for _, f := range q.Answer().Fixes {
			for _, then := range f.Then {
				f.Text += ", then " + then.Text
			}
			texts = append(texts, f.Text)
		}
		assert.DeepEqual(t, texts, want)
	}
}

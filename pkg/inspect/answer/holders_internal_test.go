package answer

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestHolderWithoutReadyPods checks that the answer says that a holder does not run if its Pods have not
// started in time.
func TestHolderWithoutReadyPods(t *testing.T) {
	now := time.Unix(10000, 0)
	pod := func(phase, reason string) []*inspect.Pod {
		return []*inspect.Pod{{Name: "late-a", Namespace: "ml", JobUID: "1", Phase: corev1.PodPhase(phase), Reason: reason}}
	}
	for name, tt := range map[string]struct {
		active, ready int32
		isYoung       bool
		pods          []*inspect.Pod
		want          string
	}{
		"no Pods":                 {0, 0, true, nil, "ml/late holds 2 without running."},
		"Pods may start soon":     {2, 0, true, nil, "ml/late holds 2."},
		"Pods without a node":     {2, 0, true, pod("Pending", corev1.PodReasonUnschedulable), "ml/late holds 2 without running."},
		"Pods that start":         {2, 0, true, pod("Pending", "ContainerCreating"), "ml/late holds 2."},
		"no Pod started in time":  {2, 0, false, nil, "ml/late holds 2 without running."},
		"one Pod started in time": {2, 1, false, nil, "ml/late holds 2."},
		"one Pod runs, not ready": {2, 0, false, pod("Running", ""), "ml/late holds 2."},
	} {
		job := &inspect.Job{
			Context: "w1", ClusterUID: "w1", APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "late", UID: "1",
			Active: tt.active, Ready: ptr.To(tt.ready),
		}
		v := inspect.NewInventory(now, []*inspect.Facts{{Context: "w1", ClusterUID: "w1", Jobs: []*inspect.Job{job}, Pods: tt.pods}}, nil)
		p := *inspect.NewPlacement("w1")
		p.Holders = []inspect.Holder{{Kind: "Job", Namespace: "ml", Name: "late", Resource: "cpu", Amount: "2", Admitted: true, Since: &metav1.Time{Time: now.Add(-time.Hour)}}}
		late := inspect.Finding{Code: podsMissing, Kind: "Job", Young: tt.isYoung, Jobs: []inspect.Ref{inspect.RefOf(job)}}
		q := Question{Inventory: v, Trace: &inspect.Trace{}, Findings: []inspect.Finding{late}}
		assert.Equal(t, q.holder(&p), tt.want, name)
	}
}

// TestHolderByTheClockOfItsCluster checks that a holder that got quota a moment ago, by the clock of its
// cluster, may still run soon.
func TestHolderByTheClockOfItsCluster(t *testing.T) {
	now := time.Unix(10000, 0)
	for ahead, want := range map[time.Duration]string{
		0: "ml/late holds 2.", -time.Hour: "ml/late holds 2.", time.Hour: "ml/late holds 2 without running.",
	} {
		since := now.Add(min(ahead, 0) - time.Second)
		v := inspect.NewInventory(now, []*inspect.Facts{{Context: "w1", Skew: kubecontext.Skew{Known: true, Min: ahead, Max: ahead}}}, nil)
		p := *inspect.NewPlacement("w1")
		p.Holders = []inspect.Holder{{Kind: "Job", Namespace: "ml", Name: "late", Resource: "cpu", Amount: "2", Since: &metav1.Time{Time: since}}}
		q := Question{Inventory: v, Trace: &inspect.Trace{}}
		assert.Equal(t, q.holder(&p), want, ahead)
	}
}

// TestHolderOfTheSameName checks that a finding about a Job whose mirror cannot be created is not about another
// Job of its name, which keeps the mirror from being created, and runs.
func TestHolderOfTheSameName(t *testing.T) {
	late := inspect.Finding{Code: "JM034", Kind: "Job", Context: "hub", Jobs: []inspect.Ref{{Context: "hub", Namespace: "ml", Name: "train"}}}
	for name, tt := range map[string]struct {
		context string
		isLocal bool
		want    string
	}{
		"the copy of the Job": {"w1", false, "ml/train holds 2 without running."},
		"another Job":         {"w1", true, "ml/train holds 2."},
		"the Job itself":      {"hub", true, "ml/train holds 2 without running."},
	} {
		p := *inspect.NewPlacement(tt.context)
		p.Holders = []inspect.Holder{{Kind: "Job", Namespace: "ml", Name: "train", Resource: "cpu", Amount: "2", Admitted: true, IsLocal: tt.isLocal}}
		q := Question{Inventory: inspect.NewInventory(time.Unix(0, 0), nil, nil), Trace: &inspect.Trace{}, Findings: []inspect.Finding{late}}
		assert.Equal(t, q.holder(&p), tt.want, name)
	}
}

package answer

import (
	"strings"
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

// TestHoldersThatAllDoNotRun checks that the answer says of all Jobs that hold quota whether they run, and that its
// fixes do not wait for one that does not.
func TestHoldersThatAllDoNotRun(t *testing.T) {
	now := time.Unix(10000, 0)
	holder := func(name, amount string, isAdmitted bool) inspect.Holder {
		return inspect.Holder{Kind: "Job", Namespace: "ml", Name: name, Resource: "cpu", Amount: amount, Admitted: isAdmitted, Since: &metav1.Time{Time: now.Add(-time.Hour)}}
	}
	for name, tt := range map[string]struct {
		holders []inspect.Holder
		want    string
		waits   bool
	}{
		"all":       {[]inspect.Holder{holder("a", "4", false), holder("b", "3", false), holder("c", "2", false)}, "ml/a holds 4 without running; 2 others hold the rest without running.", false},
		"two":       {[]inspect.Holder{holder("a", "4", false), holder("b", "3", false)}, "ml/a holds 4 without running; ml/b holds 3 without running.", false},
		"the first": {[]inspect.Holder{holder("a", "4", false), holder("b", "3", true), holder("c", "2", true)}, "ml/a holds 4 without running; 2 others hold the rest.", true},
		"the last":  {[]inspect.Holder{holder("a", "4", true), holder("b", "3", true), holder("c", "2", false)}, "ml/a holds 4; ml/c holds 2 without running; 1 other holds the rest.", true},
	} {
		p := *inspect.NewPlacement("w1")
		p.Verdict, p.Reason, p.Holders = inspect.Waits, inspect.QuotaInUse, tt.holders
		q := Question{Inventory: inspect.NewInventory(now, []*inspect.Facts{{Context: "w1"}}, nil), Trace: &inspect.Trace{}}
		assert.Equal(t, q.holder(&p), tt.want, name)
		fixes := q.holderFixes(&p)
		assert.Equal(t, strings.HasPrefix(fixes[len(fixes)-1].Text, "wait for ml/"), tt.waits, name)
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

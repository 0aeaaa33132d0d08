package placement_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// TestFinishedCopy checks that a copy that Kueue ended holds no quota for the Job.
func TestFinishedCopy(t *testing.T) {
	w := parse[world](t, simple("4"))
	worker := w.facts()
	worker.Kueue.Workloads = []*kueue.Workload{parse[*kueue.Workload](t, `{metadata: {namespace: ml, name: own, uid: own-copy, labels: {kueue.x-k8s.io/multikueue-origin: mk}},
 status: {conditions: [{type: QuotaReserved, status: "True", reason: QuotaReserved, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"},
 {type: Finished, status: "True", reason: OutOfSync, message: "The prebuilt workload is out of sync with its user job", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`)}
	hub := hubOf(t, nil)
	hub.Kueue.Clusters = []*kueue.MultiKueueCluster{parse[*kueue.MultiKueueCluster](t, `{metadata: {name: w}}`)}
	v := inspect.NewInventory(time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC), []*inspect.Facts{hub, worker}, nil)
	all := placement.Around(v).Judge(v.Pairs.Pairs[0], nil)
	at := all[len(all)-1]
	assert.Equal(t, at.Verdict, inspect.Never)
	assert.Equal(t, at.Message, "Kueue ended its Workload there (OutOfSync)")
}

// TestUnconnectedWorker checks that a worker that its manager cannot use only waits for the
// connection: neither its quota nor the Jobs that hold it matter before.
func TestUnconnectedWorker(t *testing.T) {
	for name, tt := range map[string]struct {
		worker      string
		reason      inspect.PlacementReason
		needs, free string
	}{
		"free":      {simple("4"), inspect.NotConnected, "2", "4"},
		"used":      {simple("4") + "workloads: [" + holding("q", "a", "f", "4", "0") + "]", inspect.NotConnected, "2", "0"},
		"too small": {simple("1"), inspect.OverLimit, "2", "1"},
		"no node":   {simple("4"), inspect.NoNode, "2", "4"},
	} {
		t.Run(name, func(t *testing.T) {
			w := parse[world](t, tt.worker)
			worker := w.facts()
			worker.Kueue.Workloads = []*kueue.Workload{parse[*kueue.Workload](t, "{metadata: {namespace: ml, name: own, uid: own-copy, labels: {kueue.x-k8s.io/multikueue-origin: mk}}}")}
			if tt.reason == inspect.NoNode {
				worker.Environment = &inspect.Environment{Nodes: []*podfit.Node{{Name: "a", Allocatable: corev1.ResourceList{"cpu": resource.MustParse("1m")}}}}
			}
			hub := hubOf(t, nil)
			hub.Kueue.Clusters = []*kueue.MultiKueueCluster{parse[*kueue.MultiKueueCluster](t, `{metadata: {name: w}, status: {conditions: [
 {type: Active, status: "False", reason: BadKubeConfig, message: "load client config failed: Secret \"w\" not found; connection attempts: 3", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`)}
			v := inspect.NewInventory(time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC), []*inspect.Facts{hub, worker}, nil)
			all := placement.Around(v).Judge(v.Pairs.Pairs[0], nil)
			at := all[len(all)-1]
			assert.Equal(t, at.Reason, tt.reason, at.Message)
			assert.Equal(t, at.Needs+" "+at.Free, tt.needs+" "+tt.free)
			assert.Equal(t, len(at.Holders), 0)
			if tt.reason == inspect.NoNode {
				return
			}
			if tt.reason == inspect.OverLimit {
				assert.Equal(t, len(at.Changes), 0)
				return
			}
			assert.Equal(t, at.Verdict, inspect.Waits)
			assert.Equal(t, at.Message, `hub cannot use it: Secret "w" not found`)
			assert.Equal(t, len(at.Changes), 1)
			assert.Assert(t, strings.HasPrefix(at.Changes[0].Command, "kubectl --context hub describe multikueueclusters.kueue.x-k8s.io w"), at.Changes[0].Command)
		})
	}
}

// TestUnusableWorker checks that a worker on which no Job can run for a reason outside of its quota offers no change of its
// quota, and no end of another Job.
func TestUnusableWorker(t *testing.T) {
	full := simple("4") + "workloads: [" + holding("q", "a", "f", "4", "0") + "]"
	refuse := func(fix string) func(*inspect.Facts, *placement.Request) {
		return func(_ *inspect.Facts, r *placement.Request) {
			r.Check("w").Refused, r.Check("w").RefusedFix = "no", fix
		}
	}
	drop := func(hub *inspect.Facts, _ *placement.Request) { hub.Kueue.Clusters = nil }
	for name, tt := range map[string]struct {
		worker string
		edit   func(*inspect.Facts, *placement.Request)
		reason inspect.PlacementReason
		change string
	}{
		"missing":               {full, drop, inspect.NotConnected, "create MultiKueueCluster w on hub, with its manifest in FILE"},
		"missing and too small": {simple("1"), drop, inspect.OverLimit, ""},
		"taken":                 {full, func(_ *inspect.Facts, r *placement.Request) { r.Check("w").IsTaken = true }, inspect.NameTaken, "submit it under another name"},
		"refused":               {full, refuse(""), inspect.RefusedByServer, ""},
		"refused with a fix":    {full, refuse("change it"), inspect.RefusedByServer, "change it"},
	} {
		t.Run(name, func(t *testing.T) {
			w, hub := parse[world](t, tt.worker), hubOf(t, nil)
			hub.Kueue.Checks = []*kueue.AdmissionCheck{parse[*kueue.AdmissionCheck](t,
				"{metadata: {name: mk}, spec: {controllerName: kueue.x-k8s.io/multikueue, parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: mk}}}")}
			hub.Kueue.Configs = []*kueue.MultiKueueConfig{parse[*kueue.MultiKueueConfig](t, "{metadata: {name: mk}, spec: {clusters: [w]}}")}
			hub.Kueue.Capacity.ClusterQueues[0].Spec.AdmissionChecks = []string{"mk"}
			j := parse[batchv1.Job](t, pods("1", "cpu: 2"))
			j.Namespace = "ml"
			r := placement.OfJob(&j, "q")
			r.Owner = delegation.MultiKueue
			clusters := []*inspect.Facts{hub, w.facts()}
			clusters[1].Kueue.Workloads = []*kueue.Workload{parse[*kueue.Workload](t, "{metadata: {namespace: ml, name: own, uid: own-copy, labels: {kueue.x-k8s.io/multikueue-origin: mk}}}")}
			tt.edit(hub, &r)
			all := placement.Submit(inspect.NewInventory(time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC), clusters, nil), &r)
			at := all[len(all)-1]
			assert.Equal(t, at.Cluster, "w")
			assert.Equal(t, at.Verdict, inspect.Never, at.Message)
			assert.Equal(t, at.Reason, tt.reason, at.Message)
			assert.Equal(t, len(at.Holders), 0)
			var changes []string
			for _, c := range at.Changes {
				changes = append(changes, c.Message)
			}
			assert.Equal(t, strings.Join(changes, "; "), tt.change)
		})
	}
}

// TestRemovedWorker checks that a worker that was removed from the MultiKueueConfig is no place for a Job, although
// it was offered the Job before. If the configs could not be read, it may be one.
func TestRemovedWorker(t *testing.T) {
	for name, tt := range map[string]struct {
		clusters string
		unread   bool
		want     []string
	}{
		"configured":           {"[other, w]", false, []string{"w", "other"}},
		"removed":              {"[other]", false, []string{"other"}},
		"configs not all read": {"[other]", true, []string{"w", "other"}},
	} {
		w := parse[world](t, simple("4"))
		hub := hubOf(t, nil)
		hub.Kueue.Checks = []*kueue.AdmissionCheck{parse[*kueue.AdmissionCheck](t,
			"{metadata: {name: mk}, spec: {controllerName: kueue.x-k8s.io/multikueue, parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: mk}}}")}
		hub.Kueue.Configs = []*kueue.MultiKueueConfig{parse[*kueue.MultiKueueConfig](t, "{metadata: {name: mk}, spec: {clusters: "+tt.clusters+"}}")}
		hub.Kueue.Capacity.ClusterQueues[0].Spec.AdmissionChecks = []string{"mk"}
		if tt.unread {
			hub.Gaps = map[inspect.Part]error{inspect.PartConfigs: errors.New("refused")}
		}
		v := inspect.NewInventory(time.Unix(0, 0), []*inspect.Facts{hub, w.facts()}, nil)
		var names []string
		for _, p := range placement.Around(v).Judge(v.Pairs.Pairs[0], nil) {
			names = append(names, p.Cluster)
		}
		assert.Check(t, slices.Equal(names, tt.want), "%s: %v", name, names)
	}
}

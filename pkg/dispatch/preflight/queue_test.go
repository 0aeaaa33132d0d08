package preflight

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// withKueue returns a cluster that serves one version of Kueue's API, with its own queue and
// queues of MultiKueue. With version "", the cluster has no Kueue.
func withKueue(t *testing.T, version string) Probe {
	t.Helper()
	server := dispatchtest.NewServer(t)
	server.Before = func(r *http.Request) *apierrors.StatusError {
		if strings.HasSuffix(r.URL.Path, "/clusterqueues/hidden") {
			return apierrors.NewForbidden(schema.GroupResource{Group: "kueue.x-k8s.io", Resource: "clusterqueues"}, "hidden", errors.New("no"))
		}
		if version == "" || !strings.HasPrefix(r.URL.Path, "/apis/kueue.x-k8s.io/"+version+"/") {
			return apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{}, "", "", 0, true)
		}
		return nil
	}
	for _, o := range []struct{ resource, text string }{
		{"localqueues", `{apiVersion: v, kind: LocalQueue, metadata: {name: own, namespace: ml}, spec: {clusterQueue: own}}`},
		{"localqueues", `{apiVersion: v, kind: LocalQueue, metadata: {name: far, namespace: ml}, spec: {clusterQueue: far}}`},
		{"localqueues", `{apiVersion: v, kind: LocalQueue, metadata: {name: old, namespace: ml}, spec: {clusterQueue: old}}`},
		{"localqueues", `{apiVersion: v, kind: LocalQueue, metadata: {name: stopped, namespace: ml}, spec: {clusterQueue: own, stopPolicy: HoldAndDrain}}`},
		{"localqueues", `{apiVersion: v, kind: LocalQueue, metadata: {name: above, namespace: ml}, spec: {clusterQueue: stopped, stopPolicy: None}}`},
		{"localqueues", `{apiVersion: v, kind: LocalQueue, metadata: {name: broken, namespace: ml}, spec: {clusterQueue: broken}}`},
		{"localqueues", `{apiVersion: v, kind: LocalQueue, metadata: {name: hidden, namespace: ml}, spec: {clusterQueue: hidden},
			status: {conditions: [{type: Active, status: "False", reason: ClusterQueueIsInactive, message: Can't submit new workloads to clusterQueue}]}}`},
		{"clusterqueues", `{apiVersion: v, kind: ClusterQueue, metadata: {name: stopped}, spec: {stopPolicy: Hold}}`},
		{"clusterqueues", `{apiVersion: v, kind: ClusterQueue, metadata: {name: broken}, status: {conditions: [{type: Active, status: "False", reason: FlavorNotFound, message: "it lacks a100"}]}}`},
		{"clusterqueues", `{apiVersion: v, kind: ClusterQueue, metadata: {name: own}, spec: {admissionChecksStrategy: {admissionChecks: [{name: other}]}}}`},
		{"clusterqueues", `{apiVersion: v, kind: ClusterQueue, metadata: {name: far}, spec: {admissionChecksStrategy: {admissionChecks: [{name: other}, {name: mk}]}}}`},
		{"clusterqueues", `{apiVersion: v, kind: ClusterQueue, metadata: {name: old}, spec: {admissionChecks: [mk]}}`},
		{"admissionchecks", `{apiVersion: v, kind: AdmissionCheck, metadata: {name: mk}, spec: {controllerName: kueue.x-k8s.io/multikueue}}`},
		{"admissionchecks", `{apiVersion: v, kind: AdmissionCheck, metadata: {name: other}, spec: {controllerName: example.com/other}}`},
	} {
		server.Create(t, schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: version, Resource: o.resource}, dispatchtest.FromYAML(t, o.text))
	}
	return NewProbe(server.Cluster(t, "hub"))
}

// TestQueues checks what preflight says about queues on either side.
func TestQueues(t *testing.T) {
	for _, tt := range []struct{ name, version, queue, here, there string }{
		{"no queue", "v1beta2", "", "", ""},
		{"no Kueue", "", "own", "", "has no effect there"},
		{"its own", "v1beta2", "own", "until this cluster has quota", ""},
		{"MultiKueue's", "v1beta2", "far", "stay suspended", "rejects mirrors"},
		{"MultiKueue's, of old", "v1beta1", "old", "stay suspended", "rejects mirrors"},
		{"none of that name", "v1beta1", "none", "does not exist", "does not exist"},
		{"stopped", "v1beta2", "stopped", "is stopped (HoldAndDrain), so Kueue keeps the Job and its mirror suspended", "is stopped (HoldAndDrain): Kueue keeps the mirror suspended"},
		{"below a stopped one", "v1beta2", "above", "belongs to ClusterQueue stopped, which is stopped (Hold)", "belongs to ClusterQueue stopped, which is stopped (Hold)"},
		{"below a broken one", "v1beta1", "broken", "belongs to ClusterQueue broken, which is inactive (it lacks a100)", "which is inactive (it lacks a100)"},
		{"below one that may not be read", "v1beta2", "hidden", "is inactive (Can't submit", "is inactive (Can't submit new workloads to clusterQueue)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cluster := withKueue(t, tt.version)
			job := dispatchtest.SmallJob(t)
			if tt.queue != "" {
				job.SetLabels(map[string]string{delegation.QueueNameLabel: tt.queue})
			}
			c := &check{kind: delegation.Job(), mirror: job, Request: Request{Origin: job}, origin: cluster, worker: cluster}
			for want, found := range map[string][]Problem{tt.here: c.originQueue(t.Context()), tt.there: c.mirrorQueue(t.Context())} {
				if want == "" {
					assert.Equal(t, len(found), 0, "%v", found)
					continue
				}
				assert.Equal(t, len(found), 1)
				assert.Assert(t, strings.Contains(found[0].Message, want), "%v", found)
				assert.Equal(t, found[0].Object.String(), "LocalQueue ml/"+tt.queue)
				assert.Equal(t, found[0].Blocking, want == "stay suspended", "nothing is created that never runs")
			}
		})
	}
}

// TestResumesQueue checks that the fix of a stopped queue changes the queue that is stopped.
func TestResumesQueue(t *testing.T) {
	for queue, want := range map[string]string{
		"stopped": "kubectl --context hub -n ml patch localqueues.kueue.x-k8s.io stopped ",
		"above":   "kubectl --context hub patch clusterqueues.kueue.x-k8s.io stopped ",
		"broken":  "kubectl --context hub describe clusterqueues.kueue.x-k8s.io broken",
	} {
		cluster := withKueue(t, "v1beta2")
		job := dispatchtest.SmallJob(t)
		job.SetLabels(map[string]string{delegation.QueueNameLabel: queue})
		c := &check{kind: delegation.Job(), mirror: job, worker: cluster}
		remedy := string(c.mirrorQueue(t.Context())[0].Remedy)
		assert.Assert(t, strings.Contains(remedy, want), remedy)
	}
}

// TestLeavesMultiKueuesQueue checks that the fix takes the origin out of the queue and resumes
// it, because Kueue does not.
func TestLeavesMultiKueuesQueue(t *testing.T) {
	cluster := withKueue(t, "v1beta2")
	job := dispatchtest.SmallJob(t)
	job.SetLabels(map[string]string{delegation.QueueNameLabel: "far"})
	dispatchtest.Set(t, job, "spec.suspend", true)
	c := &check{kind: delegation.Job(), mirror: job, Request: Request{Origin: job}, origin: cluster, worker: cluster}
	fixes := c.originQueue(t.Context())[0].Remedy.Fixes()
	assert.Equal(t, len(fixes), 2)
	assert.Equal(t, len(fixes[0].Then), 1)
	for got, want := range map[string]string{
		fixes[0].Shell(): " label job ", strings.Join(fixes[0].Then[0].Command, " "): `{"spec":{"suspend":false}}`, fixes[1].Shell(): " recreate ",
	} {
		assert.Assert(t, strings.Contains(got, want), got)
	}
}

// TestIsHeld checks a mirror that a webhook on the worker suspends at its creation.
func TestIsHeld(t *testing.T) {
	job := dispatchtest.SmallJob(t)
	held := job.DeepCopy()
	dispatchtest.Set(t, held, "spec.suspend", true)
	c := &check{kind: delegation.Job(), mirror: job, worker: Probe{Cluster: &fleet.Cluster{Context: "there"}}}
	assert.Equal(t, len(c.heldByWebhook(job)), 0)
	assert.Equal(t, len(c.heldByWebhook(held)), 1)
	c.mirror = held
	assert.Equal(t, len(c.heldByWebhook(held)), 0, "as its user wants it")
}

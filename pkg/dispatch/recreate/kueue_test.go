package recreate_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/recreate"
)

func fromText(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	assert.NilError(t, yaml.Unmarshal([]byte(text), &o.Object))
	// This converts numbers to the types of a server's answer.
	encoded, err := o.MarshalJSON()
	if err == nil {
		assert.NilError(t, o.UnmarshalJSON(encoded))
	}
	return o
}

// started is a Job as Kueue has started it: with the labels and tolerations of a flavor,
// additions of an admission check, gates, and fewer Pods than requested.
const started = `
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  namespace: ml
  uid: u
  labels: {kueue.x-k8s.io/queue-name: gpus}
  annotations: {kueue.x-k8s.io/stopping: "true", kueue.x-k8s.io/job-min-parallelism: "2", kueue.x-k8s.io/job-completions-equal-parallelism: "true"}
spec:
  suspend: true
  managedBy: kueue.x-k8s.io/multikueue
  parallelism: 2
  completions: 2
  template:
    metadata:
      labels: {team: ml, kueue.x-k8s.io/podset: main, from-check: "1"}
      annotations: {autoscaling: consumed}
    spec:
      containers: [{name: main, image: busybox}]
      nodeSelector: {disk: ssd, pool: spot}
      tolerations: [{key: mine, operator: Exists}, {key: spot, operator: Exists}]
      schedulingGates: [{name: kueue.x-k8s.io/topology}, {name: example.com/wait}]
`

const workloadOf = `
apiVersion: kueue.x-k8s.io/v1beta2
kind: Workload
metadata: {name: job-train-1, namespace: ml, uid: w, labels: {kueue.x-k8s.io/job-uid: u}, creationTimestamp: "2026-08-20T09:00:00Z"}
spec:
  podSets:
  - name: main
    count: 4
    template:
      metadata: {labels: {team: ml}}
      spec:
        containers: [{name: main, image: busybox, resources: {requests: {cpu: "1"}}}]
        nodeSelector: {disk: ssd}
        tolerations: [{key: mine, operator: Exists}]
        schedulingGates: [{name: example.com/wait}]
status:
  admissionChecks:
  - name: provisioning
    state: Ready
    podSetUpdates: [{name: main, labels: {from-check: "1", team: ml}, annotations: {autoscaling: consumed}, nodeSelector: {pool: spot}}]
`

// TestReplacementRevertsKueue checks that the new Job and a restored one are as
// their author wrote them.
func TestReplacementRevertsKueue(t *testing.T) {
	r, err := recreate.New(fromText(t, started), recreate.Options{
		Context: "management", ManagedBy: "example.com/runner", Submitted: recreate.Submitted{Workload: fromText(t, workloadOf)},
	})
	assert.NilError(t, err)
	for name, job := range map[string]*unstructured.Unstructured{"new": r.New, "restored": r.Restore} {
		assert.Equal(t, job.GetAnnotations()[delegation.KueueStopping], "", name)
		spec, _ := job.Object["spec"].(map[string]any)
		assert.Equal(t, spec["parallelism"], int64(4), name)
		assert.Equal(t, spec["completions"], int64(4), name)
		var want any
		assert.NilError(t, yaml.Unmarshal([]byte(`
metadata: {labels: {team: ml}}
spec:
  containers: [{name: main, image: busybox}]
  nodeSelector: {disk: ssd}
  tolerations: [{key: mine, operator: Exists}]
  schedulingGates: [{name: example.com/wait}]
`), &want))
		assert.DeepEqual(t, spec["template"], want)
	}
	var fields []string
	for _, c := range r.Changes {
		fields = append(fields, string(c.Action)+" "+c.Field)
	}
	for _, want := range []string{
		"set spec.template.spec.nodeSelector", "set spec.template.spec.tolerations", "set spec.parallelism", "set spec.completions",
		"removed spec.template.metadata.labels[from-check]", "removed metadata.annotations[kueue.x-k8s.io/stopping]",
	} {
		assert.Assert(t, strings.Contains(strings.Join(fields, "\n"), want), "%s is told in\n%s", want, strings.Join(fields, "\n"))
	}
	assert.Assert(t, !strings.Contains(strings.Join(r.Warnings, "\n"), "placement fields"), "%q", r.Warnings)
}

// TestReplacementWithoutWorkload checks that without the Workload, fields are kept
// that the author may have set.
func TestReplacementWithoutWorkload(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "kueue.x-k8s.io", Resource: "workloads"}, "", errors.New("no user may"))
	other := strings.ReplaceAll(workloadOf, "busybox", "another")
	for name, tt := range map[string]struct {
		submitted recreate.Submitted
		want      string
	}{
		"forbidden":         {recreate.Submitted{Unread: forbidden}, "its Workload could not be read"},
		"gone":              {recreate.Submitted{}, "it has no Workload"},
		"of something else": {recreate.Submitted{Workload: fromText(t, other)}, "no Pod set of Workload job-train-1 comes from it"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := recreate.New(fromText(t, started), recreate.Options{Context: "management", ManagedBy: "", Submitted: tt.submitted})
			assert.NilError(t, err)
			warnings := strings.Join(r.Warnings, "\n")
			assert.Assert(t, strings.Contains(warnings, tt.want), warnings)
			assert.Assert(t, strings.Contains(warnings, "spec.template.spec.nodeSelector, spec.template.spec.tolerations"), warnings)
			kept, _, _ := unstructured.NestedStringMap(r.New.Object, "spec", "template", "spec", "nodeSelector")
			assert.DeepEqual(t, kept, map[string]string{"disk": "ssd", "pool": "spot"})
			gates, _, _ := unstructured.NestedSlice(r.New.Object, "spec", "template", "spec", "schedulingGates")
			assert.Equal(t, len(gates), 1, "Kueue's own gate is told by its name: %v", gates)
		})
	}
	// A Job that waits in its queue is as its author wrote it.
	waiting := fromText(t, started)
	unstructured.RemoveNestedField(waiting.Object, "metadata", "annotations", delegation.KueueStopping)
	unstructured.RemoveNestedField(waiting.Object, "spec", "template", "metadata", "labels", "kueue.x-k8s.io/podset")
	r, err := recreate.New(waiting, recreate.Options{Context: "management", ManagedBy: "example.com/runner"})
	assert.NilError(t, err)
	assert.Assert(t, !strings.Contains(strings.Join(r.Warnings, "\n"), "placement fields"), "%q", r.Warnings)
}

// TestReplacementOfSeveralTemplates checks that each Pod template is restored from the pod set
// with the same containers, or with its name.
func TestReplacementOfSeveralTemplates(t *testing.T) {
	const template = `{spec: {containers: [{name: main, image: IMAGE}], nodeSelector: {role: ROLE, pool: spot}}}`
	fill := func(image, role string) string {
		return strings.NewReplacer("IMAGE", image, "ROLE", role).Replace(template)
	}
	k, old := ofKind(t, "pytorchjob", `{metadata: {labels: {kueue.x-k8s.io/queue-name: gpus}}, spec: {pytorchReplicaSpecs: {
		Master: {template: `+fill("one", "head")+`}, Worker: {template: `+fill("one", "hand")+`}}}}`)
	workload := fromText(t, `{kind: Workload, spec: {podSets: [
		{name: master, count: 1, template: {spec: {containers: [{name: main, image: one}], nodeSelector: {role: head}}}},
		{name: worker, count: 1, template: {spec: {containers: [{name: main, image: one}], nodeSelector: {role: hand}}}}]}}`)
	r, err := recreate.New(old, recreate.Options{Kind: k, ManagedBy: string(delegation.MultiKueue), Submitted: recreate.Submitted{Workload: workload}})
	assert.NilError(t, err)
	for replica, role := range map[string]string{"Master": "head", "Worker": "hand"} {
		got, _, _ := unstructured.NestedStringMap(r.New.Object, "spec", "pytorchReplicaSpecs", replica, "template", "spec", "nodeSelector")
		assert.DeepEqual(t, got, map[string]string{"role": role})
	}
}

// TestFindSubmitted checks that no unnecessary request is sent, and that a missing right is
// returned.
func TestFindSubmitted(t *testing.T) {
	older := fromText(t, strings.NewReplacer("job-train-1", "job-train-0", "2026-08-20", "2026-08-19").Replace(workloadOf))
	server := dispatchtest.NewServer(t)
	// Kueue tries variants of a Workload at the same time. Their labels are the same.
	variant := fromText(t, strings.NewReplacer("job-train-1", "job-train-1-spot", "2026-08-20", "2026-08-21").Replace(workloadOf))
	variant.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "kueue.x-k8s.io/v1beta2", Kind: "Workload", Name: "job-train-1", UID: "w", Controller: new(true)}})
	for _, workload := range []*unstructured.Unstructured{older, fromText(t, workloadOf), variant} {
		server.Create(t, schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "workloads"}, workload)
	}
	cluster := server.Cluster(t, "management")
	found := recreate.FindSubmitted(t.Context(), cluster, delegation.Job(), fromText(t, started))
	assert.NilError(t, found.Unread)
	assert.Equal(t, found.Workload.GetName(), "job-train-1")

	requests := 0
	server.Before = func(*http.Request) *apierrors.StatusError {
		requests++
		return apierrors.NewForbidden(schema.GroupResource{Resource: "workloads"}, "", errors.New("no user may"))
	}
	idle := fromText(t, started)
	unstructured.RemoveNestedField(idle.Object, "metadata", "annotations", delegation.KueueStopping)
	assert.Equal(t, recreate.FindSubmitted(t.Context(), cluster, delegation.Job(), idle), recreate.Submitted{})
	assert.Equal(t, requests, 0, "a waiting Job needs no request for its Workload")

	found = recreate.FindSubmitted(t.Context(), cluster, delegation.Job(), fromText(t, started))
	assert.Assert(t, apierrors.IsForbidden(found.Unread), "%v", found.Unread)
}

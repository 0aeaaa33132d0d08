package plan

import (
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
)

// TestDriftOfAnyKind checks that only labels, annotations and the suspending field are copied.
func TestDriftOfAnyKind(t *testing.T) {
	for name, tt := range map[string]struct {
		kind, planned, before, mirror string
		want                          Drift
	}{
		"nothing": {kind: "jobset", planned: `{spec: {suspend: false}}`, mirror: `{spec: {suspend: false, defaulted: 1}}`},
		"suspended": {
			kind: "jobset", planned: `{spec: {suspend: true}}`, mirror: `{spec: {suspend: false}}`,
			want: Drift{Patch: map[string]any{"spec": map[string]any{"suspend": true}}, Fields: []string{"spec.suspend=true"}},
		},
		"resumed": {
			kind: "pytorchjob", planned: `{spec: {runPolicy: {suspend: false}}}`, mirror: `{spec: {runPolicy: {suspend: true, backoffLimit: 1}}}`,
			want: Drift{Patch: map[string]any{"spec": map[string]any{"runPolicy": map[string]any{"suspend": false}}}, Fields: []string{"spec.runPolicy.suspend=false"}},
		},
		"resumed by removing the field": {
			kind: "jobset", planned: `{spec: {a: 1}}`, before: `{spec: {a: 1, suspend: true}}`, mirror: `{spec: {a: 1, suspend: true}}`,
			want: Drift{Patch: map[string]any{"spec": map[string]any{"suspend": nil}}, Fields: []string{"spec.suspend=null"}},
		},
		"false equals unset": {kind: "jobset", planned: `{spec: {suspend: false}}`, mirror: `{spec: {}}`},
		"a run that waits": {
			kind: "pipelinerun", planned: `{spec: {status: PipelineRunPending}}`, mirror: `{spec: {}}`,
			want: Drift{Patch: map[string]any{"spec": map[string]any{"status": "PipelineRunPending"}}, Fields: []string{"spec.status=PipelineRunPending"}},
		},
		"a run that continues": {
			kind: "pipelinerun", planned: `{spec: {a: 1}}`, mirror: `{spec: {a: 1, status: PipelineRunPending}}`,
			want: Drift{Patch: map[string]any{"spec": map[string]any{"status": nil}}, Fields: []string{"spec.status=null"}},
		},
		"a run that the user cancels": {
			kind: "pipelinerun", planned: `{spec: {status: Cancelled}}`, mirror: `{spec: {}}`,
			want: Drift{Patch: map[string]any{"spec": map[string]any{"status": "Cancelled"}}, Fields: []string{"spec.status=Cancelled"}},
		},
		"a run that a user of the worker cancels": {kind: "pipelinerun", planned: `{spec: {}}`, mirror: `{spec: {status: Cancelled}}`},
		"in a queue": {
			kind: "jobset", planned: `{spec: {suspend: false}}`, mirror: `{metadata: {labels: {kueue.x-k8s.io/queue-name: q}}, spec: {suspend: true}}`,
			want: Drift{Foreign: []string{"spec.suspend"}},
		},
		"what the API server writes again": {kind: "trainjob", planned: `{spec: {}}`, mirror: `{spec: {managedBy: trainer.kubeflow.org/trainjob-controller}}`},
		"labels and annotations": {
			kind: "jobset", planned: `{metadata: {labels: {team: b, jobmanagedby.github.io/origin-uid: u, job-name: mine}, annotations: {note: x}}, spec: {}}`,
			before: `{metadata: {labels: {team: a, old: "1"}}, spec: {}}`,
			mirror: `{metadata: {labels: {team: a, old: "1", theirs: "1", jobmanagedby.github.io/origin-uid: u}}, spec: {}}`,
			want: Drift{
				Patch: map[string]any{"metadata": map[string]any{
					"labels": map[string]any{"team": "b", "old": nil, "job-name": "mine"}, "annotations": map[string]any{"note": "x"},
				}},
				Fields: []string{"metadata.annotations[note]=x", "metadata.labels[job-name]=mine", "metadata.labels[old]=null", "metadata.labels[team]=b"},
			},
		},
		"annotations that are not copied": {
			kind: "jobset", planned: `{spec: {suspend: true, failurePolicy: {maxRestarts: 4}, network: {}}}`,
			before: `{spec: {suspend: true, failurePolicy: {maxRestarts: 3}, network: {}}}`, mirror: `{spec: {suspend: true, failurePolicy: {maxRestarts: 3}}}`,
			want: Drift{Unshared: []string{"spec.failurePolicy.maxRestarts=4"}},
		},
		"of a kind that nothing is known of": {kind: "", planned: `{spec: {suspend: true}}`, mirror: `{spec: {}}`},
	} {
		t.Run(name, func(t *testing.T) {
			k, known := delegation.KindNamed(tt.kind)
			if !known {
				k = delegation.DiscoveredKind(dispatchtest.AsServed(t, `{apiVersion: example.com/v1, kind: Widget}`).GroupVersionKind(), "widgets", nil, []string{"spec", "managedBy"})
			}
			planned, mirror := dispatchtest.AsServed(t, tt.planned), dispatchtest.AsServed(t, tt.mirror)
			var before *unstructured.Unstructured
			if tt.before != "" {
				before = dispatchtest.AsServed(t, tt.before)
			}
			got := DriftOf(k, planned, before, mirror)
			assert.DeepEqual(t, got, tt.want)
			assert.DeepEqual(t, mirror.Object, dispatchtest.AsServed(t, tt.mirror).Object)
			// One write is enough.
			if got.Patch != nil {
				is := dispatchtest.Patched(t, mirror, got.Patch)
				assert.Assert(t, DriftOf(k, planned, got.Written(planned, before), is).Patch == nil)
			}
		})
	}
}

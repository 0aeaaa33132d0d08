package recreate_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/recreate"
)

// ofKind returns a stored object of a known kind.
func ofKind(t *testing.T, name, text string) (delegation.Kind, *unstructured.Unstructured) {
	t.Helper()
	k, known := delegation.KindNamed(name)
	assert.Assert(t, known)
	o := &unstructured.Unstructured{}
	assert.NilError(t, yaml.Unmarshal([]byte(text), &o.Object))
	o.SetGroupVersionKind(k.GroupVersionKind())
	o.SetName("train")
	o.SetNamespace("ml")
	o.SetUID("u")
	return k, o
}

// TestReplacementOfKinds checks that the owner, and the fields that Kueue needs, are set in the
// fields of each kind.
func TestReplacementOfKinds(t *testing.T) {
	multiKueue := string(delegation.MultiKueue)
	for name, tt := range map[string]struct {
		kind, text, to string
		queue          *string
		want           string
		warnings       string
	}{
		"to dispatch": {"jobset", `{spec: {suspend: false}}`, string(delegation.Dispatch), nil, `{suspend: false, managedBy: jobmanagedby.github.io/dispatch}`, ""},
		"to its own controller": {
			"pytorchjob", `{spec: {runPolicy: {managedBy: kueue.x-k8s.io/multikueue, suspend: true}}}`, "", new(""), `{runPolicy: {suspend: true}}`,
			`Kueue suspended the PyTorchJob (spec.runPolicy.suspend), and no controller will resume it. To resume it: ` + "`" + `kubectl --context management -n ml patch pytorchjobs.kubeflow.org train --type=merge -p '{"spec":{"runPolicy":{"suspend":false}}}'` + "`.",
		},
		"to MultiKueue": {"jaxjob", `{spec: {}}`, multiKueue, new("q"), `{runPolicy: {managedBy: kueue.x-k8s.io/multikueue, suspend: true}}`, ""},
		"a run to MultiKueue": {
			"pipelinerun", `{spec: {}}`, multiKueue, new("q"), `{managedBy: kueue.x-k8s.io/multikueue, status: PipelineRunPending}`, "",
		},
		"a run from MultiKueue": {
			"pipelinerun", `{spec: {managedBy: kueue.x-k8s.io/multikueue, status: PipelineRunPending}}`, "", nil, `{status: PipelineRunPending}`,
			"To resume it: `kubectl --context management -n ml patch pipelineruns.tekton.dev train --type=merge -p '{\"spec\":{\"status\":null}}'`.",
		},
		"ended": {
			"trainjob", `{spec: {managedBy: trainer.kubeflow.org/trainjob-controller}, status: {conditions: [{type: Complete, status: "True"}]}}`, "", nil, `{}`,
			"The TrainJob is Complete: the new one runs its Pods again, from the start.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, old := ofKind(t, tt.kind, tt.text)
			r, err := recreate.New(old, recreate.Options{Context: "management", Kind: k, ManagedBy: tt.to, Queue: tt.queue})
			assert.NilError(t, err)
			var want map[string]any
			assert.NilError(t, yaml.Unmarshal([]byte(tt.want), &want))
			assert.DeepEqual(t, r.New.Object["spec"], any(want))
			assert.Assert(t, r.New.GetUID() == "" && r.New.Object["status"] == nil)
			assert.Assert(t, strings.Contains(strings.Join(r.Warnings, "\n"), tt.warnings) && (tt.warnings != "" || len(r.Warnings) == 0), "%q", r.Warnings)
			assert.Equal(t, r.BackupName(time.Date(2026, 8, 20, 9, 0, 0, 0, time.UTC)), tt.kind+"-ml-train-20260820T090000Z.yaml")
		})
	}
}

func TestReplacementOfKindsRefused(t *testing.T) {
	ours := string(delegation.Dispatch)
	for name, tt := range map[string]struct{ kind, text, to, want string }{
		"an owner that is not allowed": {
			"trainjob", `{spec: {}}`, ours,
			"trainjob ml/train cannot be managed by jobmanagedby.github.io/dispatch: its API allows for spec.managedBy only trainer.kubeflow.org/trainjob-controller and kueue.x-k8s.io/multikueue",
		},
		"a template":      {"cronjob", `{spec: {}}`, ours, "cronjob ml/train does not run itself: its spec.jobTemplate.spec.managedBy is for the objects that it creates"},
		"unmanaged":       {"pod", `{spec: {}}`, ours, "pod ml/train has no managedBy field"},
		"nothing to do":   {"jobset", `{spec: {managedBy: jobset.sigs.k8s.io/jobset-controller}}`, "", "jobset ml/train is already managed by the built-in controller"},
		"running":         {"jobset", `{spec: {}, status: {replicatedJobsStatus: [{name: a, ready: 1}]}}`, ours, "jobset ml/train is running; wait for its end"},
		"running a while": {"taskrun", `{spec: {}, status: {startTime: "2026-08-20T09:00:00Z"}}`, ours, "taskrun ml/train is running since 2026-08-20T09:00:00Z"},
		"dispatched": {
			"jobset", `{metadata: {annotations: {jobmanagedby.github.io/mirror: c/ml/train/u}}, spec: {}}`, "example.com/runner",
			"end that first: `kubectl jobs-managedby cancel jobset/train -n ml --context management`; --force leaves the mirror where it is, and the JobSet may run twice",
		},
		"no queue": {"jobset", `{spec: {}}`, string(delegation.MultiKueue), "jobset ml/train is in no queue"},
		"of another": {
			"jobset", `{metadata: {ownerReferences: [{apiVersion: v1, kind: Workflow, name: w, uid: w, controller: true}]}, spec: {}}`, ours,
			"set the owner there, in the template of its JobSets; --force replaces this JobSet alone, and leaves it to Workflow w",
		},
	} {
		t.Run(name, func(t *testing.T) {
			k, old := ofKind(t, tt.kind, tt.text)
			_, err := recreate.New(old, recreate.Options{Context: "management", Kind: k, ManagedBy: tt.to})
			var refused *plan.RefusedError
			assert.Assert(t, errors.As(err, &refused), "%v", err)
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

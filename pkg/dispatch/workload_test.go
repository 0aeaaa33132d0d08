package dispatch

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// specimen is an object of a kind as its controller leaves it.
type specimen struct {
	kind   delegation.Kind
	state  string
	object *unstructured.Unstructured
}

func (s specimen) name() string { return s.kind.Name + "." + s.kind.Resource.Version + "/" + s.state }

// specimens are those of all kinds but Job, in all their states.
func specimens(t *testing.T) []specimen {
	t.Helper()
	folder := os.DirFS("../delegation/testdata/kinds")
	files, err := fs.Glob(folder, "*/*.yaml")
	assert.NilError(t, err)
	var all []specimen
	for _, file := range files {
		text, err := fs.ReadFile(folder, file)
		assert.NilError(t, err)
		o := asServed(t, string(text))
		if k := kindFor(o.GroupVersionKind()); !k.IsJob() {
			all = append(all, specimen{k, strings.TrimSuffix(path.Base(file), ".yaml"), o})
		}
	}
	assert.Assert(t, len(all) > 50)
	return all
}

// asServed is an object as a server would give it, with whole numbers.
func asServed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(text))
	assert.NilError(t, err)
	o := &unstructured.Unstructured{}
	assert.NilError(t, utiljson.Unmarshal(content, &o.Object))
	return o
}

func kindFor(gvk schema.GroupVersionKind) delegation.Kind {
	if k, known := delegation.KindOf(gvk); known {
		return k
	}
	return delegation.DiscoveredKind(gvk, strings.ToLower(gvk.Kind)+"s", nil, []string{"spec", "managedBy"})
}

// written is an object after its status was patched.
func written(t *testing.T, o *unstructured.Unstructured, status any) *unstructured.Unstructured {
	t.Helper()
	return patched(t, o, map[string]any{"status": status})
}

// patched is an object after a merge patch.
func patched(t *testing.T, o *unstructured.Unstructured, patch map[string]any) *unstructured.Unstructured {
	t.Helper()
	was, err := json.Marshal(o.Object)
	assert.NilError(t, err)
	text, err := json.Marshal(patch)
	assert.NilError(t, err)
	is, err := jsonpatch.MergePatch(was, text)
	assert.NilError(t, err)
	return asServed(t, string(is))
}

// TestEnded has every specimen end as its name says, and those of kinds that never
// do go on.
func TestEnded(t *testing.T) {
	for _, s := range specimens(t) {
		t.Run(s.name(), func(t *testing.T) {
			how := ended(s.kind, s.object)
			complete, failed := strings.HasPrefix(s.state, "succeeded"), strings.HasPrefix(s.state, "failed")
			if !complete && !failed || neverEnds(s.kind) {
				assert.Assert(t, how == nil, "%+v", how)
				return
			}
			assert.Assert(t, how != nil)
			assert.Equal(t, how.failed, failed)
		})
	}
	for _, k := range delegation.Kinds() {
		never := slices.Contains([]string{"cronjob", "raycluster", "rayservice", "raycronjob", "statefulset", "leaderworkerset"}, k.Name)
		assert.Equal(t, neverEnds(k), never, k.Name)
	}
}

func TestEndedTellsWhy(t *testing.T) {
	rayJob, _ := delegation.KindNamed("rayjob")
	jobSet, _ := delegation.KindNamed("jobset")
	how := ended(jobSet, asServed(t, `{status: {conditions: [{type: Suspended, status: "False"}, {type: Failed, status: "True", reason: FailedJobs, message: because, lastTransitionTime: "2026-08-20T09:00:00Z"}]}}`))
	assert.Equal(t, *how, ending{failed: true, reason: "FailedJobs", message: "because", at: time.Date(2026, 8, 20, 9, 0, 0, 0, time.UTC)})
	how = ended(rayJob, asServed(t, `{status: {jobDeploymentStatus: Failed, reason: DeadlineExceeded, message: late, endTime: "2026-08-20T09:00:00Z"}}`))
	assert.Equal(t, *how, ending{failed: true, reason: "DeadlineExceeded", message: "late", at: time.Date(2026, 8, 20, 9, 0, 0, 0, time.UTC)})
	// What is deleted may have ended before.
	assert.Assert(t, ended(jobSet, asServed(t, `{metadata: {deletionTimestamp: "2026-08-20T09:00:00Z"}, status: {conditions: [{type: Completed, status: "True"}]}}`)) != nil)
}

// TestCopied copies the status of every specimen to an origin in every other state of
// its kind: it is the whole of it then, and nothing more is to be written.
func TestCopied(t *testing.T) {
	all := specimens(t)
	for _, from := range all {
		for _, to := range all {
			if from.kind.Resource != to.kind.Resource {
				continue
			}
			c := workloadOf(from.kind).copier(0)
			made, err := c.copied(to.object, from.object, false)
			assert.NilError(t, err)
			if agree(from.object.Object["status"], to.object.Object["status"]) {
				assert.Assert(t, made.status == nil, "%s to %s: %v", from.name(), to.name(), made.status)
				continue
			}
			stored := written(t, to.object, made.status)
			assert.Assert(t, agree(stored.Object["status"], from.object.Object["status"]), "%s to %s: %v", from.name(), to.name(), stored.Object["status"])
			assert.Equal(t, made.ends, ended(from.kind, stored) != nil)
			assert.Equal(t, c.wrote(from.object, stored), "")
			again, err := c.copied(stored, from.object, false)
			assert.NilError(t, err)
			assert.Assert(t, again.status == nil, "%s to %s: %v", from.name(), to.name(), again.status)
			assert.Assert(t, !c.refused())
		}
	}
}

// TestCopiedToAnotherVersion has an origin whose API server drops some of what the
// mirror has, and adds something of its own. That is told once, and not tried again
// until one of them changes.
func TestCopiedToAnotherVersion(t *testing.T) {
	jobSet, _ := delegation.KindNamed("jobset")
	c := workloadOf(jobSet).copier(0)
	mirror := asServed(t, `{status: {restarts: 1, novel: {deep: [1]}, conditions: [], nothing: null}}`)
	origin := asServed(t, `{status: {}}`)
	made, err := c.copied(origin, mirror, false)
	assert.NilError(t, err)
	assert.DeepEqual(t, made.status, map[string]any{"restarts": int64(1), "novel": map[string]any{"deep": []any{int64(1)}}, "conditions": []any{}, "nothing": nil})
	stored := asServed(t, `{status: {restarts: 1, phase: Defaulted}}`)
	assert.Equal(t, c.wrote(mirror, stored), "the origin's API server does not know status.novel, which the mirror has; the rest of its status is copied")
	made, err = c.copied(stored, mirror, false)
	assert.NilError(t, err)
	assert.Assert(t, made.status == nil)

	mirror = asServed(t, `{status: {restarts: 2, novel: {deep: [1]}}}`)
	made, err = c.copied(stored, mirror, false)
	assert.NilError(t, err)
	assert.DeepEqual(t, made.status, map[string]any{"restarts": int64(2), "novel": map[string]any{"deep": []any{int64(1)}}, "phase": nil})
	// A mirror without any status leaves the origin without one.
	made, err = c.copied(stored, asServed(t, `{metadata: {name: a}}`), false)
	assert.NilError(t, err)
	assert.DeepEqual(t, made.status, map[string]any{"restarts": nil, "phase": nil})
}

// TestFailed ends an origin in every state that goes on: it has failed then, for the
// reason that was given, and by no other means than its kind's own.
func TestFailed(t *testing.T) {
	now := time.Date(2026, 8, 20, 12, 0, 0, 0, time.UTC)
	unable := map[string]bool{}
	for _, s := range specimens(t) {
		if s.kind.Template || s.kind.IsUnmanaged() || ended(s.kind, s.object) != nil || statusOf(s.kind, s.object) == delegation.Failed {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			status, err := workloadOf(s.kind).failed(s.object, CancelReason, "cancelled by somebody", now)
			assert.NilError(t, err)
			if status == nil {
				unable[s.kind.Name] = true
				return
			}
			stored := written(t, s.object, status)
			assert.Equal(t, statusOf(s.kind, stored), delegation.Failed)
			assert.DeepEqual(t, stored.Object["spec"], s.object.Object["spec"])
			if how := ended(s.kind, stored); !neverEnds(s.kind) {
				assert.Equal(t, how.reason+": "+how.message, CancelReason+": cancelled by somebody")
				if len(s.kind.Reading.End) > 0 {
					assert.Assert(t, s.kind.Ended(stateOf(s.kind, stored)).Equal(now))
				}
			}
			// It is failed already, and is not failed again.
			status, err = workloadOf(s.kind).failed(stored, CancelReason, "again", now)
			assert.NilError(t, err)
			assert.Assert(t, status == nil)
			stopped, err := workloadOf(s.kind).stopped(stored)
			assert.NilError(t, err)
			assert.Assert(t, written(t, stored, stopped).Object["status"] == nil)
		})
	}
	assert.DeepEqual(t, unable, map[string]bool{"rayservice": true})
}

// TestFailedLeavesNothingRunning: what shows that something runs is put right, and
// what was done stays.
func TestFailedLeavesNothingRunning(t *testing.T) {
	now := time.Date(2026, 8, 20, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct{ kind, origin, want string }{
		{
			"jobset", `{status: {restarts: 1, replicatedJobsStatus: [{name: a, active: 2, ready: 1, succeeded: 3}, {name: b, active: 0}]}}`,
			`{status: {restarts: 1, replicatedJobsStatus: [{name: a, active: 0, ready: 0, succeeded: 3}, {name: b, active: 0}],
			  conditions: [{type: Failed, status: "True", reason: R, message: M, lastTransitionTime: "2026-08-20T12:00:00Z"}]}}`,
		},
		{
			"pytorchjob", `{status: {startTime: "2026-08-20T11:00:00Z", conditions: [{type: Created, status: "True"}, {type: Running, status: "True", reason: A, lastUpdateTime: x}]}}`,
			`{status: {startTime: "2026-08-20T11:00:00Z", completionTime: "2026-08-20T12:00:00Z", conditions: [{type: Created, status: "True"},
			  {type: Running, status: "False", reason: R, message: M, lastUpdateTime: x, lastTransitionTime: "2026-08-20T12:00:00Z"},
			  {type: Failed, status: "True", reason: R, message: M, lastTransitionTime: "2026-08-20T12:00:00Z"}]}}`,
		},
		{
			"pipelinerun", `{status: {conditions: [{type: Succeeded, status: Unknown, reason: Running}]}}`,
			`{status: {completionTime: "2026-08-20T12:00:00Z", conditions: [{type: Succeeded, status: "False", reason: R, message: M, lastTransitionTime: "2026-08-20T12:00:00Z"}]}}`,
		},
		{
			"appwrapper", `{status: {phase: Running, conditions: [{type: ResourcesDeployed, status: "True"}]}}`,
			`{status: {phase: Failed, reason: R, message: M, conditions: [{type: ResourcesDeployed, status: "False", reason: R, message: M, lastTransitionTime: "2026-08-20T12:00:00Z"}]}}`,
		},
		{"raycluster", `{status: {state: ready, availableWorkerReplicas: 2}}`, `{status: {state: failed, availableWorkerReplicas: 2, reason: R, message: M}}`},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			k, _ := delegation.KindNamed(tt.kind)
			origin := asServed(t, tt.origin)
			status, err := workloadOf(k).failed(origin, "R", "M", now)
			assert.NilError(t, err)
			assert.DeepEqual(t, written(t, origin, status).Object, asServed(t, tt.want).Object)
			assert.DeepEqual(t, origin.Object, asServed(t, tt.origin).Object)
		})
	}
	// A status that makes no sense is replaced.
	jobSet, _ := delegation.KindNamed("jobset")
	status, err := workloadOf(jobSet).failed(asServed(t, `{status: broken}`), "R", "M", now)
	assert.NilError(t, err)
	assert.Equal(t, statusOf(jobSet, written(t, asServed(t, `{}`), status)), delegation.Failed)
}

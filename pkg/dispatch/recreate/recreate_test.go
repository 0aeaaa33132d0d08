package recreate_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/shelltest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/recreate"
)

// originUID is the UID of dispatchtest.OriginJob.
const originUID = "6f0c1f0e-0d5e-4e0c-9c57-2f6d7d7a2b11"

// edit sets a field; see dispatchtest.Set.
type edit struct {
	path  string
	value any
}

func smallJob(t *testing.T, edits ...edit) *unstructured.Unstructured {
	t.Helper()
	job := dispatchtest.SmallJob(t)
	for _, e := range edits {
		dispatchtest.Set(t, job, e.path, e.value)
	}
	return job
}

// idleJob returns a stored Job that does not run.
func idleJob(t *testing.T, edits ...edit) *unstructured.Unstructured {
	t.Helper()
	return smallJob(t, append([]edit{
		{"metadata.uid", originUID}, {"metadata.resourceVersion", "7"}, {"metadata.creationTimestamp", "2026-03-01T09:00:00Z"},
	}, edits...)...)
}

// TestReplacement records the new Job and the restored Job for a Job with all fields.
func TestReplacement(t *testing.T) {
	old := dispatchtest.OriginJob(t)
	before := old.DeepCopy()
	r, err := recreate.New(old, recreate.Options{ManagedBy: "example.com/runner", Force: true})
	assert.NilError(t, err)
	assert.DeepEqual(t, old.Object, before.Object)
	var b strings.Builder
	for _, job := range []*unstructured.Unstructured{r.New, r.Restore} {
		text, err := yaml.Marshal(job.Object)
		assert.NilError(t, err)
		b.WriteString("---\n" + string(text))
	}
	for _, c := range r.Changes {
		b.WriteString("# " + string(c.Action) + " " + c.Field + " (" + c.Value + "): " + c.Reason + "\n")
	}
	for _, w := range r.Warnings {
		b.WriteString("# warning: " + w + "\n")
	}
	golden.Assert(t, b.String(), "replacement.golden")
}

func TestReplacementChangesOnlyTheOwner(t *testing.T) {
	for _, tt := range []struct{ from, to string }{
		{"", "example.com/runner"},
		{"kubernetes.io/job-controller", "example.com/runner"},
		{"example.com/runner", ""},
		{"example.com/runner", "kubernetes.io/job-controller"},
		{"example.com/runner", "example.com/other;$(x)"},
	} {
		var managedBy any = tt.from
		if tt.from == "" {
			managedBy = nil
		}
		r, err := recreate.New(idleJob(t, edit{"spec.managedBy", managedBy}), recreate.Options{ManagedBy: tt.to})
		assert.NilError(t, err)
		want := smallJob(t, edit{"spec.managedBy", managedBy})
		assert.DeepEqual(t, r.Restore.Object, want.Object)
		assert.DeepEqual(t, r.Old.Object, want.Object)
		unstructured.RemoveNestedField(want.Object, "spec", "managedBy")
		if delegation.Job().OwnerOf(tt.to) != delegation.BuiltIn {
			assert.NilError(t, unstructured.SetNestedField(want.Object, tt.to, "spec", "managedBy"))
		}
		assert.DeepEqual(t, r.New.Object, want.Object)
		assert.Equal(t, len(r.Changes)+len(r.Warnings), 0, "%v %v", r.Changes, r.Warnings)
	}
}

// TestReplacementKeepsAManualSelector checks a Job that finds its Pods by the user's selector.
func TestReplacementKeepsAManualSelector(t *testing.T) {
	r, err := recreate.New(idleJob(t,
		edit{"spec.manualSelector", true}, edit{"spec.selector", "yaml:{matchLabels: {job-name: mine}}"},
		edit{"spec.template.metadata.labels", "yaml:{job-name: mine}"}), recreate.Options{})
	assert.NilError(t, err)
	assert.DeepEqual(t, r.New.Object["spec"], idleJob(t, edit{"spec.managedBy", nil},
		edit{"spec.manualSelector", true}, edit{"spec.selector", "yaml:{matchLabels: {job-name: mine}}"},
		edit{"spec.template.metadata.labels", "yaml:{job-name: mine}"}).Object["spec"])
}

// TestReplacementRemovesKueueFields checks that neither the new Job nor a backup has Kueue's
// additions to the Pod template, because Kueue would refuse to start it.
func TestReplacementRemovesKueueFields(t *testing.T) {
	leftovers := []edit{
		{"spec.managedBy", string(delegation.MultiKueue)},
		{"spec.suspend", true},
		{"metadata.labels[kueue.x-k8s.io/queue-name]", "gpus"},
		{"spec.template.metadata.labels[kueue.x-k8s.io/podset]", "main"},
		{"spec.template.metadata.labels[kueue.x-k8s.io/local-queue-name]", "gpus"},
		{"spec.template.metadata.annotations[kueue.x-k8s.io/workload]", "job-train-b0014"},
		{"spec.template.metadata.annotations[team]", "ml"},
	}
	r, err := recreate.New(idleJob(t, leftovers...), recreate.Options{ManagedBy: string(delegation.MultiKueue)})
	assert.NilError(t, err, "it changes something, though not its owner")
	backup := filepath.Join(t.TempDir(), "backup.yaml")
	assert.NilError(t, r.WriteBackup(backup, "here", time.Unix(0, 0)))
	kept, err := os.ReadFile(backup)
	assert.NilError(t, err)
	created, err := yaml.Marshal(r.New.Object)
	assert.NilError(t, err)
	for _, text := range []string{string(kept), string(created)} {
		for _, key := range []string{"kueue.x-k8s.io/podset", "kueue.x-k8s.io/local-queue-name", "kueue.x-k8s.io/workload"} {
			assert.Assert(t, !strings.Contains(text, key), "%s is gone from\n%s", key, text)
		}
		assert.Assert(t, strings.Contains(text, "team: ml"), text)
	}
	var fields []string
	for _, c := range r.Changes {
		fields = append(fields, c.Field)
	}
	assert.Assert(t, strings.Contains(strings.Join(fields, " "), "spec.template.metadata.annotations[kueue.x-k8s.io/workload]"), "%v", fields)

	// A running Job has them legitimately.
	_, err = recreate.New(idleJob(t, append(leftovers, edit{"spec.suspend", false})...), recreate.Options{ManagedBy: string(delegation.MultiKueue)})
	assert.ErrorContains(t, err, "already")
}

func TestReplacementForMultiKueue(t *testing.T) {
	multiKueue := recreate.Options{ManagedBy: string(delegation.MultiKueue), Queue: new("research")}
	r, err := recreate.New(idleJob(t), multiKueue)
	assert.NilError(t, err)
	assert.Equal(t, r.New.GetLabels()[delegation.QueueNameLabel], "research")
	suspended, _, _ := unstructured.NestedBool(r.New.Object, "spec", "suspend")
	assert.Assert(t, suspended)
	_, there, _ := unstructured.NestedBool(r.Restore.Object, "spec", "suspend")
	assert.Assert(t, !there)

	// Out of the queue, no controller resumes it.
	back, err := recreate.New(stored(r.New), recreate.Options{Queue: new("")})
	assert.NilError(t, err)
	assert.Equal(t, len(back.New.GetLabels()), 0)
	assert.Assert(t, strings.Contains(strings.Join(back.Warnings, "\n"), `'{"spec":{"suspend":false}}'`), back.Warnings)

	// It stays in its queue by default.
	kept, err := recreate.New(stored(r.New), recreate.Options{})
	assert.NilError(t, err)
	assert.Equal(t, kept.New.GetLabels()[delegation.QueueNameLabel], "research")
	assert.Assert(t, strings.Contains(strings.Join(kept.Warnings, "\n"), "--queue ''"), kept.Warnings)
}

func stored(job *unstructured.Unstructured) *unstructured.Unstructured {
	job = job.DeepCopy()
	job.SetUID(originUID)
	return job
}

func TestReplacementRefuses(t *testing.T) {
	const runner = "example.com/runner"
	complete := edit{"status", `yaml:{conditions: [{type: Complete, status: "True"}]}`}
	givenUp := fromText(t, workloadOf)
	dispatchtest.Set(t, givenUp, "status", `yaml:{conditions: [{type: Finished, status: "True", reason: OwnerNotFound}]}`)
	for _, tt := range []struct {
		name      string
		job       []edit
		options   recreate.Options
		want      string
		forceable bool
	}{
		{"nothing to do", nil, recreate.Options{ManagedBy: string(delegation.Dispatch), Context: "management"}, "delete the Job: `kubectl --context management -n ml delete job small`, and create the Job again from its manifest", false},
		{"already built-in", []edit{{"spec.managedBy", nil}}, recreate.Options{}, "already managed by the built-in controller", false},
		{"already reserved", []edit{{"spec.managedBy", "kubernetes.io/job-controller"}}, recreate.Options{}, "already managed by the built-in controller", false},
		{
			"in that queue",
			[]edit{{"spec.managedBy", string(delegation.MultiKueue)}, {"metadata.labels", "yaml:{kueue.x-k8s.io/queue-name: gpu}"}},
			recreate.Options{ManagedBy: string(delegation.MultiKueue), Queue: new("gpu")},
			"is managed by kueue.x-k8s.io/multikueue already", false,
		},
		{"deleted", []edit{{"metadata.deletionTimestamp", "2026-03-01T10:00:00Z"}}, recreate.Options{}, "has been terminating since 2026-03-01T10:00:00Z", false},
		{"mirror of dispatch", []edit{{"metadata.labels", "yaml:{jobmanagedby.github.io/origin-uid: u}"}}, recreate.Options{}, "is the mirror of a dispatched Job", false},
		{"mirror of MultiKueue", []edit{{"metadata.labels", "yaml:{kueue.x-k8s.io/multikueue-origin: o}"}}, recreate.Options{}, "is a mirror of MultiKueue", false},
		{"no queue", nil, recreate.Options{ManagedBy: string(delegation.MultiKueue)}, "is in no queue", false},
		{"dispatched", []edit{{"metadata.annotations", "yaml:{jobmanagedby.github.io/mirror: c/ml/small/u}"}}, recreate.Options{Context: "management", ManagedBy: runner}, "cancel small -n ml --context management`", true},
		{"of a CronJob", []edit{{"metadata.ownerReferences", "yaml:[{apiVersion: batch/v1, kind: CronJob, name: nightly, uid: u, controller: true}]"}}, recreate.Options{ManagedBy: runner}, "belongs to CronJob nightly", true},
		{"one pod", []edit{{"status", "yaml:{active: 1}"}}, recreate.Options{ManagedBy: runner}, "1 Pod is active", true},
		{"pods", []edit{{"status", "yaml:{active: 3}"}}, recreate.Options{ManagedBy: runner}, "3 Pods are active; wait for its end, or suspend it", true},
		{
			"pods that Kueue would start again",
			[]edit{{"status", "yaml:{active: 3}"}, {"metadata.labels", "yaml:{kueue.x-k8s.io/queue-name: gpu}"}},
			recreate.Options{Context: "management", ManagedBy: runner, Submitted: recreate.Submitted{Workload: fromText(t, workloadOf)}},
			`or deactivate its Workload: ` + "`" + `kubectl --context management -n ml patch workloads.kueue.x-k8s.io job-train-1 --type merge -p '{"spec":{"active":false}}'`, true,
		},
		{
			"pods that Kueue may start again",
			[]edit{{"status", "yaml:{active: 3}"}, {"metadata.labels", "yaml:{kueue.x-k8s.io/queue-name: gpu}"}},
			recreate.Options{ManagedBy: runner, Submitted: recreate.Submitted{Unread: errors.New("forbidden")}},
			"or deactivate its Workload, because Kueue would undo", true,
		},
		{
			"Pods of a mirror that was deleted",
			[]edit{{"status", "yaml:{active: 3}"}, {"metadata.labels", "yaml:{kueue.x-k8s.io/queue-name: gpu}"}, {"spec.managedBy", string(delegation.MultiKueue)}},
			recreate.Options{ManagedBy: runner, Submitted: recreate.Submitted{Workload: givenUp}},
			"", false,
		},
		{
			"own Pods, without their Workload",
			[]edit{{"status", "yaml:{active: 3}"}, {"metadata.labels", "yaml:{kueue.x-k8s.io/queue-name: gpu}"}, {"spec.managedBy", nil}},
			recreate.Options{ManagedBy: runner, Submitted: recreate.Submitted{Workload: givenUp}},
			"3 Pods are active", true,
		},
		{"Pods that are stopped", []edit{{"status", "yaml:{active: 0, terminating: 1}"}, {"spec.suspend", true}}, recreate.Options{ManagedBy: runner}, "still being stopped", true},
		{"started", []edit{{"status", `yaml:{startTime: "2026-03-01T10:00:00Z"}`}}, recreate.Options{ManagedBy: runner}, "is running since 2026-03-01T10:00:00Z", true},
		{"decided", []edit{{"status", `yaml:{startTime: "2026-03-01T10:00:00Z", conditions: [{type: SuccessCriteriaMet, status: "True"}]}`}}, recreate.Options{ManagedBy: runner}, "is running", true},

		{"started and suspended", []edit{{"status", `yaml:{startTime: "2026-03-01T10:00:00Z"}`}, {"spec.suspend", true}}, recreate.Options{ManagedBy: runner}, "", false},
		{"into a queue", []edit{{"spec.managedBy", string(delegation.MultiKueue)}}, recreate.Options{ManagedBy: string(delegation.MultiKueue), Queue: new("gpu")}, "", false},
		{
			"into another queue",
			[]edit{{"spec.managedBy", string(delegation.MultiKueue)}, {"metadata.labels", "yaml:{kueue.x-k8s.io/queue-name: cpu}"}},
			recreate.Options{ManagedBy: string(delegation.MultiKueue), Queue: new("gpu")},
			"", false,
		},
		{"ended", []edit{complete}, recreate.Options{ManagedBy: runner}, "", false},
		{"ended, and once more", []edit{complete}, recreate.Options{ManagedBy: string(delegation.Dispatch)}, "", false},
		{"dispatched and ended", []edit{complete, {"metadata.annotations", "yaml:{jobmanagedby.github.io/mirror: c/ml/small/u}"}}, recreate.Options{ManagedBy: runner}, "", false},
		{"belongs, but not as to a controller", []edit{{"metadata.ownerReferences", "yaml:[{apiVersion: v1, kind: ConfigMap, name: run, uid: u}]"}}, recreate.Options{ManagedBy: runner}, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := recreate.New(idleJob(t, tt.job...), tt.options)
			if tt.want == "" {
				assert.NilError(t, err)
				assert.Assert(t, r.New != nil)
				return
			}
			assert.ErrorContains(t, err, tt.want)
			var refused *plan.RefusedError
			assert.Assert(t, errors.As(err, &refused) && refused.Remedy != "", "%v", err)
			tt.options.Force = true
			_, err = recreate.New(idleJob(t, tt.job...), tt.options)
			assert.Equal(t, err == nil, tt.forceable, "%v", err)
		})
	}
}

func TestReplaceOptions(t *testing.T) {
	long := "example.com/" + strings.Repeat("x", 51)
	for _, tt := range []struct {
		managedBy string
		queue     *string
		want      string
	}{
		{"", nil, ""},
		{"kubernetes.io/job-controller", nil, ""},
		{"localhost/x", nil, ""},
		{"example.com/a/b;$(c)", nil, ""},
		{long, nil, ""},
		{long + "x", nil, "it has 64 bytes"},
		{"built-in", nil, "Use DOMAIN/NAME"},
		{"Example.com/x", nil, "is not a valid spec.managedBy"},
		{"example.com/", nil, "is not a valid spec.managedBy"},
		{"example.com/ü", nil, "is not a valid spec.managedBy"},
		{"example.com/x", new("q"), "--queue is for Jobs managed by kueue.x-k8s.io/multikueue"},
		{"", new("q"), "not by built-in"},
		{"", new(""), ""},
		{string(delegation.MultiKueue), new("q"), ""},
		{string(delegation.MultiKueue), new(""), "MultiKueue ignores a Job without a queue"},
		{string(delegation.MultiKueue), new("Q_1"), "is not a valid name of a LocalQueue"},
	} {
		err := recreate.Options{ManagedBy: tt.managedBy, Queue: tt.queue}.Validate()
		if tt.want == "" {
			assert.NilError(t, err)
			continue
		}
		assert.ErrorContains(t, err, tt.want)
	}
}

// TestBackupNameIsAFileName checks that the name never contains a directory, whatever kind,
// namespace and name a server returns.
func TestBackupNameIsAFileName(t *testing.T) {
	for _, text := range []string{"../../x", "/etc/x", "..", ".", "-rf", "a\\b", "a\x00b", "a\nb", "C:x", "x\u202e", "~"} {
		kind := delegation.DiscoveredKind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: text}, "xs", nil, []string{"spec", "managedBy"})
		old := dispatchtest.OriginJob(t)
		old.SetNamespace(text)
		old.SetName(text)
		r, err := recreate.New(old, recreate.Options{Kind: kind, ManagedBy: "example.com/runner", Force: true})
		assert.NilError(t, err)
		name := r.BackupName(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC))
		assert.Check(t, regexp.MustCompile(`^\w[\w.-]*$`).MatchString(name) && strings.HasSuffix(name, "20260301T100000Z.yaml"), "%q: %q", text, name)
	}
}

func TestBackup(t *testing.T) {
	now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	r, err := recreate.New(dispatchtest.OriginJob(t), recreate.Options{ManagedBy: "example.com/runner", Force: true})
	assert.NilError(t, err)
	assert.Equal(t, r.BackupName(now), "job-ml-train-28391-20260301T100000Z.yaml")
	path := filepath.Join(t.TempDir(), "it's.yaml")
	assert.NilError(t, r.WriteBackup(path, "prod\nkind: Secret", now))
	info, err := os.Stat(path)
	assert.NilError(t, err)
	assert.Equal(t, info.Mode().Perm(), os.FileMode(0o600))
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	kept := dispatchtest.FromYAML(t, string(text))
	status, _, _ := unstructured.NestedFieldNoCopy(dispatchtest.OriginJob(t).Object, "status")
	assert.DeepEqual(t, kept.Object["status"], status)
	delete(kept.Object, "status")
	assert.DeepEqual(t, kept.Object, r.Restore.Object)
	for _, want := range []string{originUID, "jobmanagedby.github.io/mirror: c0ffee/ml/train-28391/7d0c", "# To restore it", "create -f"} {
		assert.Assert(t, strings.Contains(string(text), want), "%s", text)
	}

	// The restoring command is a single command on its own line.
	const hostileName = "it's\n\\`x`; rm -rf ~ #.yaml"
	hostile := filepath.Join(t.TempDir(), hostileName)
	assert.NilError(t, r.WriteBackup(hostile, "prod\nkind: Secret $(x)", now))
	text2, err := os.ReadFile(hostile)
	assert.NilError(t, err)
	_, rest, _ := strings.Cut(string(text2), "# To restore it, after deleting any object with its name: ")
	restore, _, _ := strings.Cut(rest, "\n")
	assert.DeepEqual(t, shelltest.Words(t, restore), []string{"kubectl", "--context", "prod\nkind: Secret $(x)", "create", "-f", hostile})

	// An existing file is never overwritten.
	err = r.WriteBackup(path, "prod", now)
	assert.ErrorContains(t, err, "the file exists")
	unchanged, err := os.ReadFile(path)
	assert.NilError(t, err)
	assert.Equal(t, string(unchanged), string(text))
	assert.ErrorContains(t, recreate.CheckBackup(filepath.Join(t.TempDir(), "none", "x.yaml")), "--backup")
}

package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
)

// controlPlanes reads which clusters have an older control plane: CLUSTER=VERSION, separated by
// commas. make test-skew sets this and builds the control planes.
func controlPlanes(versions string) map[string]string {
	folders := map[string]string{}
	for pair := range strings.SplitSeq(versions, ",") {
		if cluster, version, ok := strings.Cut(pair, "="); ok {
			folders[cluster] = filepath.Join("..", "..", "bin", "clusters", "versions", version)
		}
	}
	return folders
}

// TestSkew dispatches between clusters of different versions, each as the one with the origin and
// as the one with the mirror.
func TestSkew(t *testing.T) {
	if os.Getenv("VERSIONS") == "" {
		t.Skip("one version: make test-skew has several")
	}
	names := []string{management, worker1, worker2}
	for _, cluster := range names {
		v, err := client(t, cluster).Discovery().ServerVersion()
		assert.NilError(t, err)
		t.Logf("%s is %s, and keeps managedBy: %t", cluster, v.GitVersion, keeps(t, cluster, fixture.ManagedBy(string(delegation.Dispatch)), func(j *batchv1.Job) bool { return j.Spec.ManagedBy != nil }))
	}
	for _, from := range names {
		for _, to := range names {
			if from != to {
				t.Run(from+" to "+to, func(t *testing.T) {
					t.Parallel()
					(&skew{t: t, from: from, to: to, ns: "skew-" + from + "-" + to}).walk()
				})
			}
		}
	}
}

// keeps asks a server, with a dry run, whether it would store what an option sets in a Job.
func keeps(t *testing.T, cluster string, option fixture.Option, has func(*batchv1.Job) bool) bool {
	t.Helper()
	job := fixture.New(metav1.NamespaceDefault, "kept", option)
	stored, err := client(t, cluster).BatchV1().Jobs(metav1.NamespaceDefault).Create(t.Context(), job, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if apierrors.IsInvalid(err) {
		return false // It knows the field, but not this value.
	}
	assert.NilError(t, err)
	return has(stored)
}

// skew is a pair of clusters whose versions may differ, with a namespace in both.
type skew struct {
	t        *testing.T
	from, to string
	ns       string
}

func (s *skew) plugin(command string, args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	return run(s.t, append([]string{command, "-n", s.ns}, args...)...)
}

func (s *skew) dispatch(args ...string) (stdout, stderr string, code int) {
	s.t.Helper()
	return s.plugin("dispatch", append([]string{"--context", s.from, "--to", s.to}, args...)...)
}

func (s *skew) create(name string, options ...fixture.Option) *batchv1.Job {
	s.t.Helper()
	job, err := client(s.t, s.from).BatchV1().Jobs(s.ns).Create(s.t.Context(), fixture.New(s.ns, name, append(options, fixture.ManagedBy(string(delegation.Dispatch)))...), metav1.CreateOptions{})
	assert.NilError(s.t, err)
	return job
}

func (s *skew) walk() {
	for _, cluster := range []string{s.from, s.to} {
		assert.NilError(s.t, makeSpace(s.t, cluster, s.ns))
	}
	delegated := keeps(s.t, s.from, fixture.ManagedBy(string(delegation.Dispatch)), func(j *batchv1.Job) bool { return j.Spec.ManagedBy != nil })
	if !delegated {
		s.isRefused()
		return
	}
	s.ends()
	s.follows()
	s.reportsDrops()
}

// isRefused checks the case that a server that drops managedBy would run the Job itself, so
// nothing is created, on neither side.
func (s *skew) isRefused() {
	file := filepath.Join(s.t.TempDir(), "job.json")
	job := fixture.New(s.ns, "dropped", fixture.ManagedBy(string(delegation.Dispatch)))
	job.TypeMeta = metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}
	text, err := json.Marshal(job)
	assert.NilError(s.t, err)
	assert.NilError(s.t, os.WriteFile(file, text, 0o600))
	for _, args := range [][]string{{"-f", file}, {"-f", file, "--dry-run=server"}} {
		out, stderr, code := s.dispatch(args...)
		assert.Assert(s.t, code != 0, "%v: %s", args, out)
		assert.Assert(s.t, contains(out+stderr, "drops spec.managedBy"), "%v: %s%s", args, out, stderr)
	}
	for _, cluster := range []string{s.from, s.to} {
		assert.Assert(s.t, jobOf(s.t, cluster, s.ns, "dropped") == nil, cluster)
	}
	// A Job that its user meant to delegate: the field was dropped, so the built-in controller owns
	// it.
	assert.Assert(s.t, s.create("undelegated", fixture.RunsFor("1h")).Spec.ManagedBy == nil)
	out, stderr, code := s.dispatch("undelegated")
	assert.Assert(s.t, code != 0, out)
	assert.Assert(s.t, jobOf(s.t, s.to, s.ns, "undelegated") == nil, stderr)
	got := eventually(s.t, map[string]delegation.Status{"undelegated": delegation.Running}, "-n", s.ns, "--contexts", s.from)
	assert.Equal(s.t, got["undelegated"].ManagedBy, delegation.BuiltIn)
}

// ends checks that origins end like their mirrors, whatever the versions.
func (s *skew) ends() {
	s.create("good", fixture.Pods(2), fixture.RunsFor("1s"))
	s.create("bad", fixture.Fails())
	s.create("indexed", fixture.Pods(2), fixture.RunsFor("1s"), indexed)
	s.create("suspended", fixture.RunsFor("1s"), fixture.Suspended())
	d := dispatchesBetween(s.t, s.from, s.to, s.ns, "good", "bad", "indexed", "suspended")
	d.Expect(dispatch.MirrorCreated, "suspended")
	out, stderr, code := s.plugin("ls", "--contexts", s.from+","+s.to)
	assert.Equal(s.t, code, 0, stderr)
	assert.Assert(s.t, contains(out, "good", "bad", "indexed", "suspended"), out)
	change(s.t, s.from, s.ns, "suspended", `{"spec":{"suspend":false}}`)
	d.Expect(dispatch.Completed, "suspended")
	assert.Equal(s.t, d.End(), 5, d.Stderr.String())
	for _, name := range []string{"good", "bad", "indexed", "suspended"} {
		s.sameEnd(name)
		out, stderr, code := s.plugin("trace", name, "--contexts", s.from+","+s.to)
		assert.Equal(s.t, code, 0, stderr)
		assert.Assert(s.t, contains(out, s.from, s.to), out)
	}
	out, stderr, code = s.plugin("check", "--contexts", s.from+","+s.to)
	assert.Equal(s.t, code, 0, "%s%s", out, stderr)
}

// follows checks the case that from 1.36 on, the template of a suspended Job can be changed though
// it ran before. If an older worker rejects that, it is reported.
func (s *skew) follows() {
	s.create("twice", fixture.RunsFor("1h"))
	d := dispatchesBetween(s.t, s.from, s.to, s.ns, "twice", "--on-interrupt=delete")
	eventuallyJob(s.t, s.from, s.ns, "twice", func(j *batchv1.Job) bool { return j.Status.Active == 1 })
	change(s.t, s.from, s.ns, "twice", `{"spec":{"suspend":true}}`)
	eventuallyJob(s.t, s.from, s.ns, "twice", func(j *batchv1.Job) bool {
		return j.Status.Active == 0 && len(j.Status.Conditions) == 1 && j.Status.Conditions[0].Type == batchv1.JobSuspended
	})
	patch := []byte(`{"spec":{"template":{"metadata":{"annotations":{"pod-complete.stage.kwok.x-k8s.io/delay":"1s"}}}}}`)
	takes := func(cluster string, options metav1.PatchOptions) bool {
		_, err := client(s.t, cluster).BatchV1().Jobs(s.ns).Patch(s.t.Context(), "twice", types.StrategicMergePatchType, patch, options)
		if !apierrors.IsInvalid(err) {
			assert.NilError(s.t, err)
		}
		return err == nil
	}
	taken := takes(s.to, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	if takes(s.from, metav1.PatchOptions{}) {
		e := d.Until("an event about the template", func(e dispatch.Event) bool {
			return (e.Event == dispatch.SpecPushed || e.Event == dispatch.Warned) && strings.Contains(e.Message, "spec.template")
		})
		assert.Equal(s.t, e.Event == dispatch.SpecPushed, taken, e.Message)
	}
	d.Signal(syscall.SIGINT)
	d.End()
	eventuallyJob(s.t, s.to, s.ns, "twice", isGone)
}

func indexed(job *batchv1.Job) {
	job.Spec.CompletionMode = ptr.To(batchv1.IndexedCompletion)
	job.Spec.BackoffLimitPerIndex = ptr.To(int32(1))
	job.Spec.SuccessPolicy = &batchv1.SuccessPolicy{Rules: []batchv1.SuccessPolicyRule{{SucceededCount: ptr.To(int32(2))}}}
}

// sameEnd compares the fields that older servers write, too: before 1.32, some write no
// SuccessCriteriaMet and no FailureTarget, which newer ones require.
func (s *skew) sameEnd(name string) {
	s.t.Helper()
	o, m := jobOf(s.t, s.from, s.ns, name), jobOf(s.t, s.to, s.ns, name)
	assert.Assert(s.t, o != nil && m != nil, "origin %v, mirror %v", o, m)
	end := func(j *batchv1.Job) string {
		var ends []string
		for _, c := range j.Status.Conditions {
			if c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed {
				ends = append(ends, fmt.Sprint(c.Type, c.Status, c.Reason, c.Message, c.LastTransitionTime))
			}
		}
		st := j.Status
		return fmt.Sprint(ends, st.StartTime, st.CompletionTime, st.Active, st.Succeeded, st.Failed, st.CompletedIndexes, ptr.Deref(st.FailedIndexes, ""))
	}
	assert.Equal(s.t, end(o), end(m))
}

// reportsDrops checks that fields that the worker's server would drop are reported, and nothing is
// created if that changes what runs. The servers themselves show which fields they keep.
func (s *skew) reportsDrops() {
	for field, c := range newerFields() {
		name := strings.ToLower("with-" + field)
		if !keeps(s.t, s.from, c.put, c.has) {
			continue
		}
		s.create(name, c.put, fixture.RunsFor("1s"))
		_, stderr, code := s.dispatch(name)
		if keeps(s.t, s.to, c.put, c.has) {
			assert.Equal(s.t, code, 0, stderr)
			continue
		}
		s.t.Logf("%s to %s: %s", s.from, s.to, stderr)
		assert.Assert(s.t, contains(stderr, cmp.Or(c.reported, field)), "%s is dropped without a message: %s", field, stderr)
		if c.matters {
			assert.Assert(s.t, code != 0, stderr)
			assert.Assert(s.t, jobOf(s.t, s.to, s.ns, name) == nil, "there is a mirror without %s", field)
		}
	}
}

// newer is a field that older versions lack.
type newer struct {
	put     fixture.Option
	has     func(*batchv1.Job) bool
	matters bool
	// reported is the reported field, if that is not the field itself.
	reported string
}

func newerFields() map[string]newer {
	pod := func(j *batchv1.Job) *corev1.PodSpec { return &j.Spec.Template.Spec }
	return map[string]newer{
		"resources": { // 1.34
			put: func(j *batchv1.Job) {
				pod(j).Resources = &corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}
			},
			has: func(j *batchv1.Job) bool { return pod(j).Resources != nil }, matters: true,
		},
		"restartPolicyRules": { // 1.35
			put: func(j *batchv1.Job) {
				pod(j).RestartPolicy = corev1.RestartPolicyNever
				pod(j).Containers[0].RestartPolicy = ptr.To(corev1.ContainerRestartPolicyNever)
				pod(j).Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{
					Action:    corev1.ContainerRestartRuleActionRestart,
					ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
				}}
			},
			has: func(j *batchv1.Job) bool { return len(pod(j).Containers[0].RestartPolicyRules) > 0 }, matters: true, reported: "restartPolicy",
		},
		"hostnameOverride": { // 1.35
			put: func(j *batchv1.Job) { pod(j).HostnameOverride = ptr.To("other") },
			has: func(j *batchv1.Job) bool { return pod(j).HostnameOverride != nil },
		},
		"stopSignal": { // 1.33, off by default
			put: func(j *batchv1.Job) {
				pod(j).OS = &corev1.PodOS{Name: corev1.Linux}
				pod(j).Containers[0].Lifecycle = &corev1.Lifecycle{StopSignal: ptr.To(corev1.SIGTERM)}
			},
			has: func(j *batchv1.Job) bool {
				l := pod(j).Containers[0].Lifecycle
				return l != nil && l.StopSignal != nil
			},
		},
	}
}

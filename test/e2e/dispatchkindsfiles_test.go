package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kinds"
)

func kindsOfAFile(t *testing.T) {
	const ns = "dispatch-kinds-file"
	namespaces(t, ns)
	file := filepath.Join(t.TempDir(), "all.yaml")
	job := "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: registry.example/batch:1}]}}}\n"
	others := "---\napiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: train}\nspec: {replicatedJobs: []}\n" +
		"---\napiVersion: example.com/v1beta1\nkind: Widget\nmetadata: {name: train}\nspec: {size: 3}\n"
	refused := "---\napiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {name: train}\nspec: {}\n" +
		"---\napiVersion: ray.io/v1alpha1\nkind: RayJob\nmetadata: {name: train}\nspec: {}\n---\napiVersion: example.com/v1\nkind: Nothing\nmetadata: {name: train}\n"
	assert.NilError(t, os.WriteFile(file, []byte(job+others+refused), 0o600))
	_, stderr, code := run(t, "dispatch", "-f", file, "-n", ns, "--context", management, "--to", worker1)
	assert.Equal(t, code, 1)
	assert.Assert(t, contains(stderr, `all.yaml, document 6: context "management" does not serve kind "Nothing" (example.com/v1)`), stderr)
	assert.NilError(t, os.WriteFile(file, []byte(job+others+strings.Split(refused, "---\napiVersion: example.com")[0]), 0o600))
	_, stderr, code = run(t, "dispatch", "-f", file, "-n", ns, "--context", management, "--to", worker1)
	assert.Equal(t, code, 1)
	assert.Assert(t, contains(stderr, "trainjob "+ns+"/train cannot be managed by", "rayjob "+ns+"/train", "completely or not at all"), stderr)
	assert.Assert(t, jobOf(t, management, ns, "train") == nil)

	assert.NilError(t, os.WriteFile(file, []byte(job+others), 0o600))
	out, stderr, code := run(t, "dispatch", "-f", file, "-n", ns, "--context", management, "--to", worker1, "--dry-run", "-o", "name")
	assert.Equal(t, code, 0, stderr)
	assert.Equal(t, out, "job.batch/train\njobset.jobset.x-k8s.io/train\nwidget.example.com/train\n")
	d := dispatches(t, ns, "-f", file)
	for range 3 {
		d.Expect(dispatch.MirrorCreated, "train")
	}
	sets := &like{t, kindNamed(t, "jobset"), ns, "train"}
	widgets := &like{t, delegation.Kind{Kind: "Widget", Resource: sets.kind.Resource.GroupResource().WithVersion("v1beta1")}, ns, "train"}
	widgets.kind.Resource.Group, widgets.kind.Resource.Resource = "example.com", "widgets"
	assert.Equal(t, at(widgets.get(management), "spec", "managedBy"), string(delegation.Dispatch))
	assert.Assert(t, at(widgets.get(worker1), "spec", "managedBy") == nil)
	sets.reports(`{conditions: [{type: Completed, status: "True"}]}`)
	widgets.reports(`{conditions: [{type: Succeeded, status: "True"}], result: {answer: 42}}`)
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	assert.Equal(t, at(widgets.get(management), "status", "result", "answer"), int64(42))
	sameEnd(t, ns, "train")
}

func kindNamed(t *testing.T, name string) delegation.Kind {
	t.Helper()
	k, known := delegation.KindNamed(name)
	assert.Assert(t, known)
	return k
}

func kindsPreflight(t *testing.T) {
	const ns = "dispatch-kinds-preflight"
	servesKinds(t, worker2, kinds.Old)
	namespaces(t, ns)
	_, err := client(t, worker2).CoreV1().Namespaces().Create(t.Context(), namespaceNamed(ns), metav1.CreateOptions{})
	assert.NilError(t, err)
	jobSet(t, ns, "train")
	mpi := newLike(t, "mpijob", ns, "train", delegation.Dispatch, `{mpiReplicaSpecs: {}}`)
	_, stderr, code := run(t, "dispatch", "jobset/train", "mpijob/train", "-n", ns, "--context", management, "--to", worker2)
	assert.Equal(t, code, 1)
	assert.Assert(t, contains(stderr, "the API of jobsets.jobset.x-k8s.io", "is not served", "the API of mpijobs.kubeflow.org", "is served as v1, and the MPIJob uses v2beta1"), stderr)

	// The dependencies of every Pod template are checked, and copied if requested.
	mpi.patch(management, `{spec: {mpiReplicaSpecs: {
	  Launcher: {template: {spec: {containers: [{name: main, image: registry.example/batch:1, envFrom: [{configMapRef: {name: settings}}]}]}}},
	  Worker: {template: {spec: {serviceAccountName: runner, containers: [{name: main, image: registry.example/batch:1, env: [{name: A, valueFrom: {secretKeyRef: {name: token, key: a}}}]}]}}}}}}`)
	for kind, make1 := range map[string]func() error{
		"settings": func() error {
			_, err := client(t, management).CoreV1().ConfigMaps(ns).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings"}}, metav1.CreateOptions{})
			return err
		},
		"token": func() error {
			_, err := client(t, worker1).CoreV1().Secrets(ns).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "token"}}, metav1.CreateOptions{})
			return err
		},
	} {
		assert.NilError(t, make1(), kind)
	}
	_, stderr, code = run(t, "dispatch", "mpijob/train", "-n", ns, "--context", management, "--to", worker1, "--dry-run=server")
	assert.Equal(t, code, 1)
	assert.Assert(t, contains(stderr, "ConfigMap "+ns+"/settings", "container main needs it", "Secret "+ns+"/token", "has no key a", "ServiceAccount "+ns+"/runner",
		"the MPIJob cannot run on worker-1 as it is"), stderr)
	_, err = client(t, worker1).CoreV1().Secrets(ns).Update(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "token"}, StringData: map[string]string{"a": "b"}}, metav1.UpdateOptions{})
	assert.NilError(t, err)
	_, err = client(t, worker1).CoreV1().ServiceAccounts(ns).Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "runner"}}, metav1.CreateOptions{})
	assert.NilError(t, err)
	d := dispatches(t, ns, "mpijob/train", "--with-dependencies")
	d.Expect(dispatch.MirrorCreated, "train")
	d.Expect(dispatch.DependencyCopied, "train")
	mpi.reports(`{conditions: [{type: Succeeded, status: "True"}]}`)
	assert.Equal(t, d.End(), 0, d.Stderr.String())
	copied, err := client(t, worker1).CoreV1().ConfigMaps(ns).Get(t.Context(), "settings", metav1.GetOptions{})
	assert.NilError(t, err)
	assert.Equal(t, copied.OwnerReferences[0].Kind, "MPIJob")
}

func kindsSelected(t *testing.T) {
	const ns = "dispatch-kinds-selected"
	for _, name := range []string{"a", "b"} {
		jobSet(t, ns, name).patch(management, `{metadata: {labels: {run: "1"}}}`)
	}
	pr := newLike(t, "pipelinerun", ns, "a", delegation.Dispatch, `{status: PipelineRunPending}`)
	pr.patch(management, `{metadata: {labels: {run: "1"}}}`)
	d := dispatches(t, ns, "-l", "run=1", "--kinds", "all", "--timeout", "20s", "--on-interrupt", "delete")
	for range 3 {
		d.Expect(dispatch.MirrorCreated, "")
	}
	assert.Equal(t, at(pr.get(worker1), "spec", "status"), "PipelineRunPending")
	pr.patch(management, `{spec: {status: null}}`)
	pr.eventually(worker1, func(o *unstructured.Unstructured) bool { return at(o, "spec", "status") == nil })
	d.Signal(syscall.SIGINT)
	assert.Equal(t, d.End(), 130, d.Stderr.String())
	pr.eventually(worker1, isAbsent)
}

func kindsRecreated(t *testing.T) {
	const ns = "dispatch-kinds-recreated"
	l := newLike(t, "jobset", ns, "train", "", `{suspend: true}`)
	old := l.get(management).GetUID()
	backup := filepath.Join(t.TempDir(), "old.yaml")
	out, stderr, code := run(t, "recreate", "jobset/train", "-n", ns, "--context", management, "--managed-by", string(delegation.Dispatch), "--yes", "--backup", backup)
	assert.Equal(t, code, 0, stderr)
	assert.Assert(t, contains(out+stderr, "+  managedBy: jobmanagedby.github.io/dispatch", "jobset.jobset.x-k8s.io/train recreated", "saved the old jobset in"), out+stderr)
	o := l.get(management)
	assert.Assert(t, o.GetUID() != old && at(o, "spec", "managedBy") == string(delegation.Dispatch) && at(o, "spec", "suspend") == true)
	text, err := os.ReadFile(backup)
	assert.NilError(t, err)
	assert.Assert(t, contains(string(text), "kind: JobSet", "# JobSet "+ns+"/train of context management"), "%s", text)
}

func kindsNamed(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"dispatch", "jbset/a"}, 2, `did you mean "jobset"?`},
		{[]string{"dispatch", "jobset/"}, 2, "is not of the form [KIND/]NAME. Set the namespace with -n"},
		{[]string{"dispatch", "jobset/a/b"}, 2, "is not of the form [KIND/]NAME"},
		{[]string{"dispatch", "jobset/a", "--kinds", "all"}, 2, "--kinds requires --selector"},
		{[]string{"dispatch", "thing/a"}, 1, `context "management": no kind "thing" with a managedBy field`},
		{[]string{"dispatch", "jobset/none"}, 1, `jobset "none" not found in namespace "default"`},
		{[]string{"dispatch", "jobset.jobset.x-k8s.io/none"}, 1, `jobset "none" not found`},
		{[]string{"cancel", "--yes", "jobset/none"}, 1, "jobset default/none not found. Name the namespace with -n"},
		{[]string{"recreate", "jobset/none", "--managed-by", ""}, 1, `jobset "none" not found in namespace "default"`},
	} {
		args := slices.Concat(tt.args, []string{"--context", management})
		if tt.args[0] != "recreate" {
			args = append(args, "--to", worker1)
		} else {
			args = append(args, "--yes")
		}
		_, stderr, code := run(t, args...)
		assert.Equal(t, code, tt.code, stderr)
		assert.Assert(t, contains(stderr, tt.want), stderr)
	}
}

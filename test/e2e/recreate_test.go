package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture"
)

// runner is an owner that no controller implements.
const runner = "example.com/runner"

// recreated returns the arguments of recreate for the Job train of a namespace.
func recreated(ns string, args ...string) []string {
	return append([]string{"recreate", "train", "--context", management, "-n", ns}, args...)
}

// toFile returns the flag that stores the old Job in a file of the test, and the path of the file.
func toFile(t *testing.T) (flag, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "old.yaml")
	return "--backup=" + path, path
}

func ownerIs(owner string) func(*batchv1.Job) bool {
	return func(j *batchv1.Job) bool {
		return j != nil && (j.Spec.ManagedBy == nil && owner == "" || j.Spec.ManagedBy != nil && *j.Spec.ManagedBy == owner)
	}
}

// TestRecreateThereAndBack checks that a delegated Job runs once it belongs to the built-in
// controller, and is delegated again after it has ended.
func TestRecreateThereAndBack(t *testing.T) {
	t.Parallel()
	const ns = "recreate-back"
	createJobs(t, management, fixture.New(ns, "train", fixture.ManagedBy(runner), fixture.Labels("team", "research")))
	before := jobOf(t, management, ns, "train")

	backup, path := toFile(t)
	out, stderr, code := run(t, recreated(ns, "--managed-by", "", "--yes", backup)...)
	assert.Equal(t, code, 0, stderr)
	assert.Assert(t, contains(out, "--- "+ns+"/train on management, now", "-  managedBy: "+runner+"\n", "\njob.batch/train recreated\n"), out)
	assert.Assert(t, !contains(out, "\n+"+"  ") && !contains(out, string(before.UID)), out)
	assert.Assert(t, contains(stderr, "saved the old job in "+path), stderr)
	ran := eventuallyJob(t, management, ns, "train", func(j *batchv1.Job) bool { return j.Status.Succeeded == 1 && j.Status.CompletionTime != nil })
	assert.Assert(t, ran.UID != before.UID && ownerIs("")(ran) && ran.Labels["team"] == "research", "%+v", ran)

	backup, _ = toFile(t)
	out, stderr, code = run(t, recreated(ns, "--managed-by", runner, "--yes", "-o", "json", backup)...)
	assert.Equal(t, code, 0, stderr)
	var printed batchv1.Job
	assert.NilError(t, json.Unmarshal([]byte(out), &printed))
	assert.Assert(t, contains(stderr, "warning: The Job is Complete: the new one runs its Pods again"), stderr)
	back := jobOf(t, management, ns, "train")
	assert.Assert(t, ownerIs(runner)(back) && back.UID == printed.UID && back.Status.StartTime == nil, "%+v", back)

	// The file has the original Job.
	shell(t, "kubectl --context management -n "+ns+" delete job train && kubectl --context management create -f "+path)
	assert.Assert(t, ownerIs(runner)(jobOf(t, management, ns, "train")))
	info, err := os.Stat(path)
	assert.NilError(t, err)
	assert.Equal(t, info.Mode().Perm(), os.FileMode(0o600))
}

func TestRecreateLeavesARunningJobAlone(t *testing.T) {
	t.Parallel()
	const ns = "recreate-running"
	createJobs(t, management, fixture.New(ns, "train", fixture.RunsFor("1h")))
	waitReady(t, management, ns, "train", 1)
	before := jobOf(t, management, ns, "train")
	backup, path := toFile(t)
	_, stderr, code := run(t, recreated(ns, "--managed-by", runner, "--yes", backup)...)
	assert.Equal(t, code, 1)
	assert.Assert(t, contains(stderr, "error: context \"management\": job "+ns+"/train is running: 1 Pod is active; ", "--force"), stderr)
	assert.Equal(t, jobOf(t, management, ns, "train").UID, before.UID)
	_, err := os.Stat(path)
	assert.Assert(t, os.IsNotExist(err), "%v", err)

	out, stderr, code := run(t, recreated(ns, "--managed-by", runner, "--yes", "--force", "-o", "name", backup)...)
	assert.Equal(t, code, 0, stderr)
	assert.Equal(t, out, "job.batch/train\n")
	assert.Assert(t, contains(stderr, "their work is lost"), stderr)
	after := jobOf(t, management, ns, "train")
	assert.Assert(t, after.UID != before.UID && ownerIs(runner)(after))
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	assert.Assert(t, contains(string(text), "# Job "+ns+"/train of context management, with UID "+string(before.UID), "\n  active: 1\n"), "%s", text)
}

// TestRecreateRefuses checks that recreate refuses what is known to fail before it asks or deletes
// anything.
func TestRecreateRefuses(t *testing.T) {
	t.Parallel()
	const ns = "recreate-refuses"
	createJobs(t, management, fixture.New(ns, "train", fixture.ManagedBy(runner)))
	before := jobOf(t, management, ns, "train")
	allow(t, client(t, management), ns, ns, "batch", "jobs")
	there := filepath.Join(t.TempDir(), "there.yaml")
	assert.NilError(t, os.WriteFile(there, []byte("precious"), 0o600))
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--managed-by", ""}, 2, "standard input is not a terminal"},
		{[]string{"--yes"}, 2, "--managed-by is required"},
		{[]string{"--yes", "--managed-by", "runner"}, 2, `"runner" is not a valid spec.managedBy`},
		{[]string{"--yes", "--managed-by", "", "--queue", "q"}, 2, "--queue is for Jobs managed by kueue.x-k8s.io/multikueue"},
		{[]string{"--yes", "--managed-by", "", "-o", "wide"}, 2, "unknown output format"},
		{[]string{"--yes", "--managed-by", "", "--all-contexts"}, 2, "cannot be combined"},
		{[]string{"--yes", "--managed-by", runner}, 1, "is managed by example.com/runner already"},
		{[]string{"--yes", "--managed-by", string(delegation.MultiKueue)}, 1, "is in no queue"},
		{[]string{"--yes", "--managed-by", string(delegation.MultiKueue), "--queue", "q"}, 1, `LocalQueue "q" does not exist in namespace "recreate-refuses"`},
		{[]string{"--yes", "--managed-by", "", "-n", "nowhere"}, 1, `job "train" not found in namespace "nowhere"`},
		{[]string{"--yes", "--managed-by", "", "--as", ns}, 1, "you may not delete, create jobs in namespace " + ns},
		{[]string{"--yes", "--managed-by", "", "--as", ns, "--dry-run=server"}, 1, "you may not delete, create jobs in namespace " + ns},
		{[]string{"--yes", "--managed-by", "", "--backup", there}, 1, "the file exists"},
		{[]string{"--yes", "--managed-by", "", "--backup", there + "/none/x.yaml"}, 1, "; nothing was changed. Name another file"},
	} {
		out, stderr, code := run(t, recreated(ns, tt.args...)...)
		assert.Equal(t, code, tt.code, "%v: %s", tt.args, stderr)
		assert.Assert(t, contains(stderr, tt.want), "%v: %s", tt.args, stderr)
		assert.Assert(t, !contains(out, "recreated"), out)
	}
	assert.Equal(t, jobOf(t, management, ns, "train").ResourceVersion, before.ResourceVersion)
	text, err := os.ReadFile(there)
	assert.NilError(t, err)
	assert.Equal(t, string(text), "precious")
}

func TestRecreateDryRun(t *testing.T) {
	t.Parallel()
	const ns = "recreate-dry"
	createJobs(t, management, fixture.New(ns, "train", fixture.ManagedBy(runner)))
	before := jobOf(t, management, ns, "train")
	for mode, tells := range map[string]string{"client": "job.batch/train recreated (dry run)\n", "server": "job.batch/train recreated (server dry run)\n"} {
		out, stderr, code := run(t, recreated(ns, "--managed-by", "example.com/other", "--dry-run="+mode)...)
		assert.Equal(t, code, 0, stderr)
		assert.Assert(t, contains(out, "-  managedBy: "+runner+"\n+  managedBy: example.com/other\n", tells), out)
	}
	// The printed object can be created, and is the one that recreate would create.
	out, stderr, code := run(t, recreated(ns, "--managed-by", "", "--dry-run=server", "-o", "yaml")...)
	assert.Equal(t, code, 0, stderr)
	assert.Assert(t, contains(out, "kind: Job\n") && !contains(out, "managedBy") && !contains(out, "uid"), out)

	denyOwner(t, ns, "example.com/denied")
	_, stderr, code = run(t, recreated(ns, "--managed-by", "example.com/denied", "--dry-run=server")...)
	assert.Equal(t, code, 1)
	assert.Assert(t, contains(stderr, "cannot create the new job "+ns+"/train: ", "denied by "+ns, "nothing was changed"), stderr)
	_, stderr, code = run(t, recreated(ns, "--managed-by", "example.com/denied", "--yes")...)
	assert.Equal(t, code, 1, stderr)
	assert.Equal(t, jobOf(t, management, ns, "train").ResourceVersion, before.ResourceVersion)
}

// TestRecreateAsks answers like a user at a terminal.
func TestRecreateAsks(t *testing.T) {
	t.Parallel()
	const ns = "recreate-asks"
	createJobs(t, management, fixture.New(ns, "train", fixture.ManagedBy(runner)))
	before := jobOf(t, management, ns, "train")
	folder := t.TempDir()
	ask := func(answer string) (screen string, code int) {
		cmd := command(t, append([]string{"jobs-managedby"}, recreated(ns, "--managed-by", "")...)...)
		cmd.Dir, cmd.Stderr = folder, nil
		cmd.Env = append(cmd.Env, "TERM=xterm")
		terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
		assert.NilError(t, err)
		late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		var read strings.Builder
		buffer := make([]byte, 4096)
		for asked := false; err == nil; {
			var n int
			n, err = terminal.Read(buffer)
			read.Write(buffer[:n])
			if !asked && strings.Contains(read.String(), "[y/N] ") {
				asked = true
				_, _ = terminal.WriteString(answer)
			}
		}
		_ = cmd.Wait()
		return read.String(), cmd.ProcessState.ExitCode()
	}
	files := func() int {
		entries, err := os.ReadDir(folder)
		assert.NilError(t, err)
		return len(entries)
	}
	for answer, code := range map[string]int{"n\n": 1, "\n": 1, "\x04": 1, "\x03": 130} {
		screen, got := ask(answer)
		assert.Equal(t, got, code, "%q: %s", answer, screen)
		assert.Equal(t, files(), 0)
	}
	assert.Equal(t, jobOf(t, management, ns, "train").ResourceVersion, before.ResourceVersion)

	screen, code := ask("y\n")
	assert.Equal(t, code, 0, screen)
	assert.Assert(t, contains(screen, "\x1b[31m-  managedBy: "+runner+"\x1b[m",
		"Delete job "+ns+"/train on management, and create it again for the built-in controller? [y/N] ", "job.batch/train recreated"), "%q", screen)
	assert.Assert(t, ownerIs("")(jobOf(t, management, ns, "train")))
	names, err := filepath.Glob(filepath.Join(folder, "job-"+ns+"-train-*.yaml"))
	assert.NilError(t, err)
	assert.Equal(t, len(names), 1)
}

// TestRecreateForMultiKueue moves a Job to a queue, and refuses for one that a worker runs.
func TestRecreateForMultiKueue(t *testing.T) {
	const ns = "recreate-kueue"
	sharesKueue(t, ns)
	createJobs(t, management, fixture.New(ns, "train", fixture.ManagedBy(runner), fixture.Limits("nvidia.com/gpu", "1"), fixture.RunsFor("2h")))
	backup, _ := toFile(t)
	_, stderr, code := run(t, recreated(ns, "--managed-by", string(delegation.MultiKueue), "--queue", gpuQueue, "--yes", backup)...)
	assert.Equal(t, code, 0, stderr)
	job := jobOf(t, management, ns, "train")
	assert.Assert(t, ownerIs(string(delegation.MultiKueue))(job) && job.Labels[delegation.QueueNameLabel] == gpuQueue, "%+v", job)

	waitReady(t, management, ns, "train", 1)
	backup, _ = toFile(t)
	_, stderr, code = run(t, recreated(ns, "--managed-by", "", "--queue", "", "--yes", backup)...)
	assert.Equal(t, code, 1, stderr)
	assert.Assert(t, contains(stderr, "job recreate-kueue/train is running: 1 Pod is active"), stderr)
}

// TestRecreateInAFullQuota checks that the old Job releases the quota that the new one needs.
func TestRecreateInAFullQuota(t *testing.T) {
	t.Parallel()
	const ns = "recreate-quota"
	createJobs(t, management, fixture.New(ns, "train", fixture.ManagedBy(runner)))
	_, err := client(t, management).CoreV1().ResourceQuotas(ns).Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "one"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/jobs.batch": resource.MustParse("1")}},
	}, metav1.CreateOptions{})
	assert.NilError(t, err)
	shell(t, `kubectl --context management -n `+ns+` wait resourcequota one --timeout=5m '--for=jsonpath={.status.used.count/jobs\.batch}=1'`)
	backup, _ := toFile(t)
	out, stderr, code := run(t, recreated(ns, "--managed-by", "", "--yes", backup)...)
	assert.Equal(t, code, 0, stderr)
	assert.Assert(t, contains(out, "The quota of the namespace is used up"), out)
	assert.Assert(t, ownerIs("")(jobOf(t, management, ns, "train")))
}

package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/rbactest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// TestMissingClass: trace, check and ls say that the priority class of a Job without a Workload does not
// exist, unless the user may not read it, or the snapshot may lack it. Then the first fix is to look.
func TestMissingClass(t *testing.T) {
	const queued = "app: train\n      kueue.x-k8s.io/queue-name: user-queue"
	for name, tt := range map[string]struct{ labels, podClass, missing, resource string }{
		"of Workloads": {"\n      kueue.x-k8s.io/priority-class: nosuch", "", "WorkloadPriorityClass nosuch", "workloadpriorityclasses"},
		"of Pods":      {"", "priorityClassName: nosuch\n        ", "PriorityClass nosuch", "priorityclasses"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := copyOf(t, "no-queue-name", func(text string) string { return text })
			path := filepath.Join(dir, "kwok-mgr.yaml")
			text, err := os.ReadFile(path)
			assert.NilError(t, err)
			edited := strings.Replace(string(text), "app: train", queued+tt.labels, 1)
			edited = strings.Replace(edited, "restartPolicy: Never", tt.podClass+"restartPolicy: Never", 1)
			assert.NilError(t, os.WriteFile(path, []byte(edited), 0o600))
			says := tt.missing + " does not exist on kwok-mgr, so Kueue creates no Workload"
			fix := "create it, or name a " + strings.TrimSuffix(tt.missing, " nosuch") + " that exists on kwok-mgr"

			call := func(may func(rbactest.Request) bool, args ...string) string {
				kubeconfig := guarded(t, dir, func(r rbactest.Request) bool {
					assert.Check(t, r.AllowedBy(rights.Of(rights.LookSecrets)), r.String())
					return may(r)
				})
				out, _, _ := run(t, append(args, "-n", "default", "--kubeconfig", kubeconfig)...)
				return out
			}
			all := func(rbactest.Request) bool { return true }
			out := call(all, "trace", "train")
			assert.Assert(t, strings.HasPrefix(out, "Job default/train: not running"), out)
			assert.Assert(t, strings.Contains(out, "\n"+says+".\nFix: "+fix) && !strings.Contains(out, "read its log"), out)
			out = call(all, "check", "--grace", "0s")
			assert.Assert(t, strings.Contains(out, says) && strings.Contains(out, "fix: "+fix), out)
			out = call(all, "ls", "--reason")
			assert.Assert(t, strings.Contains(out, says+"."), out)
			withoutRight := func(r rbactest.Request) bool { return r.Resource != tt.resource }
			for _, args := range [][]string{{"trace", "train"}, {"check", "--grace", "0s"}} {
				out = call(withoutRight, args...)
				assert.Assert(t, !strings.Contains(out, says), out)
				assert.Assert(t, strings.Contains(strings.ToLower(out), "fix: check that "+strings.ToLower(tt.missing)+" exists"), out)
			}
			for _, args := range [][]string{{"trace", "train"}, {"check", "--grace", "0s"}, {"ls", "--reason"}} {
				out, _, _ = run(t, append(args, "-n", "default", "--from", dir)...)
				assert.Assert(t, !strings.Contains(out, says), out)
			}
			rewrite(t, filepath.Join(dir, "snapshot.yaml"), "  file: kwok-mgr.yaml\n", "  file: kwok-mgr.yaml\n  recorded: [workloadpriorityclasses.kueue.x-k8s.io, priorityclasses.scheduling.k8s.io]\n  served: [scheduling.k8s.io/v1]\n")
			for _, args := range [][]string{{"trace", "train"}, {"check", "--grace", "0s"}, {"ls", "--reason"}} {
				out, _, _ = run(t, append(args, "-n", "default", "--from", dir)...)
				assert.Assert(t, strings.Contains(out, says), out)
			}
			// Without a class, none is at fault.
			rewrite(t, path, tt.labels, "")
			rewrite(t, path, tt.podClass, "")
			for _, args := range [][]string{{"trace", "train"}, {"check", "--grace", "0s"}} {
				out, _, _ = run(t, append(args, "-n", "default", "--from", dir)...)
				assert.Assert(t, strings.Contains(out, "created no Workload") && !strings.Contains(strings.ToLower(out), "priorityclass"), out)
			}
		})
	}
}

// rewrite replaces a text in a file, "" for nothing.
func rewrite(t *testing.T, path, old, replacement string) {
	t.Helper()
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	if old != "" {
		assert.Assert(t, strings.Contains(string(text), old), path)
		text = []byte(strings.Replace(string(text), old, replacement, 1))
	}
	assert.NilError(t, os.WriteFile(path, text, 0o600))
}

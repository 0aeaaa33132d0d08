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

// TestTraceOfMissingClass: trace says that the priority class of a Job without a Workload does not
// exist, unless the user may not read it, or the snapshot may lack it.
func TestTraceOfMissingClass(t *testing.T) {
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
			says := "kwok-mgr: " + tt.missing + " does not exist, so Kueue creates no Workload.\n"

			trace := func(may func(rbactest.Request) bool) string {
				kubeconfig := guarded(t, dir, func(r rbactest.Request) bool {
					assert.Check(t, r.AllowedBy(rights.Of(rights.LookSecrets)), r.String())
					return may(r)
				})
				out, _, _ := run(t, "trace", "train", "-n", "default", "--kubeconfig", kubeconfig)
				return out
			}
			out := trace(func(rbactest.Request) bool { return true })
			assert.Assert(t, strings.HasPrefix(out, "Job default/train: not running"), out)
			assert.Assert(t, strings.Contains(out, says), out)
			out = trace(func(r rbactest.Request) bool { return r.Resource != tt.resource })
			assert.Assert(t, !strings.Contains(out, says), out)
			out, _, _ = run(t, "trace", "train", "-n", "default", "--from", dir)
			assert.Assert(t, !strings.Contains(out, says), out)
		})
	}
}

package e2e

import (
	"context"
	"os"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// TestCronJob checks that a server accepts the CronJob of docs/scripting.md, its Pod meets the
// restricted Pod security standard, and its command checks the fleet.
func TestCronJob(t *testing.T) {
	t.Parallel()
	const ns = "jobs-managedby"
	kubectl := func(args ...string) {
		out, err := command(t, append([]string{"--context", management}, args...)...).Output()
		assert.NilError(t, err, "%s", out)
	}
	kubectl("create", "-f", "../../examples/cronjob.yaml")
	kubectl("create", "secret", "generic", "fleet", "-n", ns, "--from-file=kubeconfig="+set.Kubeconfig)
	kubectl("create", "job", "try", "-n", ns, "--from=cronjob/check")
	c := client(t, management)
	var container []string
	err := poll.Until(t.Context(), poll.Limit, func(ctx context.Context) (bool, error) {
		pods, err := c.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=try"})
		if err != nil || len(pods.Items) == 0 {
			return false, err
		}
		container = pods.Items[0].Spec.Containers[0].Args
		return true, nil
	})
	assert.NilError(t, err, "the Job has no Pod")
	for i, word := range container {
		switch word {
		case "/fleet/kubeconfig":
			container[i] = set.Kubeconfig
		case "/cache":
			container[i] = t.TempDir()
		}
	}
	cmd := command(t, append([]string{"jobs-managedby"}, container...)...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return len(v) > 10 && v[:10] == "KUBECONFIG" })
	out, _ := cmd.Output()
	// Other tests break clusters, and have Jobs that are stuck.
	assert.Assert(t, slices.Contains([]int{0, 3, 4}, cmd.ProcessState.ExitCode()), "%s", out)
	assert.Assert(t, contains(string(out), `"kind": "FindingList"`), "%s", out)
}

package cmd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// withoutCluster copies the example fleet without its MultiKueueCluster tokyo, before Kueue has noticed that.
func withoutCluster(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	assert.NilError(t, os.CopyFS(dir, os.DirFS("../../examples/fleet")))
	const item = "\n- apiVersion: "
	edit := func(file string, change func(string) string) {
		path := filepath.Join(dir, file)
		text, err := os.ReadFile(path)
		assert.NilError(t, err)
		assert.NilError(t, os.WriteFile(path, []byte(change(string(text))), 0o600))
	}
	edit("management.yaml", func(text string) string {
		items := strings.Split(text, item)
		left := slices.DeleteFunc(slices.Clone(items), func(o string) bool {
			return strings.Contains(o, "\n  kind: MultiKueueCluster\n") && strings.Contains(o, "\n    name: tokyo\n")
		})
		assert.Equal(t, len(items)-len(left), 1)
		return strings.Join(left, item)
	})
	edit("snapshot.yaml", func(text string) string { return strings.Replace(text, "objects: 77", "objects: 76", 1) })
	return dir
}

// TestMissingCluster checks that nothing on a worker without a MultiKueueCluster is a fix, that its creation is the first fix
// of a Job that would fit there, and that check reports a Job that would not.
func TestMissingCluster(t *testing.T) {
	dir := withoutCluster(t)
	for _, tt := range []struct{ namespace, job, reason, fix, found string }{
		{"ml", "sweep", "Needs 8 nvidia.com/gpu; the largest limit is 6 (worker-2, flavor a100).", "run 4 Pods at once, not 8, to fit on worker-1 when other Jobs end (0 nvidia.com/gpu free now): ", "JM029  ml/sweep "},
		{
			"vision", "finetune", "Fits on no cluster. worker-2: MultiKueueCluster tokyo does not exist on management; 1 more on worker-1.",
			"create MultiKueueCluster tokyo on management, with its manifest in FILE: ", "JM011  AdmissionCheck multikueue ",
		},
	} {
		traced, errOut, _ := run(t, "trace", tt.job, "-n", tt.namespace, "--from", dir)
		answer, _, _ := strings.Cut(traced, "\n\n")
		lines := strings.Split(answer, "\n")
		assert.Equal(t, lines[1], tt.reason, errOut)
		assert.Assert(t, strings.HasPrefix(lines[2], "Fix: "+tt.fix), answer)
		assert.Assert(t, strings.Contains(answer, "\nOr:  "), answer)
		for _, other := range []string{"delete", "on worker-2 from", "to fit on worker-2"} {
			assert.Assert(t, !strings.Contains(answer, other), answer)
		}
		checked, _, _ := run(t, "check", tt.job, "-n", tt.namespace, "--grace", "0s", "--from", dir)
		assert.Assert(t, strings.Contains(checked, tt.found), checked)
	}
}

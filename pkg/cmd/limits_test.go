package cmd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// withLimitRange copies a recording whose workers refuse the container of a Job by a LimitRange, which Kueue
// reports as the container's own limit.
func withLimitRange(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	assert.NilError(t, os.CopyFS(dir, os.DirFS(filepath.Join(recordings, "no-quota-on-workers"))))
	const limits = "items:\n- {apiVersion: v1, kind: LimitRange, metadata: {name: lim, namespace: default}, spec: {limits: [{type: Container, max: {cpu: 500m}}]}}\n"
	const misconfigured = `message: 'resources validation failed: spec.podSets[0].template.spec.containers[0]: Invalid value: ["cpu"]: requests must not exceed its limits'` + "\n"
	for _, worker := range []string{"kwok-w1.yaml", "kwok-w2.yaml"} {
		path := filepath.Join(dir, worker)
		text, err := os.ReadFile(path)
		assert.NilError(t, err)
		changed := regexp.MustCompile(`message: 'couldn''t assign flavors(?s:.*?)capacity \(1\)'\n`).ReplaceAllString(string(text), misconfigured)
		changed = strings.NewReplacer("reason: ExceedsMaxQuota", "reason: Misconfigured", "items:\n", limits).Replace(changed)
		assert.NilError(t, os.WriteFile(path, []byte(changed), 0o600))
	}
	return dir
}

// TestLimitRange checks that check and trace name the LimitRange that refuses a Job's Pods, and what the Job
// holds.
func TestLimitRange(t *testing.T) {
	dir := withLimitRange(t)
	out, errOut, _ := run(t, "check", "-n", "default", "--grace", "0s", "--from", dir, "-o", "wide")
	_, _, code := run(t, "check", "-n", "default", "--grace", "0s", "--from", dir)
	assert.Equal(t, code, util.ExitFindings, errOut)
	traced, errOut, _ := run(t, "trace", "train", "-n", "default", "--from", dir)
	for _, wanted := range []string{
		"n kwok-w1, kwok-w2: container main requests 1 cpu; LimitRange lim allows at most 500m",
		"request at most 500m cpu in container main, for kwok-w1 and kwok-w2",
		"raise LimitRange lim in namespace default of kwok-w1: `kubectl --context kwok-w1 -n default edit limitrange lim`",
		"olds: 2 cpu of ClusterQueue cluster-queue on kwok-mgr; ",
	} {
		assert.Check(t, strings.Contains(out, wanted), "check lacks %q:\n%s", wanted, out)
		assert.Check(t, strings.Contains(traced, wanted), "trace lacks %q:\n%s%s", wanted, traced, errOut)
	}
}

// TestPodsThatWaitForEachOther checks that the first fix of an Indexed Job whose Pods all start at once does not run
// fewer of them at once: in distributed training, they would wait for the others forever.
func TestPodsThatWaitForEachOther(t *testing.T) {
	dir := t.TempDir()
	assert.NilError(t, os.CopyFS(dir, os.DirFS(filepath.Join(recordings, "no-quota-on-workers"))))
	const (
		fewer = "run 1 Pod at once, not 2, to fit on kwok-w1 and kwok-w2: `kubectl --context kwok-mgr -n default patch job train "
		raise = "raise the quota of ClusterQueue cluster-queue on kwok-w1 from 1 to 2 cpu"
	)
	for _, tt := range []struct{ mode, first, second string }{
		{"NonIndexed", fewer, raise},
		{"Indexed", raise, "if its Pods do not wait for each other, " + fewer},
	} {
		path := filepath.Join(dir, "kwok-mgr.yaml")
		text, err := os.ReadFile(path)
		assert.NilError(t, err)
		assert.NilError(t, os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "completionMode: NonIndexed", "completionMode: "+tt.mode)), 0o600))
		out, errOut, _ := run(t, "trace", "train", "-n", "default", "--from", dir)
		lines := strings.Split(out, "\n")
		assert.Assert(t, strings.HasPrefix(lines[2], "Fix: "+tt.first) && strings.HasPrefix(lines[3], "Or:  "+tt.second), "%s\n%s%s", tt.mode, out, errOut)
	}
}

package cmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

const bundles = recordings

// invoke runs the plugin without a kubeconfig.
func invoke(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	return run(t, args...)
}

// TestFrom: a bundle is read like a fleet, at the time it was taken.
func TestFrom(t *testing.T) {
	running := filepath.Join(bundles, "running")
	for _, tt := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string
	}{
		{name: "all contexts", args: []string{"-o", "name", "--mirrors"}, stdout: strings.Repeat("job.batch/train\n", 2)},
		{name: "some", args: []string{"-o", "name", "--contexts", "kwok-m*"}, stdout: "job.batch/train\n"},
		{name: "one", args: []string{"-o", "name", "--context", "kwok-w1"}, stdout: "job.batch/train\n"},
		{name: "another namespace", args: []string{"-n", "x"}, stderr: "No Jobs found in namespace x of contexts kwok-mgr, kwok-w1, kwok-w2\n"},
		{name: "age", args: []string{"--context", "kwok-w1", "-o", "custom-columns=AGE:.age"}, code: 2, stderr: "error: output format \"custom-columns=AGE:.age\": unknown field .age for a column; choose one of context, "},
		{name: "no such context", args: []string{"--context", "kwok-w"}, code: 1, stderr: "error: no context \"kwok-w\" in the snapshot " + running + "; did you mean \"kwok-w1\"?\n"},
		{name: "no context matches", args: []string{"--contexts", "x*"}, code: 1, stderr: "error: no context in the snapshot " + running + " matches \"x*\"; it has kwok-mgr, kwok-w1, kwok-w2\n"},
		{name: "credentials", args: []string{"--token", "x", "--as=y", "--insecure-skip-tls-verify"}, code: 2, stderr: "error: --as, --insecure-skip-tls-verify, --token cannot be combined with --from: a snapshot is read without a server\n"},
		{name: "kubeconfig", args: []string{"--kubeconfig", "x"}, code: 2, stderr: "error: --kubeconfig cannot be combined"},
		{name: "watch", args: []string{"-w"}, code: 2, stderr: "error: --from cannot be combined with --watch:"},
		{name: "watch only", args: []string{"--watch-only"}, code: 2, stderr: "error: --from cannot be combined with --watch-only:"},
		{name: "request timeout", args: []string{"--request-timeout", "5s", "-o", "name", "--context", "kwok-w1"}, stdout: "job.batch/train\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stdout, stderr, code := invoke(t, append([]string{"ls", "--from", running}, tt.args...)...)
			assert.Equal(t, code, tt.code, stderr)
			assert.Equal(t, stdout, tt.stdout)
			assert.Assert(t, strings.HasPrefix(stderr, tt.stderr), stderr)
		})
	}
	stdout, _, code := invoke(t, "ls", "--from", filepath.Join(bundles, "worker-lost"))
	assert.Equal(t, code, 4)
	assert.Assert(t, strings.Contains(stdout, "kwok-w1  Unreachable  "), stdout)
	assert.Assert(t, strings.Contains(stdout, " 18s\n"), stdout)
}

// TestSnapshotNeedsADirectory: an invalid directory is reported before a kubeconfig is looked
// for.
func TestSnapshotNeedsADirectory(t *testing.T) {
	dir := t.TempDir()
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for dir, want := range map[string]string{
		dir:                               "error: directory " + dir + " is not empty. Name a new one, or remove it first\n",
		filepath.Join(dir, "file"):        "is a file. Name a new directory\n",
		filepath.Join(dir, "none", "new"): "does not exist. Create it first, for new\n",
		filepath.Join(dir, "new"):         "error: no kubeconfig: ",
	} {
		_, stderr, code := invoke(t, "snapshot", dir)
		assert.Equal(t, code, 1)
		assert.Assert(t, strings.Contains(stderr, want), stderr)
	}
	_, stderr, code := invoke(t, "snapshot")
	assert.Equal(t, code, 2)
	assert.Assert(t, strings.HasPrefix(stderr, "error: kubectl jobs-managedby snapshot takes one argument, the directory to write: kubectl jobs-managedby snapshot DIR\n"), stderr)
}

// TestFromRefused: a command that needs clusters says why it reads no snapshot.
func TestFromRefused(t *testing.T) {
	const changes = "this command changes clusters, and a snapshot is only a record of them"
	for name, tt := range map[string]struct{ args, why string }{
		"wait":         {"train", "a snapshot never changes. trace --from shows the state of the Job in it"},
		"dispatch":     {"train --to kwok-w1", changes},
		"cancel":       {"train", changes},
		"recreate":     {"train --managed-by x.io/y", changes},
		"logs":         {"train", "a snapshot has no logs"},
		"exec":         {"train -- date", "a snapshot has no running Pods"},
		"port-forward": {"train 8080", "a snapshot has no running Pods"},
		"snapshot":     {"copy", "a snapshot is taken of clusters, not of a snapshot"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{name, "--from", filepath.Join(bundles, "running")}, strings.Fields(tt.args)...)
			_, stderr, code := invoke(t, args...)
			assert.Equal(t, code, 2, stderr)
			assert.Assert(t, strings.HasPrefix(stderr, "error: --from cannot be used here: "+tt.why+"\n"), stderr)
		})
	}
}

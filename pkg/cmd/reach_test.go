package cmd

import (
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/rbactest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestPrintedCommandsHaveFlags: if the user gives a kubeconfig by a flag, or uses another user's rights, no
// printed command reaches another cluster of the same name, or acts as another user.
func TestPrintedCommandsHaveFlags(t *testing.T) {
	anything := func(rbactest.Request) bool { return true }
	for name, tt := range map[string]struct {
		recording, command, rest string
		args                     []string
	}{
		"check": {recording: "deactivated", command: "`kubectl", rest: " --context kwok-mgr -n default patch workloads", args: []string{"check", "-A", "--grace", "0s"}},
		"ours":  {recording: "no-queue-name", command: "--queue user-queue", rest: "`", args: []string{"check", "-A", "--grace", "0s"}},
		"trace": {recording: "deactivated", command: `"command": "kubectl`, rest: " --context kwok-mgr -n default patch workloads", args: []string{"trace", tracedJob("deactivated"), "-n", "default"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kubeconfig := guarded(t, filepath.Join(recordings, tt.recording), anything)
			out, errOut, code := run(t, append(tt.args, "-o", "json", "--kubeconfig", kubeconfig, "--as", "some body")...)
			assert.Assert(t, code == util.ExitOK || code == util.ExitFindings || code == util.ExitPartial, "%d %s", code, errOut)
			assert.Assert(t, strings.Contains(out, tt.command+" --as 'some body' --kubeconfig "+kubeconfig+tt.rest), out)
			assert.Assert(t, !strings.Contains(out, "kubectl --context"), out)
		})
	}
}

// TestPrintedCommandsHaveNameOfCall: all printed commands of this plugin have the name by which it was called. The
// container image has only one of its names.
func TestPrintedCommandsHaveNameOfCall(t *testing.T) {
	noQueue := filepath.Join(recordings, "no-queue-name")
	for _, args := range [][]string{
		{"check", "-A", "--grace", "0s", "--from", noQueue},
		{"check", "-A", "--grace", "0s", "-o", "json", "--from", noQueue},
		{"trace", tracedJob("no-queue-name"), "-n", "default", "--from", noQueue},
		{"ls", "-A", "--finding", "JM029", "--all-contexts", "--from", filepath.Join(recordings, "running")},
		{"recreate", "--help"},
	} {
		out, errOut, _ := runIn(t, "/usr/local/bin/kubectl-jobmanagedby", nil, args...)
		assert.Assert(t, strings.Contains(out+errOut, "kubectl jobmanagedby "), "%q: %s%s", args, out, errOut)
		assert.Assert(t, !strings.Contains(out+errOut, "kubectl jobs-managedby"), "%q: %s%s", args, out, errOut)
	}
}

package cmd

import (
	"errors"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/util/exec"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestPodCommandUsage: usage errors of commands that work in a pod.
func TestPodCommandUsage(t *testing.T) {
	kubeconfig(t, "lab", map[string]string{"lab": nowhere})
	for _, tt := range []struct{ args, want string }{
		{"exec", "exec NAME -- COMMAND"},
		{"exec train", "exec requires a command for train: exec NAME -- COMMAND"},
		{"exec -- ls", `exec requires the name of a Job before "--": exec NAME -- COMMAND`},
		{"exec train ls", `exec requires "--" before the command: exec NAME -- COMMAND`},
		{"exec train sweep -- ls", `exec takes one name before "--", not 2: exec NAME -- COMMAND`},
		{"exec job/ -- date", "job/"},
		{"exec train --from x -- date", "a snapshot has no running Pods"},
		{"exec train --pod-running-timeout 0s -- date", "greater than zero"},
		{"port-forward", "port-forward NAME [LOCAL_PORT:]REMOTE_PORT"},
		{"port-forward train", "port-forward NAME [LOCAL_PORT:]REMOTE_PORT"},
		{"port-forward train 80 --from x", "a snapshot has no running Pods"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			_, stderr, code := runIn(t, "kubectl-jobs_managedby", nil, strings.Fields(tt.args)...)
			assert.Equal(t, code, util.ExitUsage, stderr)
			assert.Assert(t, strings.Contains(stderr, tt.want), stderr)
		})
	}
}

// TestExitCodeOfExec: a command in a pod ends with its own exit code.
func TestExitCodeOfExec(t *testing.T) {
	assert.Equal(t, codeOf(exec.CodeExitError{Err: errors.New("command terminated with exit code 7"), Code: 7}), 7)
}

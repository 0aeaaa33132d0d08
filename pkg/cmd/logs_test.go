package cmd

import (
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestLogsUsage: mistakes are reported before any cluster is asked.
func TestLogsUsage(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{}, 2, `takes one argument, the Job's name: kubectl jobs-managedby logs [KIND/]NAME`},
		{[]string{""}, 2, `got [""]`},
		{[]string{"a", "b"}, 2, `got ["a" "b"]`},
		{[]string{"jobb/web"}, 2, `unknown kind "jobb"; did you mean "job"?`},
		{[]string{"job/"}, 2, `"job/" is not of the form [KIND/]NAME`},
		{[]string{"train", "--from", filepath.Join(bundles, "running")}, 2, "--from cannot be used here: a snapshot has no logs"},
		{[]string{"train", "--since", "5m", "--since-time", "2026-08-30T06:00:00Z"}, 2, "--since and --since-time cannot be combined"},
		{[]string{"train", "--since", "-5m"}, 2, "--since must be greater than zero, not -5m0s"},
		{[]string{"train", "--since", "0"}, 2, "--since must be greater than zero, not 0s"},
		{[]string{"train", "--since-time", "yesterday"}, 2, `--since-time must be a time like 2026-08-30T06:00:00Z, not "yesterday"`},
		{[]string{"train", "--tail", "-2"}, 2, "--tail must be a number of lines, or -1 for all, not -2"},
		{[]string{"train", "--all-containers", "-c", "main"}, 2, "--all-containers cannot be combined with --container main"},
		{[]string{"train", "-p", "-f"}, 2, "--previous cannot be combined with --follow"},
		{[]string{"train", "--max-log-requests", "0"}, 2, "--max-log-requests must be greater than zero, not 0"},
		{[]string{"train", "--color", "blue"}, 2, "--color must be auto, always or never"},
		{[]string{"train", "-o", "json"}, 2, "unknown shorthand flag: 'o'"},
		{[]string{"train", "-f", "--tail", "5", "--since-time", "2026-08-30T06:00:00Z", "--prefix=false"}, 1, "no kubeconfig"},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			stdout, stderr, code := invoke(t, append([]string{"logs"}, tt.args...)...)
			assert.Equal(t, code, tt.code, stderr)
			assert.Equal(t, stdout, "")
			assert.Assert(t, strings.HasPrefix(stderr, "error: ") && strings.Contains(stderr, tt.want), stderr)
			if code == util.ExitUsage {
				assert.Assert(t, strings.HasSuffix(stderr, "See 'kubectl jobs-managedby logs -h' for help and examples\n"), stderr)
			}
		})
	}
}

// TestLogsPrefixFlag: one flag has three values.
func TestLogsPrefixFlag(t *testing.T) {
	help, _, code := invoke(t, "logs", "-h")
	assert.Equal(t, code, util.ExitOK)
	assert.Assert(t, strings.Contains(help, "--prefix=false") && !strings.Contains(help, "--from"), help)
}

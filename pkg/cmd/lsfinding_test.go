package cmd

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestListByFinding lists the Jobs with a finding of check, and refuses if nothing is judged,
// because a Job that is not listed would look healthy.
func TestListByFinding(t *testing.T) {
	skipIfShort(t)
	list := func(recording string, args ...string) (stdout, stderr string, code int) {
		return runIn(t, "kubectl-jobs_managedby", nil, append([]string{"ls", "-A", "--from", "../../test/recordings/" + recording}, args...)...)
	}
	const busy = "burst-1"
	stdout, stderr, code := list(busy, "-o", `jsonpath={range .items[*].jobs[*]}{.name}{" "}{.findings[*]}{"\n"}{end}`)
	assert.Equal(t, code, util.ExitOK, stderr)
	var want, others []string
	for _, line := range strings.Split(strings.TrimSpace(stdout), "\n") {
		name, codes, _ := strings.Cut(line, " ")
		if strings.Contains(codes, "JM114") {
			want = append(want, "job.batch/"+name)
		} else {
			others = append(others, name)
		}
	}
	assert.Assert(t, len(want) > 1 && len(others) > 1, stdout)
	for _, codes := range []string{"jm114", "JM101,JM114"} {
		stdout, stderr, code = list(busy, "-o", "name", "--finding", codes)
		assert.Equal(t, code, util.ExitOK, stderr)
		got := strings.Fields(stdout)
		slices.Sort(got)
		slices.Sort(want)
		assert.DeepEqual(t, got, want)
	}
	stdout, stderr, code = list(busy, "--finding", "JM126")
	assert.Equal(t, code, util.ExitOK, stderr)
	assert.Assert(t, stdout == "" && strings.Contains(stderr, "with --finding JM126"), stdout+stderr)

	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--finding", "JM999"}, `unknown code "JM999"`},
		{[]string{"--finding", "JM114", "--field-selector", "metadata.name=a"}, "--finding requires all clusters"},
	} {
		_, stderr, code := list(busy, tt.args...)
		assert.Equal(t, code, util.ExitUsage, stderr)
		assert.Assert(t, strings.Contains(stderr, tt.want), stderr)
	}
	// A Job that was not judged, or only in part, is not reported as healthy.
	dir := copyOf(t, busy, func(snapshot string) string {
		return strings.Replace(snapshot, "  file: kwok-w1.yaml", `  file: kwok-w1.yaml
  unread:
  - resource: pods
    status: {code: 403, reason: Forbidden, message: 'pods is forbidden: User "u" cannot list'}`, 1)
	})
	stdout, stderr, code = runIn(t, "kubectl-jobs_managedby", nil, "ls", "-A", "--from", dir, "--finding", "JM122")
	assert.Equal(t, code, util.ExitPartial, stdout+stderr)
	assert.Assert(t, strings.Contains(stdout, "cannot read pods") && !strings.Contains(stderr, "found"), stdout+stderr)
	stdout, stderr, code = runIn(t, "kubectl-jobs_managedby", nil, "ls", "-A", "--from", dir, "--finding", "JM126")
	assert.Equal(t, code, util.ExitOK, stdout+stderr)

	kubeconfig(t, "lab", map[string]string{"lab": nowhere, "other": nowhere + "/other"})
	_, stderr, code = runIn(t, "kubectl-jobs_managedby", nil, "ls", "--finding", "JM101", "--watch")
	assert.Equal(t, code, util.ExitUsage, stderr)
	assert.Assert(t, strings.Contains(stderr, "check --watch"), stderr)
}

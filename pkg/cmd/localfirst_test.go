package cmd

import (
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestLocalInputFirst: a mistake in local input shows before clusters that do not answer.
func TestLocalInputFirst(t *testing.T) {
	kubeconfig(t, "one", map[string]string{"one": nowhere, "two": nowhere})
	missing := filepath.Join(t.TempDir(), "missing.yaml")
	for args, want := range map[string]struct {
		message string
		code    int
	}{
		"dispatch --to two -f " + missing:                     {"no such file: ", util.ExitError},
		"dispatch train --to two --set-labels a_=c":           {"label a_=c cannot be set: ", util.ExitError},
		"dispatch train --to two --mirror-ttl -2s":            {"--mirror-ttl must be zero or more, or -1s for never, not -2s", util.ExitUsage},
		"trace --filename " + missing + " --queue user-queue": {"no such file: ", util.ExitError},
	} {
		_, errOut, code := run(t, strings.Fields(args)...)
		assert.Equal(t, code, want.code, errOut)
		assert.Assert(t, strings.Contains(errOut, want.message) && !strings.Contains(errOut, "127.0.0.1"), errOut)
	}
}

// TestSnapshotOfNothing: why nothing was recorded is an error, next to the error that nothing was.
func TestSnapshotOfNothing(t *testing.T) {
	kubeconfig(t, "one", map[string]string{"one": nowhere, "two": nowhere})
	out, errOut, code := run(t, "snapshot", filepath.Join(t.TempDir(), "new"))
	assert.Equal(t, code, util.ExitError)
	assert.Equal(t, out, "")
	assert.Equal(t, strings.Count(errOut, "not read (Unreachable): "), 2, errOut)
	assert.Assert(t, strings.HasPrefix(errOut, `error: context "one": not read`) && strings.HasSuffix(errOut, "error: cannot read any context; nothing was written\n"), errOut)
}

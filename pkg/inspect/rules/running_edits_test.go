package rules_test

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestTimeOfEdit checks that the time of an edit is that of its writer: Kueue writes to the mirror afterwards.
func TestTimeOfEdit(t *testing.T) {
	t.Parallel()
	f := foundOnce(t, "many-edits-one-timed-out", "JM036", "a02-par")
	assert.Assert(t, slices.ContainsFunc(f.Evidence, func(line string) bool {
		return strings.HasSuffix(line, "name kubectl-patch, last at 2026-11-23T19:04:24Z")
	}), "%q", f.Evidence)
}

// foundOnce returns the one finding with a code about a Job in a recording.
func foundOnce(t *testing.T, recording, code, job string) inspect.Finding {
	t.Helper()
	found := slices.DeleteFunc(judge(t, inventory(t, recordings+"/"+recording), rules.All(), 0), func(f inspect.Finding) bool {
		return f.Code != code || !slices.ContainsFunc(f.Jobs, func(r inspect.Ref) bool { return r.Name == job })
	})
	assert.Equal(t, len(found), 1, linesOf(found))
	return found[0]
}

package rules_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestWhatWasChangedThere: the number of pods shows in a mirror, and of all else that it does not.
func TestWhatWasChangedThere(t *testing.T) {
	rule, _ := rules.ByCode("JM036")
	for _, c := range []struct {
		edits []edit
		want  string
	}{
		{nil, "kwok-w1: Job default/train wants as many pods as on kwok-mgr, so that its pod template was changed, or is read in another way"},
		{[]edit{patch("kwok-w1", "Job/train", `{spec: {parallelism: 3}}`)}, "spec.parallelism of Job default/train is 3 on kwok-w1, and 2 on kwok-mgr: the number of pods was changed"},
	} {
		found := judge(t, testCase{base: recordedMutated, edits: c.edits}.make(t), []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), 1)
		assert.Assert(t, strings.Contains(strings.Join(found[0].Evidence, "\n"), c.want), "%q", found[0].Evidence)
	}
}

package rules_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestDroppedField checks that no remedy sets managedBy if the
// definitions of the kind are older than the field.
func TestDroppedField(t *testing.T) {
	row := kindRow("jobset")
	for _, row.WithoutField = range []bool{true, false} {
		v := as(open(t, testCase{base: "managed-by-missing"}.bundle(t)).inventory(t), row)
		var texts []string
		for _, f := range judge(t, v, rules.All(), 0) {
			if f.Code == "JM012" {
				texts = append(texts, strings.Join(f.Evidence, "\n")+"\n"+f.Remedy)
			}
		}
		assert.Equal(t, len(texts), 1)
		for _, words := range []string{
			"kwok-mgr: jobsets.jobset.x-k8s.io of jobset.x-k8s.io/v1alpha2 has no spec.managedBy, by its schema",
			"upgrade the operator of JobSets and its CRDs on kwok-mgr to JobSet v0.5.0 or later, then ",
		} {
			assert.Equal(t, strings.Contains(texts[0], words), row.WithoutField, texts[0])
		}
	}
}

// TestMistypedMultiKueue checks that a Job whose owner looks like a typo of MultiKueue's goes to
// MultiKueue first, and not out of its queue.
func TestMistypedMultiKueue(t *testing.T) {
	for owner, isTypo := range map[string]bool{"kueue.x-k8s.io/multi-kueu": true, "example.com/runner": false} {
		v := testCase{base: "managed-by-missing", edits: []edit{patch("kwok-mgr", "Job/default/train", `{spec: {managedBy: `+owner+`}}`)}}.make(t)
		var remedies []string
		for _, f := range judge(t, v, rules.All(), 0) {
			if f.Code == "JM012" {
				remedies = append(remedies, f.Remedy)
			}
		}
		assert.Equal(t, len(remedies), 1)
		assert.Equal(t, strings.HasPrefix(remedies[0], "give it to MultiKueue: "), isTypo, remedies[0])
		assert.Equal(t, strings.HasPrefix(remedies[0], "for its owner "+owner+", remove it from the queue"), !isTypo, remedies[0])
	}
}

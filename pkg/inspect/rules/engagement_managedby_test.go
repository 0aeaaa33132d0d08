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
		assert.Equal(t, strings.HasPrefix(remedies[0], "to keep owner "+owner+", remove the Job from the queue: "), !isTypo, remedies[0])
	}
}

// TestReservedOwnerInMultiKueue checks that the finding about a Job that MultiKueue rejects quotes the value that is
// reserved for the built-in controller. Kueue's webhook replaces it only at creation.
func TestReservedOwnerInMultiKueue(t *testing.T) {
	reserved := patch("kwok-mgr", "Job/default/train", `{spec: {managedBy: kubernetes.io/job-controller}}`)
	late := patch("kwok-mgr", "Job/default/late", `{spec: {managedBy: kubernetes.io/job-controller}}`)
	old := patch("kwok-mgr", "Job/default/train", `{spec: {managedBy: null}}`)
	rule, _ := rules.ByCode("JM012")
	for base, tt := range map[string]struct {
		edits []edit
		want  string
	}{
		"managed-by-missing":                {[]edit{reserved}, "will never run: managedBy is kubernetes.io/job-controller, and MultiKueue rejected it"},
		"localqueue-drained-and-a-late-job": {[]edit{late}, "will never run: its queue uses MultiKueue, but managedBy is kubernetes.io/job-controller"},
	} {
		found := judge(t, testCase{base: base, edits: tt.edits}.make(t), []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), 1, base)
		assert.Equal(t, found[0].Predicate(), tt.want)
	}
	found := judge(t, testCase{base: "managed-by-missing", edits: []edit{old}}.make(t), []rules.Rule{rule}, 0)
	assert.Equal(t, found[0].Predicate(), "will never run: managedBy is not set, and MultiKueue rejected it")
}

package rules_test

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestRestartByTTLIsOneFinding checks that a Job that runs again because of its TTL has one finding about the TTL, which
// says where it runs.
func TestRestartByTTLIsOneFinding(t *testing.T) {
	i := slices.IndexFunc(cases(), func(c testCase) bool { return c.code == "JM039" && c.fires })
	again := cases()[i]
	again.edits = append(again.edits, patch("kwok-w1", "Job/train", "{spec: {ttlSecondsAfterFinished: 5}}"))
	v := again.make(t)
	short, _ := rules.ByCode("JM112")
	assert.Equal(t, len(judge(t, v, []rules.Rule{short}, 0)), 1)
	findings := judge(t, v, rules.All(), 0)
	assert.Assert(t, !slices.Contains(codesOf(findings), "JM112"), codesOf(findings))
	first := findings[slices.IndexFunc(findings, func(f inspect.Finding) bool { return f.Code == "JM039" })]
	assert.Assert(t, strings.HasSuffix(first.Message, "MultiKueue started the Job again on worker1, perhaps after its end"), first.Message)
}

package cmd

import (
	"encoding/xml"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	junitreport "github.com/jstemmer/go-junit-report/v2/junit"
	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// junitOf runs check and returns the test cases of its JUnit report by their names. It checks the
// structure that all readers of JUnit accept.
func junitOf(t *testing.T, args ...string) (cases map[string]junitreport.Testcase, total junitreport.Testsuite) {
	t.Helper()
	out, errOut, _ := run(t, append([]string{"check", "-A", "-o", "junit"}, args...)...)
	var suites junitreport.Testsuites
	assert.NilError(t, xml.Unmarshal([]byte(out), &suites), errOut)
	assert.Equal(t, len(suites.Suites), 1)
	suite := suites.Suites[0]
	assert.Assert(t, suite.Name != "" && suite.Time != "")
	cases = map[string]junitreport.Testcase{}
	counted := junitreport.Testsuite{}
	for _, c := range suite.Testcases {
		assert.Assert(t, c.Name != "" && c.Classname != "" && c.Time != "", "%+v", c)
		_, isKnown := cases[c.Name]
		assert.Assert(t, !isKnown, "two test cases are called %s", c.Name)
		cases[c.Name] = c
		results := 0
		for _, r := range []*junitreport.Result{c.Skipped, c.Error, c.Failure} {
			if r != nil {
				results++
				assert.Assert(t, r.Message != "" && r.Data != "", c.Name)
			}
		}
		assert.Assert(t, results <= 1, "%s has %d results", c.Name, results)
		counted.AddTestcase(c)
	}
	for _, n := range []struct{ suite, suites, want int }{
		{suite.Tests, suites.Tests, counted.Tests},
		{suite.Failures, suites.Failures, counted.Failures},
		{suite.Errors, suites.Errors, counted.Errors},
		{suite.Skipped, suites.Skipped, counted.Skipped},
	} {
		assert.Equal(t, n.suite, n.want)
		assert.Equal(t, n.suites, n.want)
	}
	return cases, suite
}

// TestJUnit: a report has the findings and, on request, the passed rules, named after the
// condition that holds.
func TestJUnit(t *testing.T) {
	dir := filepath.Join(recordings, "no-queue-name")
	const found = "JM013 every delegated Job has a queue label, and requests what the queue covers: kwok-mgr default Job train"
	cases, total := junitOf(t, "--from", dir, "--grace", "0s")
	assert.Equal(t, total.Tests, 1)
	assert.Assert(t, cases[found].Failure != nil, "%v", cases)

	_, total = junitOf(t, "--from", dir, "--grace", "0s", "--fail-on", "none")
	assert.Equal(t, total.Failures, 0)

	cases, total = junitOf(t, "--from", dir, "--grace", "0s", "--with-passed")
	assert.Equal(t, total.Tests, len(rules.All()))
	assert.Equal(t, total.Failures, 1)
	assert.Equal(t, total.Skipped, 0)
	assert.Assert(t, cases[found].Failure != nil)
	rule, _ := rules.ByCode("JM101")
	passed, isThere := cases["JM101 "+rule.Holds]
	assert.Assert(t, isThere && passed.Failure == nil && passed.Skipped == nil && passed.Error == nil)

	_, errOut, code := run(t, "check", "--from", dir, "--with-passed")
	assert.Equal(t, code, util.ExitUsage)
	assert.Assert(t, strings.Contains(errOut, "--with-passed requires -o junit"), errOut)
}

// TestJUnitOfUnreadContext: nothing passes that was not checked, and the report has the reason.
func TestJUnitOfUnreadContext(t *testing.T) {
	lost := []string{"--from", filepath.Join(recordings, "worker-lost"), "--grace", "0s"}
	_, total := junitOf(t, lost...)
	assert.Equal(t, total.Errors, 1, "the context that was not read")
	assert.Assert(t, total.Failures > 0)
	cases, total := junitOf(t, append(lost, "--with-passed")...)
	assert.Assert(t, total.Tests > len(rules.All()))
	for name, c := range cases {
		assert.Assert(t, c.Failure != nil || c.Error != nil || c.Skipped != nil || c.SystemOut != nil, "%s passed", name)
	}

	// A worker that was not selected may have what any rule looks for.
	cases, _ = junitOf(t, "-A", "--from", exampleFleet, "--contexts", "management,worker-1", "--grace", "0s", "--with-passed")
	for _, code := range []string{"JM029", "JM053"} {
		rule, _ := rules.ByCode(code)
		c, isThere := cases[code+" "+rule.Holds]
		assert.Assert(t, !isThere || c.Skipped != nil, "%s passed", code)
	}

	dir := copyOf(t, "running", func(snapshot string) string {
		return strings.Replace(snapshot, "  file: kwok-w1.yaml", `  file: kwok-w1.yaml
  unread:
  - resource: workloads.kueue.x-k8s.io
    status: {code: 403, reason: Forbidden, message: 'workloads is forbidden: User "u" cannot list'}`, 1)
	})
	cases, total = junitOf(t, "--from", dir, "--grace", "0s", "--with-passed")
	assert.Equal(t, total.Errors, 0)
	skipped := 0
	for _, r := range rules.All() {
		c, isThere := cases[r.Code+" "+r.Holds]
		if !isThere {
			continue
		}
		assert.Equal(t, c.Skipped != nil, slices.Contains(r.Reads, inspect.PartWorkloads), r.Code)
		if c.Skipped != nil {
			skipped++
			assert.Assert(t, strings.Contains(c.Skipped.Message, "kwok-w1: "), c.Skipped.Message)
		}
	}
	assert.Assert(t, skipped > 0 && total.Skipped == skipped+1, "%d of %d", skipped, total.Skipped)
}

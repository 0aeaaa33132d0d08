package rules_test

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// findingOf returns the finding with a code, and fails if there is none.
func findingOf(t *testing.T, findings []inspect.Finding, code string) inspect.Finding {
	t.Helper()
	i := slices.IndexFunc(findings, func(f inspect.Finding) bool { return f.Code == code })
	assert.Assert(t, i >= 0, "%s is not among %v", code, codesOf(findings))
	return findings[i]
}

// TestWorkerWithoutKueue checks that a worker which answers and has no Kueue is not called
// unreachable, whatever the manager's last message says, and that its lost Jobs are named.
func TestWorkerWithoutKueue(t *testing.T) {
	for code, message := range map[string]string{
		"JM004": lost,
		"JM007": "unable to retrieve the complete list of server APIs: kueue.x-k8s.io/v1beta2: no matches for kueue.x-k8s.io/v1beta2, Resource=",
	} {
		c := testCase{name: "reinstalled", code: code, base: "running", edits: []edit{
			cannotUse("worker1", "ClientConnectionFailed", message), remove("kwok-w1", "Job/default/train"), remove("kwok-w1", "Pod/*"), remove("kwok-w1", "Workload/*"),
		}}
		v := c.make(t)
		worker := v.Facts("kwok-w1")
		worker.Kueue, worker.NoKueue = nil, true
		findings := judge(t, v, rules.All(), 0)
		assert.Equal(t, strings.Join(codesOf(findings), " "), code, linesOf(findings))
		f := findings[0]
		assert.Equal(t, f.Message, "kwok-mgr cannot use worker worker1: kwok-w1 has no Kueue; it lost 1 Job: default/train")
		assert.Assert(t, strings.HasPrefix(f.Remedy, "install Kueue 0.15 or later on worker1: "), f.Remedy)
		assert.Assert(t, !strings.Contains(f.Remedy, "restore"), f.Remedy)

		c.code, c.edits = "JM4 "+code, append(c.edits, class("kwok-mgr", "7"))
		v = c.make(t)
		worker = v.Facts("kwok-w1")
		worker.Kueue, worker.NoKueue = nil, true
		report := rules.Report(v, rules.Options{})
		i := slices.IndexFunc(report.Clusters, func(c inspect.DoctorCluster) bool { return c.Context == "kwok-w1" })
		assert.DeepEqual(t, report.Clusters[i].Passed, []string{"clocks"})
	}
}

// TestWorkerThatIsManager checks that doctor keeps both roles of a cluster, and reports a worker that
// two managers share although their configurations are unknown.
func TestWorkerThatIsManager(t *testing.T) {
	c := testCase{name: "second manager", code: "JM411", base: "running", edits: secondManager()}
	report := rules.Report(c.make(t), rules.Options{})
	f := findingOf(t, report.Items, "JM411")
	assert.Equal(t, f.Severity, inspect.Warning)
	assert.Equal(t, f.Message, "kwok-mgr and kwok-w2 share worker first (context kwok-w1); cannot tell whether multiKueue.origin differs")
	assert.Equal(t, report.Summary.Managers, 2)
	assert.Equal(t, report.Summary.Workers, 2)
	i := slices.IndexFunc(report.Clusters, func(c inspect.DoctorCluster) bool { return c.Context == "kwok-w2" })
	assert.Equal(t, report.Clusters[i].Role, inspect.RoleManager)
	assert.DeepEqual(t, report.Clusters[i].Names, []string{"worker2"})
}

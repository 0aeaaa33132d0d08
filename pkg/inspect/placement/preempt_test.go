package placement_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestPreemptsAboveNominal checks which Workloads a request above the nominal quota of its queue could
// preempt: none, unless it may while borrowing, a smaller cohort has enough quota, or shares decide.
func TestPreemptsAboveNominal(t *testing.T) {
	const groups = "namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4}]}]}]"
	const policy = "withinClusterQueue: LowerPriority, reclaimWithinCohort: Any"
	cluster := func(policy, status, workloads string) string {
		return plain + `
queues:
- {metadata: {name: q}, spec: {cohortName: x, preemption: {` + policy + `}, ` + groups + `}, status: {` + status + `}}
- {metadata: {name: r}, spec: {cohortName: x, ` + groups + `}}
workloads: [` + workloads + `]
`
	}
	const tree = `
cohorts: [{metadata: {name: x}, spec: {parentName: root, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4}]}]}]}}]
`
	own, other := holding("q", "a", "f", "8", "0"), holding("r", "a", "f", "8", "0")
	far := strings.ReplaceAll(cluster(policy, "", holding("r", "a", "f", "12", "0"))+tree, "name: r}, spec: {cohortName: x", "name: r}, spec: {cohortName: root")
	urgent := "\nown: {metadata: {uid: mine, creationTimestamp: \"2026-01-01T00:00:00Z\"}, spec: {queueName: q, priority: 1000}}\n"
	for name, tt := range map[string]struct {
		cluster, job string
		verdict      inspect.Verdict
		says         string
		preempts     bool
	}{
		"at its nominal quota, its own":      {cluster(policy, "", own), pods("4", "cpu: 1"), inspect.Waits, "could preempt ml/a", true},
		"at its nominal quota, another's":    {cluster(policy, "", other), pods("4", "cpu: 1"), inspect.Waits, "could preempt ml/a", true},
		"its own":                            {cluster(policy, "", own), pods("5", "cpu: 1"), inspect.Waits, "ml/a holds 8", false},
		"another's":                          {cluster(policy, "", other), pods("5", "cpu: 1"), inspect.Waits, "ml/a holds 8", false},
		"never borrowing":                    {cluster(policy+", borrowWithinCohort: {policy: Never}", "", other), pods("5", "cpu: 1"), inspect.Waits, "ml/a holds 8", false},
		"borrowing, its own":                 {cluster(policy+", borrowWithinCohort: {policy: LowerPriority}", "", own), pods("5", "cpu: 1"), inspect.Waits, "could preempt ml/a", true},
		"borrowing, another's":               {cluster(policy+", borrowWithinCohort: {policy: LowerPriority}", "", other), pods("5", "cpu: 1"), inspect.Waits, "could preempt ml/a", true},
		"borrowing, equal priority":          {cluster(policy+", borrowWithinCohort: {policy: LowerPriority}", "", holding("r", "a", "f", "8", "1000")), pods("5", "cpu: 1"), inspect.Waits, "ml/a holds 8", false},
		"borrowing, above the threshold":     {cluster(policy+", borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: -1}", "", other), pods("5", "cpu: 1"), inspect.Waits, "ml/a holds 8", false},
		"borrowing, at the threshold":        {cluster(policy+", borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: 0}", "", other), pods("5", "cpu: 1"), inspect.Waits, "could preempt ml/a", true},
		"fair shares":                        {cluster(policy, "fairSharing: {}", other), pods("5", "cpu: 1"), inspect.Waits, "could preempt ml/a", true},
		"its cohort has enough":              {far, pods("5", "cpu: 1"), inspect.Waits, "could preempt ml/a", true},
		"its cohort has not enough":          {far, pods("9", "cpu: 1"), inspect.Waits, "ml/a holds 12", false},
		"may start with fewer":               {cluster(policy, "", holding("q", "a", "f", "7", "0")), flexible("5", "1"), inspect.Fits, "with fewer Pods", false},
		"may start with fewer, and preempts": {cluster(policy, "", holding("q", "a", "f", "7", "0")), flexible("4", "1"), inspect.Waits, "could preempt ml/a", true},
	} {
		t.Run(name, func(t *testing.T) {
			p := judged(t, tt.cluster+urgent, tt.job)
			assert.Equal(t, p.Verdict, tt.verdict, p.Message)
			assert.Equal(t, p.Preempts, tt.preempts, p.Message)
			assert.Equal(t, strings.Contains(p.Message, "could preempt"), tt.preempts, p.Message)
			assert.Assert(t, strings.Contains(p.Message, tt.says), p.Message)
		})
	}
}

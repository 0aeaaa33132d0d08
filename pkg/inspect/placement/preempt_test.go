package placement_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// urgent is the Workload of a Job with priority 1000.
const urgent = "\nown: {metadata: {uid: mine, creationTimestamp: \"2026-01-01T00:00:00Z\"}, spec: {queueName: q, priority: 1000}}\n"

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
	for name, tt := range map[string]struct {
		cluster, job string
		verdict      inspect.Verdict
		says         string
		preempts     bool
	}{
		"at its nominal quota, its own":           {cluster(policy, "", own), pods("4", "cpu: 1"), inspect.Waits, "could preempt ml/a", true},
		"at its nominal quota, another's":         {cluster(policy, "", other), pods("4", "cpu: 1"), inspect.Waits, "could preempt ml/a", true},
		"its own":                                 {cluster(policy, "", own), pods("5", "cpu: 1"), inspect.Waits, "ml/a holds 8", false},
		"another's":                               {cluster(policy, "", other), pods("5", "cpu: 1"), inspect.Waits, "ml/a holds 8", false},
		"never borrowing":                         {cluster(policy+", borrowWithinCohort: {policy: Never}", "", other), pods("5", "cpu: 1"), inspect.Waits, "ml/a holds 8", false},
		"borrowing, its own":                      {cluster(policy+", borrowWithinCohort: {policy: LowerPriority}", "", own), pods("5", "cpu: 1"), inspect.Waits, "could preempt ml/a", true},
		"borrowing, another's":                    {cluster(policy+", borrowWithinCohort: {policy: LowerPriority}", "", other), pods("5", "cpu: 1"), inspect.Waits, "could preempt ml/a", true},
		"borrowing, equal priority":               {cluster(policy+", borrowWithinCohort: {policy: LowerPriority}", "", holding("r", "a", "f", "8", "1000")), pods("5", "cpu: 1"), inspect.Waits, "ml/a holds 8", false},
		"borrowing, above the threshold":          {cluster(policy+", borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: -1}", "", other), pods("5", "cpu: 1"), inspect.Waits, "ml/a holds 8", false},
		"borrowing, at the threshold":             {cluster(policy+", borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: 0}", "", other), pods("5", "cpu: 1"), inspect.Waits, "could preempt ml/a", true},
		"fair shares":                             {cluster(policy, "fairSharing: {}", other), pods("5", "cpu: 1"), inspect.Waits, "could preempt ml/a", true},
		"its cohort has enough":                   {far, pods("5", "cpu: 1"), inspect.Waits, "could preempt ml/a", true},
		"its cohort has not enough":               {far, pods("9", "cpu: 1"), inspect.Waits, "ml/a holds 12", false},
		"may start with fewer":                    {cluster(policy, "", holding("q", "a", "f", "7", "2000")), flexible("5", "1"), inspect.Fits, "with fewer Pods", false},
		"may start with few, or preempt for more": {cluster(policy, "", holding("q", "a", "f", "7", "0")), flexible("5", "1"), inspect.Waits, "needs 4 cpu, 1 free (flavor f)", true},
		"may start with fewer, and preempts":      {cluster(policy, "", holding("q", "a", "f", "7", "0")), flexible("4", "1"), inspect.Waits, "could preempt ml/a", true},
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

// TestVictims checks which Workloads could be preempted if several ClusterQueues hold the quota.
func TestVictims(t *testing.T) {
	const (
		reclaim = "preemption: {reclaimWithinCohort: Any}"
		both    = "preemption: {reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}"
	)
	queue := func(name, cohort, nominal, more string) string {
		return "- {metadata: {name: " + name + "}, spec: {cohortName: " + cohort + ", " + more + ", namespaceSelector: {}, " +
			"resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: " + nominal + "}]}]}]}}\n"
	}
	const open = "stopPolicy: None"
	// r uses the quota of i.
	siblings := func(more string) string {
		return queue("q", "x", "4", more) + queue("r", "x", "4", open) + queue("i", "x", "4", open)
	}
	// c has enough quota for r, so only o uses quota of q.
	nested := queue("q", "x", "4", reclaim) + queue("r", "c", "4", open) + queue("o", "x", "4", open) +
		"cohorts: [{metadata: {name: c}, spec: {parentName: x, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 8}]}]}]}}]\n"
	for name, tt := range map[string]struct {
		queues    string
		workloads []string
		requested string
		victims   string
	}{
		"reclaims its unused quota":           {siblings(reclaim), []string{holding("q", "a", "f", "1", "0"), holding("r", "b", "f", "11", "0")}, "3", "ml/b"},
		"has used its quota itself":           {siblings(reclaim), []string{holding("q", "a", "f", "4", "0"), holding("r", "b", "f", "8", "0")}, "3", ""},
		"has used some of its quota itself":   {siblings(reclaim), []string{holding("q", "a", "f", "3", "0"), holding("r", "b", "f", "9", "0")}, "3", ""},
		"has used its quota, and preempts":    {siblings(both), []string{holding("q", "a", "f", "4", "0"), holding("r", "b", "f", "8", "0")}, "3", "ml/a"},
		"preempts its own, and then reclaims": {siblings(both), []string{holding("q", "a", "f", "2", "0"), holding("q", "u", "f", "1", "2000"), holding("r", "b", "f", "9", "0")}, "3", "ml/a, ml/b"},
		"in a cohort within its quota":        {nested, []string{holding("r", "b", "f", "8", "0"), holding("o", "d", "f", "12", "0")}, "4", "ml/d"},
		"in a cohort above its quota":         {nested, []string{holding("r", "b", "f", "15", "0"), holding("o", "d", "f", "5", "0")}, "4", "ml/b, ml/d"},
		"only in a cohort within its quota":   {nested, []string{holding("q", "a", "f", "8", "0"), holding("r", "b", "f", "12", "0")}, "4", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := judged(t, plain+"queues:\n"+tt.queues+"workloads: ["+strings.Join(tt.workloads, ", ")+"]\n"+urgent, pods(tt.requested, "cpu: 1"))
			assert.Equal(t, p.Verdict, inspect.Waits, p.Message)
			_, victims, _ := strings.Cut(p.Message, "; could preempt ")
			assert.Equal(t, victims, tt.victims, p.Message)
			assert.Equal(t, p.Preempts, tt.victims != "", p.Message)
		})
	}
}

// TestQueueOutOfService checks that Kueue preempts no Workloads of a ClusterQueue that is stopped or inactive.
func TestQueueOutOfService(t *testing.T) {
	for name, tt := range map[string]struct {
		spec, status string
		preempts     bool
	}{
		"active":          {"", `conditions: [{type: Active, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]`, true},
		"without a state": {"", "", true},
		"inactive":        {"", `conditions: [{type: Active, status: "False", reason: AdmissionCheckInactive, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]`, false},
		"stopped":         {"stopPolicy: Hold, ", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			const groups = "namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4}]}]}]"
			p := judged(t, plain+`
queues:
- {metadata: {name: q}, spec: {cohortName: x, preemption: {reclaimWithinCohort: Any}, `+groups+`}}
- {metadata: {name: r}, spec: {cohortName: x, `+tt.spec+groups+`}, status: {`+tt.status+`}}
workloads: [`+holding("r", "a", "f", "8", "0")+"]\n"+urgent, pods("2", "cpu: 1"))
			assert.Equal(t, p.Verdict, inspect.Waits, p.Message)
			assert.Equal(t, p.Preempts, tt.preempts, p.Message)
		})
	}
}

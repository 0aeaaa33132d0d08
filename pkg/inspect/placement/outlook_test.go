package placement_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestChangeSaysWhenItStarts checks that a change of the Pods says whether the Job starts after it.
func TestChangeSaysWhenItStarts(t *testing.T) {
	const (
		fewer    = "request at most 4 cpu (4 Pods at once, not 5), for w"
		tolerate = "tolerate taint spot=true:NoSchedule of flavor f on w"
		selects  = "set node selector disk=hdd, for flavor f on w"
		now      = ", where it fits now"
		flavors  = "flavors: [{metadata: {name: f}}]\n"
		spot     = `flavors: [{metadata: {name: f}, spec: {nodeTaints: [{key: spot, value: "true", effect: NoSchedule}]}}]` + "\n"
		hdd      = "flavors: [{metadata: {name: f}, spec: {nodeLabels: {disk: hdd}}}]\n"
		ssd      = `{spec: {template: {spec: {nodeSelector: {disk: ssd}, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}}`
	)
	tainted, labeled := strings.Replace(simple("4"), flavors, spot, 1), strings.Replace(simple("4"), flavors, hdd, 1)
	uses := func(cpu string) string { return "workloads: [" + holding("q", "a", "f", cpu, "0") + "]" }
	counted := own("ExceedsMaxQuota", "too much") + "told: [{name: main, resources: {cpu: "
	for name, tt := range map[string]struct{ cluster, job, change string }{
		"fewer Pods":                          {simple("4"), pods("5", "cpu: 1"), fewer + now},
		"fewer Pods, in use":                  {simple("4") + uses("1"), pods("5", "cpu: 1"), fewer + " when other Jobs end (3 cpu free now)"},
		"fewer Pods, behind another Job":      {strict("4") + "workloads: [" + waiting("head", "99") + "]", pods("5", "cpu: 1"), fewer + " once it is first in its queue"},
		"fewer Pods, in use, behind it":       {strict("4") + "workloads: [" + waiting("head", "99") + ", " + holding("q", "a", "f", "1", "0") + "]", pods("5", "cpu: 1"), fewer + " when other Jobs end (3 cpu free now)"},
		"fewer Pods, first in its queue":      {strict("4"), pods("5", "cpu: 1"), fewer + now},
		"fewer Pods, may preempt":             {strings.Replace(simple("4"), "{namespaceSelector", "{preemption: {withinClusterQueue: LowerPriority}, namespaceSelector", 1) + "workloads: [" + holding("q", "a", "f", "1", "-1") + "]", pods("5", "cpu: 1"), fewer + " when other Jobs end or are preempted (3 cpu free now)"},
		"fewer Pods, counted by the template": {simple("4") + counted + "5}}]", pods("5", "cpu: 1"), fewer + now},
		"fewer Pods, counted otherwise":       {simple("4") + counted + "10}}]", pods("5", "cpu: 1"), "request at most 4 cpu (2 Pods at once, not 5), for w"},
		"one Pod that is too large":           {simple("4"), pods("1", "cpu: 5"), "request at most 4 cpu, for w"},
		"one Pod that is too large, in use":   {simple("4") + uses("1"), pods("1", "cpu: 5"), "request at most 4 cpu, for w when other Jobs end (3 cpu free now)"},
		"toleration":                          {tainted, pods("1", "cpu: 1"), tolerate + now},
		"toleration, in use":                  {tainted + uses("4"), pods("1", "cpu: 1"), tolerate + " when other Jobs end (0 cpu free now)"},
		"node selector":                       {labeled, ssd, selects + now},
		"node selector, in use":               {labeled + uses("4"), ssd, selects + " when other Jobs end (0 cpu free now)"},
	} {
		p := judged(t, tt.cluster, tt.job)
		if assert.Check(t, len(p.Changes) > 0, "%s: %s", name, p.Message) {
			assert.Check(t, p.Changes[0].Message == tt.change, "%s: %s", name, p.Changes[0].Message)
		}
	}
}

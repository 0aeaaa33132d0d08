package placement_test

import (
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
)

// TestClasses checks that the priority decides which Job comes first in a
// StrictFIFO queue and which may be preempted, and that the overhead of a
// RuntimeClass counts. If a class was not read and decides, the verdict is
// unknown.
func TestClasses(t *testing.T) {
	strict := strings.Replace(simple("4"), "{namespaceSelector: {}", "{queueingStrategy: StrictFIFO, namespaceSelector: {}", 1) + `
workloads: [{metadata: {namespace: ml, name: first, uid: first, creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {queueName: q, priority: 10}, status: {conditions: [
  {type: QuotaReserved, status: "False", reason: WaitingForQuota, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}]`
	full := strings.Replace(simple("4"), "{namespaceSelector: {}", "{preemption: {withinClusterQueue: LowerPriority}, namespaceSelector: {}", 1) +
		"workloads: [" + holding("q", "low", "f", "3", "10") + "]"
	runtime := `{spec: {template: {spec: {runtimeClassName: kata, containers: [{name: c, resources: {requests: {cpu: 3}}}]}}}}`
	overhead := &nodev1.RuntimeClass{Overhead: &nodev1.Overhead{PodFixed: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}}}
	const unread = "PriorityClass high could not be read"
	for name, tt := range map[string]struct {
		cluster, job string
		class        *placement.Class
		verdict      inspect.Verdict
		says         string
	}{
		"no class, behind another":               {strict, pods("2", "cpu: 1"), nil, inspect.Waits, "behind ml/first (priority 10)"},
		"a higher priority":                      {strict, pods("2", "cpu: 1"), &placement.Class{Priority: 100}, inspect.Fits, ""},
		"a priority that was not read":           {strict, pods("2", "cpu: 1"), &placement.Class{PriorityUnread: unread}, inspect.Unknown, unread},
		"a priority that decides nothing":        {simple("4"), pods("2", "cpu: 1"), &placement.Class{PriorityUnread: unread}, inspect.Fits, ""},
		"a class that may not exist":             {simple("4"), pods("2", "cpu: 1"), &placement.Class{Unread: unread}, inspect.Unknown, unread},
		"too large, though it may not exist":     {full, pods("5", "cpu: 1"), &placement.Class{Unread: unread}, inspect.Never, ""},
		"Pods whose class may not exist":         {simple("4"), pods("2", "cpu: 1"), &placement.Class{UnreadForPods: unread}, inspect.Unknown, unread},
		"too large, whatever its priority":       {full, pods("5", "cpu: 1"), &placement.Class{PriorityUnread: unread}, inspect.Never, ""},
		"could preempt":                          {full, pods("3", "cpu: 1"), &placement.Class{Priority: 100}, inspect.Waits, "could preempt ml/low"},
		"maybe could preempt":                    {full, pods("3", "cpu: 1"), &placement.Class{PriorityUnread: unread}, inspect.Unknown, unread},
		"without overhead":                       {simple("4"), runtime, &placement.Class{}, inspect.Fits, ""},
		"with overhead":                          {simple("4"), runtime, &placement.Class{Runtime: overhead}, inspect.Never, "needs 5 cpu, limit 4"},
		"with an overhead that was not read":     {simple("4"), runtime, &placement.Class{RuntimeUnread: "RuntimeClass kata was not found"}, inspect.Unknown, "RuntimeClass kata"},
		"too large, whatever its overhead":       {simple("2"), runtime, &placement.Class{RuntimeUnread: "RuntimeClass kata was not found"}, inspect.Never, ""},
		"the overhead of no RuntimeClass at all": {simple("4"), pods("3", "cpu: 1"), &placement.Class{Runtime: overhead}, inspect.Fits, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := parse[world](t, tt.cluster)
			j := parse[batchv1.Job](t, tt.job)
			j.Namespace = "ml"
			r := placement.OfJob(&j, "q")
			if tt.class != nil {
				r.Check("w").Class = tt.class
			}
			v := inspect.NewInventory(time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC), []*inspect.Facts{w.facts()}, nil)
			all := placement.Submit(v, &r)
			assert.Equal(t, len(all), 1)
			assert.Equal(t, all[0].Verdict, tt.verdict, all[0].Message)
			assert.Assert(t, strings.Contains(all[0].Message, tt.says), all[0].Message)
		})
	}
}

// TestLimitRangeOrder checks that before 0.20, the verdict is unknown only if
// it depends on the order of limits and LimitRange defaults, which depends on
// the patch version.
func TestLimitRangeOrder(t *testing.T) {
	limits := `
limits: [{metadata: {namespace: ml, name: d}, spec: {limits: [{type: Container, defaultRequest: {cpu: 500m}}]}}]`
	limited := `{spec: {template: {spec: {containers: [{name: c, resources: {limits: {cpu: 4}}}]}}}}`
	for name, tt := range map[string]struct {
		quota   string
		isOld   bool
		verdict inspect.Verdict
	}{
		"enough in either order, old":  {"4", true, inspect.Fits},
		"it decides, old":              {"2", true, inspect.Unknown},
		"too little in both, old":      {"250m", true, inspect.Never},
		"limits come first since 0.20": {"2", false, inspect.Never},
		"enough since 0.20":            {"4", false, inspect.Fits},
	} {
		t.Run(name, func(t *testing.T) {
			w := parse[world](t, simple(tt.quota)+limits)
			j := parse[batchv1.Job](t, limited)
			j.Namespace = "ml"
			r := placement.OfJob(&j, "q")
			f := w.facts()
			f.Kueue.ServesOld = tt.isOld
			v := inspect.NewInventory(time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC), []*inspect.Facts{f}, nil)
			got := placement.Submit(v, &r)[0]
			assert.Equal(t, got.Verdict, tt.verdict, got.Message)
			if tt.verdict == inspect.Unknown {
				assert.Assert(t, strings.Contains(got.Message, "depending on the version of Kueue"), got.Message)
			}
		})
	}
}

// TestUnreadWorkload checks that it is unknown where a request runs if its Workload could not be read.
func TestUnreadWorkload(t *testing.T) {
	w := parse[world](t, simple("4"))
	j := parse[batchv1.Job](t, pods("2", "cpu: 1"))
	j.Namespace = "ml"
	r := placement.OfJob(&j, "q")
	r.Check("w").UnreadWorkload = "cannot tell whether Workload ml/a exists"
	v := inspect.NewInventory(time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC), []*inspect.Facts{w.facts()}, nil)
	got := placement.Submit(v, &r)[0]
	assert.Equal(t, got.Verdict, inspect.Unknown)
	assert.Equal(t, got.Message, "cannot tell whether Workload ml/a exists")
}

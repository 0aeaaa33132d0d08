package placement_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// world is a short description of a cluster.
type world struct {
	Queues    []*kueue.ClusterQueue    `json:"queues"`
	Cohorts   []*kueue.Cohort          `json:"cohorts"`
	Flavors   []*kueue.ResourceFlavor  `json:"flavors"`
	Locals    []*kueue.LocalQueue      `json:"locals"`
	Workloads []*kueue.ClaimedWorkload `json:"workloads"`
	Limits    []*corev1.LimitRange     `json:"limits"`
	// Labels are the labels of namespace ml.
	Labels map[string]string `json:"labels"`
	// Unread are parts that could not be read.
	Unread []inspect.Part `json:"unread"`
	// Own is the Workload of the request there.
	Own *kueue.Workload `json:"own"`
	// Requested is what the Pods request according to Kueue.
	Requested []kueue.PodSetRequests `json:"told"`
	// Reclaimable are the Pods that have ended, according to its Workload there.
	Reclaimable []kueue.ReclaimablePods `json:"reclaimable"`
}

// plain is a cluster with a LocalQueue ml/q of ClusterQueue q.
const plain = `
locals: [{metadata: {namespace: ml, name: q}, spec: {clusterQueue: q}}]
flavors: [{metadata: {name: f}}]
`

// simple is a queue with an amount of CPU.
func simple(cpu string) string {
	return plain + `
queues: [{metadata: {name: q}, spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: ` + cpu + `}]}]}]}}]
`
}

// holding is a Workload that holds an amount of CPU in a flavor.
func holding(queue, name, flavor, cpu, priority string) string {
	return `{metadata: {namespace: ml, name: ` + name + `, uid: ` + name + `}, spec: {priority: ` + priority + `}, status: {admission: {clusterQueue: ` + queue +
		`, podSetAssignments: [{name: main, count: 1, flavors: {cpu: ` + flavor + `}, resourceUsage: {cpu: ` + cpu + `}}]},
 conditions: [{type: QuotaReserved, status: "True", reason: QuotaReserved, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`
}

func (w *world) facts() *inspect.Facts {
	c := &inspect.Capacity{
		ClusterQueues: w.Queues, LocalQueues: w.Locals, Cohorts: w.Cohorts, Flavors: w.Flavors, LimitRanges: w.Limits,
		Namespaces: map[string]*inspect.Namespace{"ml": {Name: "ml", Labels: w.Labels}}, Gaps: map[inspect.Part]error{},
	}
	for _, o := range w.Workloads {
		if claim := o.Claim(); claim != nil {
			c.Claims = append(c.Claims, claim)
		}
	}
	for _, part := range w.Unread {
		c.Gaps[part] = errors.New(string(part) + " are forbidden")
		switch part {
		case inspect.PartCohorts:
			c.Cohorts = nil
		case inspect.PartFlavors:
			c.Flavors = nil
		case inspect.PartClusterQueues:
			c.ClusterQueues = nil
		case inspect.PartClaims:
			c.Claims = nil
		default:
		}
	}
	return &inspect.Facts{Context: "w", Kueue: &inspect.KueueFacts{Capacity: c}}
}

func parse[T any](t *testing.T, text string) T {
	t.Helper()
	var o T
	assert.NilError(t, yaml.UnmarshalStrict([]byte(text), &o), text)
	return o
}

// judged returns a Job's placement on a cluster. job is a short form of its
// spec.
func judged(t *testing.T, cluster, job string) *inspect.Placement {
	t.Helper()
	w := parse[world](t, cluster)
	j := parse[batchv1.Job](t, job)
	j.Namespace = "ml"
	r := placement.OfJob(&j, "q")
	f := w.facts()
	if w.Own != nil {
		r.Rank.Priority = w.Own.Rank().Priority
		f.Kueue.Capacity.Templates = map[types.UID]*kueue.PodTemplates{w.Own.UID: {}}
		f.Kueue.Capacity.Templates[w.Own.UID].Status.ResourceRequests = w.Requested
		f.Kueue.Capacity.Templates[w.Own.UID].Status.Reclaimable = w.Reclaimable
	}
	return placement.On(f, &r, w.Own, time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC))
}

// pods is a Job with a number of Pods that each request an amount.
func pods(count, requests string) string {
	return `{spec: {parallelism: ` + count + `, template: {spec: {containers: [{name: c, resources: {requests: {` + requests + `}}}]}}}}`
}

// TestOn checks the cases of quota, flavors and queues of the reference.
func TestOn(t *testing.T) {
	gpus := strings.ReplaceAll(simple("10"), "coveredResources: [cpu]", "coveredResources: [cpu, gpu]")
	two := plain + `
queues: [{metadata: {name: q}, spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [
  {name: f, resources: [{name: cpu, nominalQuota: 2}]}, {name: g, resources: [{name: cpu, nominalQuota: 2}]}]}]}}]
`
	// tainted has another group of resources, which the test completes.
	tainted := `
locals: [{metadata: {namespace: ml, name: q}, spec: {clusterQueue: q}}]
flavors: [{metadata: {name: f}, spec: {nodeTaints: [{key: spot, value: "true", effect: NoSchedule}]}}, {metadata: {name: h}}]
queues: [{metadata: {name: q}, spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 9}]}]}, {coveredResources: [gpu], `
	for name, c := range map[string]struct{ cluster, job, verdict, message, change string }{
		"room": {simple("4") + "workloads: [" + holding("q", "a", "f", "1", "0") + "]", pods("3", "cpu: 1"), "fits", "fits now", ""},
		"busy": {
			simple("4") + "workloads: [" + holding("q", "a", "f", "2", "0") + "]", pods("3", "cpu: 1"), "waits",
			"needs 3 cpu, 2 free (flavor f); ml/a holds 2 (priority 0, since 60m)", "raise the quota of ClusterQueue q on w from 4 to 5 cpu (flavor f)",
		},
		"too big":                                {simple("4"), pods("5", "cpu: 1"), "never", "needs 5 cpu, limit 4 (flavor f)", "request at most 4 cpu (4 Pods at once, not 5)"},
		"fewer completions than pods at once":    {simple("4"), `{spec: {parallelism: 10, completions: 3, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}}`, "fits", "", ""},
		"may start with fewer":                   {simple("4") + "workloads: [" + holding("q", "a", "f", "2", "0") + "]", flexible("5", "2"), "fits", "with fewer Pods", ""},
		"may start with fewer, and all is taken": {simple("4") + "workloads: [" + holding("q", "a", "f", "4", "0") + "]", flexible("5", "2"), "waits", "needs 2 cpu, 0 free (flavor f)", ""},
		"too many at least":                      {simple("4"), flexible("8", "5"), "never", "needs 5 cpu, limit 4 (flavor f)", ""},
		"an extended resource without quota":     {simple("4"), `{spec: {template: {spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}`, "never", "needs 1 nvidia.com/gpu (ClusterQueue q has no quota for it)", "add nvidia.com/gpu to a flavor of ClusterQueue q on w"},
		"a resource without quota":               {simple("4"), `{spec: {template: {spec: {containers: [{name: c, resources: {limits: {gpu: 1}}}]}}}}`, "unknown", "needs 1 gpu (ClusterQueue q has no quota for it), unless Kueue's configuration excludes or transforms it", "add gpu to a flavor of ClusterQueue q on w"},
		"a resource without quota, says Kueue":   {simple("4") + own("NoMatchingFlavor", "couldn't assign flavors to pod set main: resource gpu unavailable in ClusterQueue"), `{spec: {template: {spec: {containers: [{name: c, resources: {limits: {gpu: 1}}}]}}}}`, "never", "needs 1 gpu (ClusterQueue q has no quota for it)", "add gpu to a flavor of ClusterQueue q on w"},
		"covered, and in no flavor":              {gpus, pods("1", "cpu: 1, gpu: 1"), "never", "needs 1 gpu, limit 0 (flavor f)", ""},
		"nothing asked":                          {simple("0"), pods("1", ""), "fits", "", ""},
		"the namespace asks for it":              {simple("1") + `limits: [{metadata: {namespace: ml, name: l}, spec: {limits: [{type: Container, defaultRequest: {cpu: 2}}]}}]`, pods("1", ""), "never", "needs 2 cpu, limit 1 (flavor f)", ""},
		"the namespace allows a lower limit":     {simple("9") + `limits: [{metadata: {namespace: ml, name: l}, spec: {limits: [{type: Container, max: {cpu: 1}}]}}]`, `{spec: {parallelism: 1, template: {spec: {containers: [{name: c, resources: {limits: {cpu: 2}}}]}}}}`, "never", "container c has a limit of 2 cpu; LimitRange l allows at most 1", ""},
		"the namespace allows less":              {simple("9") + `limits: [{metadata: {namespace: ml, name: l}, spec: {limits: [{type: Container, max: {cpu: 1}}]}}]`, pods("1", "cpu: 2"), "never", "container c requests 2 cpu; LimitRange l allows at most 1", ""},
		"another namespace's limits":             {simple("1") + `limits: [{metadata: {namespace: other, name: l}, spec: {limits: [{type: Container, defaultRequest: {cpu: 2}}]}}]`, pods("1", ""), "fits", "", ""},
		"counted in pods":                        {strings.ReplaceAll(simple("2"), "cpu", "pods"), pods("3", "cpu: 1m"), "never", "", ""},
		"no splitting over flavors":              {two + "flavors: [{metadata: {name: f}}, {metadata: {name: g}}]", pods("4", "cpu: 1"), "never", "needs 4 cpu, limit 2 (flavor f); needs 4 cpu, limit 2 (flavor g)", "request at most 2 cpu"},
		"parts of cpu":                           {simple("4500m"), pods("3", "cpu: 1500m"), "fits", "", ""},
		"a full flavor, and one that is tainted": {two + `flavors: [{metadata: {name: f}}, {metadata: {name: g}, spec: {nodeTaints: [{key: spot, value: "true", effect: NoSchedule}]}}]
workloads: [` + holding("q", "a", "f", "2", "0") + "]", pods("1", "cpu: 1"), "waits", "needs 1 cpu, 0 free (flavor f); ml/a holds 2", "tolerate taint spot=true:NoSchedule of flavor g"},
		"a taint, and too large": {
			simple("4") + `flavors: [{metadata: {name: f}, spec: {nodeTaints: [{key: spot, value: "true", effect: NoSchedule}]}}]`, pods("5", "cpu: 1"), "never",
			"does not tolerate taint spot=true:NoSchedule of flavor f, and needs 5 cpu, limit 4", "request at most 4 cpu (4 Pods at once, not 5) and tolerate taint spot=true:NoSchedule of flavor f on w",
		},
		"a taint, and too large for another group of resources": {
			tainted + "flavors: [{name: h, resources: [{name: gpu, nominalQuota: 2}]}]}]}}]", pods("4", "cpu: 1, gpu: 1"), "never",
			"does not tolerate taint spot=true:NoSchedule of flavor f", "request at most 2 gpu (2 Pods at once, not 4) and tolerate taint spot=true:NoSchedule of flavor f on w",
		},
		"other labels, and too large": {
			simple("4") + `flavors: [{metadata: {name: f}, spec: {nodeLabels: {disk: hdd}}}]`,
			`{spec: {template: {spec: {nodeSelector: {disk: ssd}, containers: [{name: c, resources: {requests: {cpu: 5}}}]}}}}`, "never",
			"flavor f (disk=hdd) does not match its node selector disk=ssd (needs 5 cpu, limit 4)", "request at most 4 cpu and set node selector disk=hdd, for flavor f on w",
		},
		"a taint, and full": {
			simple("4") + `flavors: [{metadata: {name: f}, spec: {nodeTaints: [{key: spot, value: "true", effect: NoSchedule}]}}]
workloads: [` + holding("q", "a", "f", "4", "0") + "]", pods("1", "cpu: 1"), "never",
			"does not tolerate taint spot=true:NoSchedule of flavor f", "tolerate taint spot=true:NoSchedule of flavor f on w",
		},
		"one Pod that is too large":                    {simple("4"), pods("1", "cpu: 5"), "never", "needs 5 cpu, limit 4 (flavor f)", "request at most 4 cpu, for w"},
		"a taint that the flavor's Workloads tolerate": {plain + simple("4")[len(plain):] + `flavors: [{metadata: {name: f}, spec: {nodeTaints: [{key: spot, effect: NoSchedule}], tolerations: [{operator: Exists}]}}]`, pods("1", "cpu: 1"), "fits", "", ""},
		"labels that no flavor knows":                  {simple("4"), `{spec: {template: {spec: {nodeSelector: {disk: ssd}, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}}`, "fits", "", ""},
		"other labels": {
			simple("4") + `flavors: [{metadata: {name: f}, spec: {nodeLabels: {disk: hdd}}}]`,
			`{spec: {template: {spec: {nodeSelector: {disk: ssd}, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}}`, "never", "flavor f (disk=hdd) does not match its node selector disk=ssd", "set node selector disk=hdd, for flavor f on w",
		},
		"a term about another label": {simple("4") + `flavors: [{metadata: {name: f}, spec: {nodeLabels: {zone: y}}}]`, affinity(`requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
  {matchExpressions: [{key: zone, operator: In, values: [x]}]}, {matchExpressions: [{key: other, operator: Exists}]}]}`), "fits", "", ""},
		"preferred, and other labels": {
			simple("4") + `flavors: [{metadata: {name: f}, spec: {nodeLabels: {zone: y}}}]`,
			affinity(`preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: zone, operator: In, values: [x]}]}}]`), "fits", "", "",
		},
		"required, and other labels": {
			simple("4") + `flavors: [{metadata: {name: f}, spec: {nodeLabels: {zone: y}}}]`,
			affinity(`requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [x]}]}]}`), "never", "", "",
		},
		"a topology is asked for, and there is one": {simple("4") + `flavors: [{metadata: {name: f}, spec: {topologyName: t}}]`, topology(), "unknown", "flavor f places Pods by topology, which depends on its nodes", ""},
		"a topology is requested, none exists":      {simple("4"), topology(), "never", "flavor f has no topology, which its Pods request", ""},
		"a topology that is too small":              {simple("0") + `flavors: [{metadata: {name: f}, spec: {topologyName: t}}]`, topology(), "never", "needs 1 cpu, limit 0 (flavor f)", ""},
		"a cohort that lends": {plain + `
queues:
- {metadata: {name: q}, spec: {cohortName: x, namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 0}]}]}]}}
- {metadata: {name: r}, spec: {cohortName: x, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 5}]}]}]}}`, pods("4", "cpu: 1"), "fits", "", ""},
		"a cohort that could not be read": {plain + `
queues: [{metadata: {name: q}, spec: {cohortName: x, namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 0}]}]}]}}]
unread: [Cohorts]`, pods("4", "cpu: 1"), "unknown", "ClusterQueue q borrows from cohort x: Cohorts are forbidden", ""},
		"no namespaces":    {strings.ReplaceAll(simple("4"), "namespaceSelector: {}, ", ""), pods("1", "cpu: 1"), "never", "ClusterQueue q selects no namespace (no namespaceSelector)", "let ClusterQueue q on w select namespace ml: kubectl --context w patch"},
		"other namespaces": {strings.ReplaceAll(simple("4"), "namespaceSelector: {}", "namespaceSelector: {matchLabels: {team: a}}"), pods("1", "cpu: 1"), "never", "ClusterQueue q does not select namespace ml (selector team=a)", "if namespace ml may use ClusterQueue q, label it on w: kubectl --context w label namespace ml --overwrite team=a"},
		"this namespace":   {strings.ReplaceAll(simple("4"), "namespaceSelector: {}", "namespaceSelector: {matchLabels: {team: a}}") + "labels: {team: a}", pods("1", "cpu: 1"), "fits", "", ""},
		"cohorts in a cycle": {
			strings.Replace(simple("4"), "{namespaceSelector", "{cohortName: x, namespaceSelector", 1) + "cohorts: [{metadata: {name: x}, spec: {parentName: z}}, {metadata: {name: z}, spec: {parentName: x}}]", pods("1", "cpu: 1"), "never",
			"the cohorts of ClusterQueue q form a loop", "break the cycle of cohorts x → z → x above ClusterQueue q on w: change spec.parentName of one: kubectl --context w edit",
		},
		"a stopped LocalQueue": {
			strings.ReplaceAll(simple("4"), "{clusterQueue: q}", "{clusterQueue: q, stopPolicy: Hold}"), pods("1", "cpu: 1"), "never", "LocalQueue ml/q is stopped (Hold)",
			"if its maintenance is over, resume LocalQueue ml/q on w: kubectl --context w -n ml patch",
		},
		"a stopped ClusterQueue that is too small": {
			strings.ReplaceAll(simple("4"), "{namespaceSelector", "{stopPolicy: Hold, namespaceSelector"), pods("5", "cpu: 1"), "never",
			"needs 5 cpu, limit 4 (flavor f)", "request at most 4 cpu",
		},
		"a stopped LocalQueue of one that is too small": {
			strings.ReplaceAll(simple("4"), "{clusterQueue: q}", "{clusterQueue: q, stopPolicy: Hold}"), pods("5", "cpu: 1"), "never",
			"needs 5 cpu, limit 4 (flavor f)", "request at most 4 cpu",
		},
		"a stopped ClusterQueue":                               {strings.ReplaceAll(simple("4"), "{namespaceSelector", "{stopPolicy: HoldAndDrain, namespaceSelector"), pods("1", "cpu: 1"), "never", "ClusterQueue q is stopped", "if its maintenance is over, resume ClusterQueue q on w: kubectl --context w patch"},
		"no LocalQueue":                                        {strings.ReplaceAll(simple("4"), "name: q}, spec: {clusterQueue", "name: other}, spec: {clusterQueue"), pods("1", "cpu: 1"), "never", "LocalQueue ml/q does not exist", "create LocalQueue ml/q on w"},
		"no ClusterQueue":                                      {plain, pods("1", "cpu: 1"), "never", "ClusterQueue q", "create ClusterQueue q on w, or recreate the LocalQueue for an existing one: kubectl --context w get"},
		"ClusterQueues that may not be read":                   {simple("4") + "unread: [ClusterQueues]", pods("1", "cpu: 1"), "unknown", "ClusterQueues are forbidden", ""},
		"ClusterQueues that may not be read, and Kueue's word": {simple("4") + "unread: [ClusterQueues]\n" + own("WaitingForQuota", "3 more needed"), pods("1", "cpu: 1"), "waits", "Kueue says: waits for quota that others use: 3 more needed", ""},
		"flavors that may not be read":                         {simple("4") + "unread: [ResourceFlavors]", pods("1", "cpu: 1"), "unknown", "flavor f is not known", ""},
		"flavors that may not be read, and not enough in any":  {simple("4") + "unread: [ResourceFlavors]", pods("5", "cpu: 1"), "never", "", ""},
		"Kueue says that it waits, and there is room":          {simple("4") + own("WaitingForQuota", "3 more needed"), pods("1", "cpu: 1"), "waits", "by the quotas read it fits now, but Kueue says: waits for quota that others use: 3 more needed", "check that Kueue runs on w: the quota fits, and Kueue has not judged it again"},
		"Kueue says that it waits, and it has just given quota to another one": {
			simple("4") + own("WaitingForQuota", "3 more needed") + "workloads: [" + strings.Replace(holding("q", "a", "f", "1", "0"), "T00:00:00Z", "T00:59:30Z", 1) + "]",
			pods("1", "cpu: 1"), "waits", "by the quotas read it fits now, but Kueue says: waits for quota that others use: 3 more needed", "wait until Kueue on w judges it again: it has just given quota to ml/a",
		},
		"Kueue says that it waits, and it gave quota long ago": {
			simple("4") + own("WaitingForQuota", "3 more needed") + "workloads: [" + holding("q", "a", "f", "1", "0") + "]",
			pods("1", "cpu: 1"), "waits", "by the quotas read it fits now", "check that Kueue runs on w",
		},
		"Kueue says that it waits, and another one is first": {
			strict("4") + strings.Replace(own("WaitingForQuota", "3 more needed"), "uid: o}", "uid: o}, spec: {priority: -1}", 1) + "workloads: [" + waiting("head", "99") + "]",
			pods("1", "cpu: 1"), "waits", "behind ml/head (priority 0) in ClusterQueue q (StrictFIFO)", "",
		},
		"Kueue queues it again later, and there is room": {simple("4") + later, pods("1", "cpu: 1"), "waits", "Kueue says: ", "wait until Kueue queues the Workload again"},
		"Kueue queues it again later, and flavors may not be read": {
			simple("4") + "unread: [ResourceFlavors]\n" + later, pods("1", "cpu: 1"), "waits",
			"Kueue says: evicted because its Pods were not ready in time; waits until Kueue queues it again", "wait until Kueue queues the Workload again",
		},
		"Kueue says never, and there is room":         {simple("4") + own("ExceedsMaxQuota", "too much"), pods("1", "cpu: 1"), "unknown", "by the quotas read it fits now, but Kueue says: needs more than the limit: too much", "check that Kueue runs on w: the quota fits, and Kueue has not judged it again"},
		"Kueue says that it waits, and it is too big": {simple("4") + own("WaitingForQuota", "3 more needed"), pods("5", "cpu: 1"), "waits", "", "raise the quota of ClusterQueue q on w from 4 to 5 cpu"},
		"what Kueue counts":                           {simple("4") + own("ExceedsMaxQuota", "too much") + "told: [{name: main, resources: {cpu: 5}}]", pods("1", "cpu: 1"), "never", "needs 5 cpu, limit 4 (flavor f)", ""},
		"deactivated":                                 {simple("4") + "own: {metadata: {uid: o}, spec: {active: false}}", pods("1", "cpu: 1"), "never", "deactivated", ""},
		"MultiKueue withdraws it":                     {simple("4") + `own: {metadata: {uid: o}, spec: {active: false}, status: {conditions: [{type: Evicted, status: "True", reason: DeactivatedDueToEvictedOnManagerCluster, message: "", lastTransitionTime: null}]}}`, pods("1", "cpu: 1"), "waits", "MultiKueue withdrew it", "wait until MultiKueue deletes this copy"},
		"it has quota":                                {simple("4") + `own: {metadata: {uid: o}, status: {conditions: [{type: QuotaReserved, status: "True", reason: "", message: "", lastTransitionTime: null}]}}`, pods("9", "cpu: 1"), "fits", "has quota", ""},
		"behind a head that never fits":               {strict("4") + "workloads: [" + waiting("head", "99") + "]", pods("1", "cpu: 1"), "waits", "behind ml/head (priority 0) in ClusterQueue q (StrictFIFO)", ""},
		"passing a head that never fits":              {simple("4") + "workloads: [" + waiting("head", "99") + "]", pods("1", "cpu: 1"), "fits", "", ""},
		"could preempt": {
			preempting(simple("4"), "withinClusterQueue: LowerPriority") + "workloads: [" + holding("q", "a", "f", "4", "10") + "]\nown: {metadata: {uid: o}, spec: {priority: 1000}}",
			pods("1", "cpu: 1"), "waits", "could preempt ml/a", "",
		},
		"may not preempt": {simple("4") + "workloads: [" + holding("q", "a", "f", "4", "10") + "]\nown: {metadata: {uid: o}, spec: {priority: 1000}}", pods("1", "cpu: 1"), "waits", "ml/a holds 4 (priority 10, since 60m)", ""},
		"as the queue reports": {plain + `
queues: [{metadata: {name: q}, spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4}]}]}]},
  status: {flavorsReservation: [{name: f, resources: [{name: cpu, total: 3}]}]}}]
unread: ["workloads of all namespaces"]`, pods("2", "cpu: 1"), "waits", "needs 2 cpu, 1 free (flavor f); holder unknown: workloads of all namespaces are forbidden", ""},
		"a group without flavors": {plain + `
queues: [{metadata: {name: q}, spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu]}]}}]
`, pods("1", "cpu: 1"), "never", "needs 1 cpu (ClusterQueue q has no quota for it)", ""},
		"Kueue says never of the whole, and fewer would fit": {simple("4") + own("ExceedsMaxQuota", "too much"), flexible("5", "2"), "fits", "with fewer Pods", ""},
		"devices": {
			simple("4"), `{spec: {template: {spec: {resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}], containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}}`,
			"unknown", "devices by ResourceClaims", "",
		},
		"devices, and too big besides": {
			simple("4"), `{spec: {template: {spec: {resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}], containers: [{name: c, resources: {requests: {cpu: 5}}}]}}}}`,
			"never", "", "",
		},
		"what is in use is not known": {simple("4") + `unread: ["workloads of all namespaces"]`, pods("2", "cpu: 1"), "unknown", "the usage of ClusterQueue q is unknown", ""},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := c.cluster
			if i := strings.LastIndex(cluster, "\nflavors: "); i > 0 && strings.Count(cluster, "\nflavors: ") > 1 || strings.Count(cluster, "flavors: [{metadata") > 1 {
				// The last one counts.
				cluster = strings.Replace(cluster, "flavors: [{metadata: {name: f}}]\n", "", 1)
			}
			p := judged(t, cluster, c.job)
			assert.Equal(t, string(p.Verdict), c.verdict, p.Message)
			assert.Assert(t, strings.Contains(p.Message, c.message), p.Message)
			var changes []string
			for _, change := range p.Changes {
				changes = append(changes, change.Message+": "+change.Command)
			}
			assert.Assert(t, strings.Contains(strings.Join(changes, "\n"), c.change), "%q", changes)
		})
	}
}

func flexible(count, least string) string {
	return `{metadata: {annotations: {kueue.x-k8s.io/job-min-parallelism: "` + least + `"}}, spec: {parallelism: ` + count +
		`, template: {spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}}`
}

func affinity(node string) string {
	return `{spec: {template: {spec: {affinity: {nodeAffinity: {` + node + `}}, containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}}`
}

func topology() string {
	return `{spec: {template: {metadata: {annotations: {kueue.x-k8s.io/podset-required-topology: rack}}, spec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}}}}`
}

// later is a Workload that Kueue queues again after a delay.
const later = `own: {metadata: {uid: o}, status: {conditions: [{type: QuotaReserved, status: "False", reason: Pending, message: "", lastTransitionTime: null},
  {type: Evicted, status: "True", reason: PodsReadyTimeout, message: "", lastTransitionTime: null}]}}
`

func own(reason, message string) string {
	return `own: {metadata: {uid: o}, status: {conditions: [{type: QuotaReserved, status: "False", reason: ` + reason + `, message: "` + message + `", lastTransitionTime: null}]}}
`
}

func strict(cpu string) string {
	return strings.ReplaceAll(simple(cpu), "{namespaceSelector", "{queueingStrategy: StrictFIFO, namespaceSelector")
}

func preempting(cluster, policy string) string {
	return strings.ReplaceAll(cluster, "{namespaceSelector", "{preemption: {"+policy+"}, namespaceSelector")
}

func waiting(name, cpu string) string {
	return `{metadata: {namespace: ml, name: ` + name + `, uid: ` + name + `, creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {queueName: q},
 status: {resourceRequests: [{name: main, resources: {cpu: ` + cpu + `}}]}}`
}

// TestTopologyOfAWorkload checks that the label of a Pod's index, which Kueue
// records in every Workload, does not count as a topology request.
func TestTopologyOfAWorkload(t *testing.T) {
	w := parse[world](t, simple("4"))
	j := parse[batchv1.Job](t, pods("1", "cpu: 1"))
	j.Namespace = "ml"
	r := placement.OfJob(&j, "q")
	for asked, verdict := range map[string]string{
		`{podIndexLabel: batch.kubernetes.io/job-completion-index}`:                               "fits",
		`{podIndexLabel: i, subGroupIndexLabel: g, subGroupCount: 2}`:                             "fits",
		`{podIndexLabel: i, required: rack}`:                                                      "never",
		`{preferred: rack}`:                                                                       "never",
		`{unconstrained: true}`:                                                                   "never",
		`{podSetSliceRequiredTopology: rack, podSetSliceSize: 2}`:                                 "never",
		`{podsetSliceRequiredTopologyConstraints: [{topology: rack, size: 2}], subGroupCount: 2}`: "never",
	} {
		var topology kueue.TopologyRequest
		assert.NilError(t, yaml.Unmarshal([]byte(asked), &topology))
		r.PodSets[0].Topology = &topology
		assert.Equal(t, string(placement.On(w.facts(), &r, nil, time.Time{}).Verdict), verdict, asked)
	}
}

// TestMissingFlavor checks that the fix for a queue that is inactive names the flavor that it lacks.
func TestMissingFlavor(t *testing.T) {
	inactive := strings.Replace(simple("4"), "{metadata: {name: q}, spec: {namespaceSelector",
		`{metadata: {name: q}, status: {conditions: [{type: Active, status: "False", reason: FlavorNotFound, lastTransitionTime: null,
			message: "references missing ResourceFlavor(s): f."}]}, spec: {namespaceSelector`, 1)
	for flavors, want := range map[string][]inspect.PlacementChange{
		// The fix of the rules, too: created since.
		"[{metadata: {name: f}}]": {{Message: "add what ClusterQueue q on w lacks", Command: "kubectl --context w describe clusterqueues.kueue.x-k8s.io q"}},
		"[{metadata: {name: other}}]": {
			{Message: "correct the flavor's name in ClusterQueue q on w", Command: "kubectl --context w edit clusterqueues.kueue.x-k8s.io q"},
			{
				Message: "create ResourceFlavor f on w (no ResourceFlavor of this name was read). Replace LABEL and VALUE with a label of the flavor's nodes",
				Command: `printf '%s\n' '{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ResourceFlavor","metadata":{"name":"f"},"spec":{"nodeLabels":{"LABEL":"VALUE"}}}' | kubectl --context w create -f -`,
			},
		},
	} {
		p := judged(t, strings.Replace(inactive, "[{metadata: {name: f}}]", flavors, 1), pods("1", "cpu: 1"))
		assert.Equal(t, p.Reason, inspect.QueueInactive)
		assert.DeepEqual(t, p.Changes, want)
	}
}

// TestPodSetsTogether checks that podsets that wait for the same quota need
// it together.
func TestPodSetsTogether(t *testing.T) {
	now := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC)
	for _, tt := range []struct{ cluster, message, change string }{
		{simple("4") + "workloads: [" + holding("q", "a", "f", "4", "0") + "]", "needs 3 cpu, 0 free (flavor f)", "raise the quota of ClusterQueue q on w from 4 to 7 cpu (flavor f)"},
		// The quota was lowered below what is in use.
		{simple("4") + "workloads: [" + holding("q", "a", "f", "14", "0") + "]", "needs 3 cpu, 0 free (flavor f)", "raise the quota of ClusterQueue q on w from 4 to 17 cpu (flavor f)"},
		{simple("0"), "needs 3 cpu, limit 0 (flavor f)", "raise the quota of ClusterQueue q on w from 0 to 3 cpu (flavor f)"},
	} {
		w := parse[world](t, tt.cluster)
		leader, workers := parse[batchv1.Job](t, pods("1", "cpu: 1")), parse[batchv1.Job](t, pods("2", "cpu: 1"))
		leader.Namespace = "ml"
		r := placement.OfJob(&leader, "q")
		r.PodSets[0].Name = "leader"
		r.PodSets = append(r.PodSets, placement.OfJob(&workers, "q").PodSets...)
		p := placement.On(w.facts(), &r, nil, now)
		assert.Assert(t, strings.Contains(p.Message, tt.message), p.Message)
		assert.Assert(t, slices.ContainsFunc(p.Changes, func(c inspect.PlacementChange) bool { return c.Message == tt.change }), "%+v", p.Changes)
	}
}

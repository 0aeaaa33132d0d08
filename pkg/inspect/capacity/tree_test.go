package capacity_test

import (
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// objects is a short form of a cluster: its objects in Kueue's API, and the
// cpu in use in flavor f, by ClusterQueue.
type objects struct {
	Queues  []*kueue.ClusterQueue `json:"queues"`
	Cohorts []*kueue.Cohort       `json:"cohorts"`
	Used    map[string]string     `json:"used"`
}

func tree(t *testing.T, text string) *capacity.Tree {
	t.Helper()
	var o objects
	assert.NilError(t, yaml.UnmarshalStrict([]byte(text), &o))
	s := capacity.Sources{Queues: o.Queues, Cohorts: o.Cohorts, HasClaims: true}
	for queue, amount := range o.Used {
		s.Claims = append(s.Claims, &kueue.Claim{
			ClusterQueue: queue, Holds: []kueue.FlavorQuantity{{Flavor: "f", Resource: "cpu", Quantity: resource.MustParse(amount)}},
		})
	}
	return capacity.New(s)
}

func cpu() capacity.FlavorResource { return capacity.FlavorResource{Flavor: "f", Resource: "cpu"} }

const nested = `
cohorts:
- metadata: {name: org}
  spec: {resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 10}]}]}]}
- metadata: {name: ml}
  spec: {parentName: org, resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 0, borrowingLimit: 6}]}]}]}
queues:
- metadata: {name: a}
  spec: {cohortName: ml, resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 10, lendingLimit: 4, borrowingLimit: 5}]}]}]}
- metadata: {name: b}
  spec: {cohortName: ml, resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 8}]}]}]}
- metadata: {name: c}
  spec: {cohort: org, resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 6}]}]}]}
used: {a: 3, b: 9, c: 12}
`

// TestNested is the example of the fact sheet, which was reckoned by hand.
func TestNested(t *testing.T) {
	n := tree(t, nested)
	for name, want := range map[string]struct{ free, most string }{
		"a": {"10", "15"}, "b": {"7", "18"}, "c": {"7", "28"},
	} {
		q := n.Queue(name)
		assert.Equal(t, q.Free(cpu()).Text("cpu"), want.free, name)
		assert.Equal(t, q.Maximum(cpu()).Text("cpu"), want.most, name)
	}
	assert.Equal(t, n.Queue("b").Borrowed(cpu()).Text("cpu"), "1")
	path, isLoop := n.Queue("a").Path()
	assert.Equal(t, len(path), 2)
	assert.Assert(t, !isLoop)
}

func TestFree(t *testing.T) {
	for name, test := range map[string]struct{ cluster, free, most string }{
		"alone": {`
queues: [{metadata: {name: a}, spec: {resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4, borrowingLimit: 9}]}]}]}}]
used: {a: 1500m}`, "2500m", "4"},
		"more in use than there is": {`
queues: [{metadata: {name: a}, spec: {resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4}]}]}]}}]
used: {a: 6}`, "0", "4"},
		"what it may lend is eaten by the debt of the cohort": {`
queues:
- {metadata: {name: a}, spec: {cohortName: x, resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 6, lendingLimit: 0}]}]}]}}
- {metadata: {name: b}, spec: {cohortName: x, resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 0}]}]}]}}
used: {b: 4}`, "2", "6"},
		"nothing of its own, and a cohort that lends": {`
queues:
- {metadata: {name: a}, spec: {cohortName: x, resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 0}]}]}]}}
- {metadata: {name: b}, spec: {cohortName: x, resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 5}]}]}]}}`, "5", "5"},
		"a queue that is held lends all the same": {`
queues:
- {metadata: {name: a}, spec: {cohortName: x, resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 1}]}]}]}}
- {metadata: {name: b}, spec: {stopPolicy: Hold, cohortName: x, resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 8}]}]}]}}`, "9", "9"},
		"a flavor that a neighbour dropped is in use still": {`
queues:
- {metadata: {name: a}, spec: {cohortName: x, resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 8}]}]}]}}
- {metadata: {name: b}, spec: {cohortName: x}}
used: {b: 4}`, "4", "8"},
		"a cohort in a circle": {`
cohorts:
- {metadata: {name: x}, spec: {parentName: y}}
- {metadata: {name: y}, spec: {parentName: x}}
queues: [{metadata: {name: a}, spec: {cohortName: x, resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 8}]}]}]}}]`, "0", "0"},
		"a cohort that is its own": {`
cohorts: [{metadata: {name: x}, spec: {parentName: x}}]
queues: [{metadata: {name: a}, spec: {cohortName: x, resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 8}]}]}]}}]`, "0", "0"},
		"quotas that something else sets": {`
queues: [{metadata: {name: a}, spec: {resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4}]}]}]},
  status: {effectiveQuotas: {resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 2}]}]}]}}}]
used: {a: 1}`, "1", "2"},
		"more than can be counted": {`
queues:
- {metadata: {name: a}, spec: {cohortName: x, resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 9E}]}]}]}}
- {metadata: {name: b}, spec: {cohortName: x, resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 9E}]}]}]}}
used: {a: 7}`, "unlimited", "unlimited"},
	} {
		t.Run(name, func(t *testing.T) {
			a := tree(t, test.cluster).Queue("a")
			assert.Equal(t, a.Free(cpu()).Text("cpu"), test.free, "free")
			assert.Equal(t, a.Maximum(cpu()).Text("cpu"), test.most, "most")
		})
	}
}

// TestStatus checks that the status of a queue is used if Workloads may not
// be listed.
func TestStatus(t *testing.T) {
	var o objects
	assert.NilError(t, yaml.Unmarshal([]byte(`
queues: [{metadata: {name: a}, spec: {resourceGroups: [{flavors: [{name: f, resources: [{name: cpu, nominalQuota: 4}]}]}]},
  status: {flavorsReservation: [{name: f, resources: [{name: cpu, total: 3}]}]}}]`), &o))
	a := capacity.New(capacity.Sources{Queues: o.Queues}).Queue("a")
	assert.Equal(t, a.Free(cpu()).Text("cpu"), "1")
}

// TestSharers checks which ClusterQueues share quota: those below the same root cohort. A loop of cohorts
// has no root, so a queue below it has only itself.
func TestSharers(t *testing.T) {
	n := tree(t, `
cohorts:
- {metadata: {name: ml}, spec: {parentName: org}}
- {metadata: {name: x}, spec: {parentName: y}}
- {metadata: {name: y}, spec: {parentName: x}}
queues:
- {metadata: {name: a}, spec: {cohortName: ml}}
- {metadata: {name: b}, spec: {cohortName: org}}
- {metadata: {name: alone}}
- {metadata: {name: looped}, spec: {cohortName: x}}
- {metadata: {name: looped-too}, spec: {cohortName: x}}
`)
	for name, want := range map[string][]string{"a": {"a", "b"}, "b": {"a", "b"}, "alone": {"alone"}, "looped": {"looped"}} {
		var names []string
		for _, q := range n.Sharers(n.Queue(name)) {
			names = append(names, q.Name)
		}
		assert.DeepEqual(t, names, want)
	}
}

package scheduler

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"gotest.tools/v3/assert"
)

// object is a Kubernetes object, or a part of one.
type object = map[string]any

const (
	namespace = "ml"
	// queue is the name of the LocalQueue of the waiting Workload, and of its ClusterQueue.
	queue = "q0"
)

// random makes the random choices of a world.
type random struct{ *rand.Rand }

func (r random) chance(p float64) bool { return r.Float64() < p }

// pick returns one of several values.
func pick[T any](r random, all ...T) T { return all[r.IntN(len(all))] }

// family are the resource groups that all queues and cohorts of a world have: their resources, and how
// many flavors each has.
type family struct {
	groups  [][]string
	flavors int
}

// flavor returns the name of a flavor of a group.
func flavor(group, i int) string { return fmt.Sprintf("%c%d", 'f'+group, i) }

// newWorld returns a random cluster without topologies and fair sharing, with a Workload that waits, as
// the program oracle reads it.
func newWorld(seed uint64) object {
	r := random{rand.New(rand.NewPCG(seed, 0))}
	shape := family{
		groups:  pick(r, [][]string{{"cpu"}}, [][]string{{"cpu"}}, [][]string{{"cpu", "gpu"}}, [][]string{{"cpu"}, {"gpu"}}),
		flavors: 1 + r.IntN(3),
	}
	w := object{"queue": queue, "flavors": shape.objects(), "waiting": r.waiting(shape)}
	cohorts, names := r.cohorts(shape)
	var queues, workloads []object
	for i := range 2 + r.IntN(4) {
		name := fmt.Sprintf("q%d", i)
		queues = append(queues, object{"metadata": object{"name": name}, "spec": r.queue(shape, pick(r, names...))})
		for j := range r.IntN(5) {
			workloads = append(workloads, r.holder(shape, name, fmt.Sprintf("%s-w%d", name, j)))
		}
	}
	w["cohorts"], w["queues"], w["workloads"] = cohorts, queues, workloads
	return w
}

// emptied returns a world in which no Workload holds quota.
func emptied(w object) object {
	empty := object{"workloads": []object{}}
	for key, value := range w {
		if key != "workloads" {
			empty[key] = value
		}
	}
	return empty
}

func (s family) objects() (all []object) {
	for g := range s.groups {
		for i := range s.flavors {
			all = append(all, object{"metadata": object{"name": flavor(g, i)}})
		}
	}
	return all
}

// cohorts returns a tree of cohorts, and the names that a ClusterQueue chooses from, of which "" is for
// none.
func (r random) cohorts(shape family) (all []object, names []string) {
	for i := range 1 + r.IntN(4) {
		spec := object{"resourceGroups": r.quotas(shape, 6, i > 0)}
		if i > 0 {
			spec["parentName"] = pick(r, names...)
		}
		name := fmt.Sprintf("c%d", i)
		all, names = append(all, object{"metadata": object{"name": name}, "spec": spec}), append(names, name)
	}
	if r.chance(0.1) {
		names = append(names, "")
	}
	return all, names
}

// quotas returns resource groups with nominal quotas below a limit, and with limits of their own if they
// belong to a cohort.
func (r random) quotas(shape family, below int, isShared bool) (groups []object) {
	for g, covered := range shape.groups {
		var flavors []object
		for i := range shape.flavors {
			var resources []object
			for _, name := range covered {
				nominal := r.IntN(below)
				quota := object{"name": name, "nominalQuota": fmt.Sprint(nominal)}
				if isShared && r.chance(0.25) {
					quota["borrowingLimit"] = fmt.Sprint(r.IntN(8))
				}
				if isShared && r.chance(0.25) {
					quota["lendingLimit"] = fmt.Sprint(r.IntN(nominal + 1))
				}
				resources = append(resources, quota)
			}
			flavors = append(flavors, object{"name": flavor(g, i), "resources": resources})
		}
		groups = append(groups, object{"coveredResources": covered, "flavors": flavors})
	}
	return groups
}

// queue returns the spec of a ClusterQueue in a cohort; "" for none.
func (r random) queue(shape family, cohort string) object {
	reclaims := "Never"
	spec := object{"namespaceSelector": object{}, "resourceGroups": r.quotas(shape, 10, cohort != "")}
	if cohort != "" {
		spec["cohortName"], reclaims = cohort, pick(r, "Never", "LowerPriority", "Any", "Any")
	}
	preempts := object{"withinClusterQueue": pick(r, "Never", "LowerPriority", "LowerOrNewerEqualPriority"), "reclaimWithinCohort": reclaims}
	if reclaims != "Never" && r.chance(0.4) {
		borrows := object{"policy": "LowerPriority"}
		if r.chance(0.5) {
			borrows["maxPriorityThreshold"] = r.IntN(4)
		}
		preempts["borrowWithinCohort"] = borrows
	}
	spec["preemption"] = preempts
	fungibility := object{"whenCanBorrow": pick(r, "MayStopSearch", "TryNextFlavor"), "whenCanPreempt": pick(r, "MayStopSearch", "TryNextFlavor")}
	if preference := pick(r, "", "BorrowingOverPreemption", "PreemptionOverBorrowing"); preference != "" {
		fungibility["preference"] = preference
	}
	spec["flavorFungibility"] = fungibility
	return spec
}

// holder returns a Workload that holds quota of a ClusterQueue. A few are evicted.
func (r random) holder(shape family, clusterQueue, name string) object {
	flavors, usage := object{}, object{}
	for g, covered := range shape.groups {
		in := flavor(g, r.IntN(shape.flavors))
		for _, resource := range covered {
			if resource == "cpu" || r.chance(0.5) {
				flavors[resource], usage[resource] = in, fmt.Sprint(1+r.IntN(5))
			}
		}
	}
	conditions := []object{condition("QuotaReserved", "QuotaReserved", r.time())}
	if r.chance(0.1) {
		conditions = append(conditions, condition("Evicted", "Preempted", "2026-01-01T23:00:00Z"))
	}
	assignments := []object{{"name": "main", "count": 1, "flavors": flavors, "resourceUsage": usage}}
	w := r.workload(clusterQueue, name, podSet("main", 1, usage))
	w["status"] = object{"admission": object{"clusterQueue": clusterQueue, "podSetAssignments": assignments}, "conditions": conditions}
	return w
}

// waiting returns the Workload that waits. It has one or two PodSets, of which the first may start with
// fewer Pods.
func (r random) waiting(shape family) object {
	var sets []object
	for i := range 1 + r.IntN(3)/2 {
		requests := object{}
		for _, covered := range shape.groups {
			for _, resource := range covered {
				requests[resource] = fmt.Sprint(1 + r.IntN(3))
			}
		}
		count := 1 + r.IntN(5)
		set := podSet(fmt.Sprintf("set%d", i), count, requests)
		if i == 0 && r.chance(0.3) {
			set["minCount"] = 1 + r.IntN(count)
		}
		sets = append(sets, set)
	}
	return r.workload(queue, "waiting", sets...)
}

func (r random) workload(queue, name string, sets ...object) object {
	return object{
		"metadata": object{"namespace": namespace, "name": name, "uid": name, "creationTimestamp": r.time()},
		"spec":     object{"queueName": queue, "priority": r.IntN(5), "podSets": sets},
	}
}

// time returns one of few times, so that some are equal.
func (r random) time() string { return fmt.Sprintf("2026-01-01T%02d:00:00Z", r.IntN(20)) }

func podSet(name string, count int, requests object) object {
	containers := []object{{"name": "main", "resources": object{"requests": requests}}}
	return object{"name": name, "count": count, "template": object{"spec": object{"containers": containers}}}
}

func condition(kind, reason, at string) object {
	return object{"type": kind, "status": "True", "reason": reason, "message": "", "lastTransitionTime": at}
}

// encode returns a world as JSON.
func encode(t *testing.T, w object) []byte {
	t.Helper()
	text, err := json.Marshal(w)
	assert.NilError(t, err)
	return text
}

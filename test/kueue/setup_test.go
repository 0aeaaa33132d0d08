package kueue

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// object is a Kubernetes object, or a part of one.
type object = map[string]any

// pool is the node label that flavors select.
const pool = "test/pool"

// rack is the node label of topologies.
const rack = "test/rack"

// setup is a random set-up of queues: the configuration of both workers from a seed, and the
// workers that MultiKueue may give its Jobs to. The names of all objects contain its name, so
// set-ups share nothing.
type setup struct {
	seed    uint64
	name    string
	rng     *rand.Rand
	workers []string
	// queues are LocalQueues, each with its own ClusterQueue on each cluster.
	queues []string
	// hasLimits is whether the namespace has a LimitRange on the workers.
	hasLimits bool
	// hasTopology is whether flavors have a topology, and Jobs request it.
	hasTopology bool
	// hasPriorities is whether Jobs have priorities, and hasOverhead whether Pods have a
	// RuntimeClass with overhead. classes decides about both, so that the other choices of a seed
	// stay the same.
	hasPriorities, hasOverhead bool
	classes                    *rand.Rand
}

func newSetup(seed uint64) *setup {
	s := &setup{seed: seed, name: fmt.Sprintf("placed-%d", seed), rng: rand.New(rand.NewPCG(seed, 0))}
	s.workers = [][]string{{worker1}, {worker2}, {worker1, worker2}}[s.rng.IntN(3)]
	for i := range 1 + s.rng.IntN(3) {
		s.queues = append(s.queues, fmt.Sprintf("q%d", i))
	}
	s.hasLimits, s.hasTopology = s.chance(0.2), s.chance(0.15)
	s.classes = rand.New(rand.NewPCG(seed, 1))
	s.hasPriorities, s.hasOverhead = s.classes.Float64() < 0.5, s.classes.Float64() < 0.2
	return s
}

func (s *setup) chance(p float64) bool { return s.rng.Float64() < p }

// pick returns one of several values.
func pick[T any](s *setup, all ...T) T { return all[s.rng.IntN(len(all))] }

func (s *setup) clusterQueue(queue string) string { return s.name + "-" + queue }

func kueueObject(kind, name string, spec object) object {
	return object{"apiVersion": "kueue.x-k8s.io/" + multiKueue.API, "kind": kind, "metadata": object{"name": name}, "spec": spec}
}

func (s *setup) localQueues() []object {
	all := []object{{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": s.name}}}
	for _, queue := range s.queues {
		o := kueueObject("LocalQueue", queue, object{"clusterQueue": s.clusterQueue(queue)})
		o["metadata"] = object{"name": queue, "namespace": s.name}
		all = append(all, o)
	}
	return all
}

// onManager returns queues that pass everything on to the workers.
func (s *setup) onManager() []object {
	checks := kueueObject("AdmissionCheck", s.name, object{
		"controllerName": "kueue.x-k8s.io/multikueue",
		"parameters":     object{"apiGroup": "kueue.x-k8s.io", "kind": "MultiKueueConfig", "name": s.name},
	})
	all := append(s.localQueues(), kueueObject("MultiKueueConfig", s.name, object{"clusters": s.workers}), checks,
		kueueObject("ResourceFlavor", s.name, object{}))
	for _, queue := range s.queues {
		quotas := []object{{"name": "cpu", "nominalQuota": "1000"}, {"name": "memory", "nominalQuota": "1000Gi"}}
		all = append(all, kueueObject("ClusterQueue", s.clusterQueue(queue), object{
			"namespaceSelector":       object{},
			"admissionChecksStrategy": object{"admissionChecks": []object{{"name": s.name}}},
			"resourceGroups":          []object{{"coveredResources": []string{"cpu", "memory"}, "flavors": []object{{"name": s.name, "resources": quotas}}}},
		}))
	}
	return all
}

// onWorker returns random queues, flavors and cohorts.
func (s *setup) onWorker() []object {
	all := s.localQueues()
	var flavors []string
	for i := range 1 + s.rng.IntN(3) {
		name := fmt.Sprintf("%s-f%d", s.name, i)
		flavors = append(flavors, name)
		spec := s.flavor()
		if s.hasTopology && s.chance(0.7) {
			spec = object{"topologyName": s.name, "nodeLabels": object{pool: "t"}}
		}
		all = append(all, kueueObject("ResourceFlavor", name, spec))
	}
	if s.hasTopology {
		all = append(all, kueueObject("Topology", s.name, object{"levels": []object{{"nodeLabel": rack}, {"nodeLabel": "kubernetes.io/hostname"}}}))
	}
	cohorts, objects := s.cohorts(flavors)
	all = append(all, objects...)
	if s.hasLimits {
		all = append(all, object{
			"apiVersion": "v1", "kind": "LimitRange", "metadata": object{"name": "limits", "namespace": s.name},
			"spec": object{"limits": []object{{"type": "Container", "defaultRequest": object{"cpu": pick(s, "500m", "1")}, "max": object{"cpu": pick(s, "2", "4")}}}},
		})
	}
	for _, queue := range s.queues {
		all = append(all, kueueObject("ClusterQueue", s.clusterQueue(queue), s.queue(flavors, pick(s, cohorts...))))
	}
	return all
}

func (s *setup) flavor() object {
	spec := object{}
	if s.chance(0.5) {
		spec["nodeLabels"] = object{pool: pick(s, "a", "b")}
	}
	if s.chance(0.25) {
		spec["nodeLabels"] = object{pool: "c"}
		spec["nodeTaints"] = []object{{"key": pool, "value": "c", "effect": "NoSchedule"}}
		if s.chance(0.3) {
			spec["tolerations"] = []object{{"key": pool, "operator": "Exists"}}
		}
	}
	return spec
}

// cohorts returns the names of cohorts to choose from, "" for none, and their objects.
func (s *setup) cohorts(flavors []string) (names []string, all []object) {
	switch s.rng.IntN(4) {
	case 0:
		return []string{""}, nil
	case 1:
		return []string{s.name + "-named"}, nil
	case 2:
		own := object{}
		if s.chance(0.6) {
			own["resourceGroups"] = s.quotas(flavors, false)
		}
		return []string{s.name + "-own"}, []object{kueueObject("Cohort", s.name+"-own", own)}
	}
	root := object{}
	if s.chance(0.5) {
		root["resourceGroups"] = s.quotas(flavors, false)
	}
	all = append(all, kueueObject("Cohort", s.name+"-root", root))
	for _, side := range []string{"left", "right"} {
		name := s.name + "-" + side
		all = append(all, kueueObject("Cohort", name, object{"parentName": s.name + "-root", "resourceGroups": s.quotas(flavors, true)}))
		names = append(names, name)
	}
	return append(names, s.name+"-root"), all
}

// quotas returns the quotas of a ClusterQueue or a cohort, with limits if it may borrow.
func (s *setup) quotas(flavors []string, borrows bool) []object {
	var of []object
	for _, name := range flavors {
		cpu, memory := object{"name": "cpu", "nominalQuota": s.rng.IntN(9)}, object{"name": "memory", "nominalQuota": fmt.Sprintf("%dGi", 4+s.rng.IntN(12))}
		for _, quota := range []object{cpu, memory} {
			unit := ""
			if quota["name"] == "memory" {
				unit = "Gi"
			}
			if borrows && s.chance(0.4) {
				quota["borrowingLimit"] = fmt.Sprintf("%d%s", s.rng.IntN(5), unit)
			}
			if borrows && s.chance(0.4) {
				quota["lendingLimit"] = fmt.Sprintf("%d%s", s.rng.IntN(4), unit)
			}
		}
		if cpu["lendingLimit"] != nil {
			cpu["nominalQuota"] = 3 + s.rng.IntN(6)
		}
		of = append(of, object{"name": name, "resources": []object{cpu, memory}})
	}
	return []object{{"coveredResources": []string{"cpu", "memory"}, "flavors": of}}
}

func (s *setup) queue(flavors []string, cohort string) object {
	shown := flavors[:1+s.rng.IntN(len(flavors))]
	spec := object{
		"namespaceSelector": object{},
		"resourceGroups":    s.quotas(shown, cohort != ""),
		"queueingStrategy":  pick(s, "BestEffortFIFO", "BestEffortFIFO", "StrictFIFO"),
		"flavorFungibility": object{"whenCanBorrow": pick(s, "MayStopSearch", "TryNextFlavor"), "whenCanPreempt": pick(s, "MayStopSearch", "TryNextFlavor")},
	}
	if s.hasPriorities && s.classes.IntN(2) == 0 {
		spec["preemption"] = object{"withinClusterQueue": "LowerPriority"}
	}
	if cohort != "" {
		spec["cohortName"] = cohort
		spec["preemption"] = object{"reclaimWithinCohort": pick(s, "Never", "Never", "Any", "LowerPriority"), "withinClusterQueue": pick(s, "Never", "LowerPriority")}
	}
	return spec
}

// job returns a random Job for one of the queues.
func (s *setup) job(name string) object {
	requests := object{}
	if !s.hasLimits || s.chance(0.7) {
		requests["cpu"] = pick(s, "250m", "500m", "1", "1500m", "2", "3")
	}
	// A Job without any request is admitted by the manager, and never given to a worker.
	if requests["cpu"] == nil || s.chance(0.6) {
		requests["memory"] = pick(s, "512Mi", "1Gi", "3Gi", "5G")
	}
	spec := object{"restartPolicy": "Never", "containers": []object{{"name": "main", "image": "registry.example/batch:1", "resources": object{"requests": requests}}}}
	if s.chance(0.2) {
		spec["nodeSelector"] = object{pool: pick(s, "a", "b", "c")}
	}
	if s.chance(0.3) {
		spec["tolerations"] = []object{{"key": pool, "operator": "Exists", "effect": "NoSchedule"}}
	}
	pods := 1 + s.rng.IntN(4)
	metadata := object{"name": name, "namespace": s.name, "labels": object{delegation.QueueNameLabel: pick(s, s.queues...)}}
	if pods > 1 && s.chance(0.2) {
		metadata["annotations"] = object{delegation.MinParallelism: fmt.Sprint(1 + s.rng.IntN(pods-1))}
	}
	annotations := object{"pod-complete.stage.kwok.x-k8s.io/delay": "2h"}
	if s.hasTopology && s.chance(0.6) {
		annotations[pick(s, "kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology")] = rack
	}
	s.addClasses(metadata, spec)
	return object{
		"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata,
		"spec": object{
			"suspend": true, "managedBy": string(delegation.MultiKueue), "parallelism": pods, "completions": pods,
			"template": object{"metadata": object{"annotations": annotations}, "spec": spec},
		},
	}
}

// The classes that Jobs name. Kueue takes the priority of a WorkloadPriorityClass rather than that of
// a PriorityClass.
const (
	lowWorkloads, highWorkloads = "placed-low", "placed-high"
	middlePods                  = "placed-middle"
	heavyPods                   = "placed-heavy"
)

// addClasses gives some Jobs a priority, and the Pods of some a RuntimeClass.
func (s *setup) addClasses(metadata, podSpec object) {
	if s.hasPriorities {
		labels, _ := metadata["labels"].(object)
		switch s.classes.IntN(5) {
		case 0:
			labels[delegation.PriorityClassLabel] = lowWorkloads
		case 1:
			labels[delegation.PriorityClassLabel] = highWorkloads
		case 2:
			podSpec["priorityClassName"] = middlePods
		case 3:
			labels[delegation.PriorityClassLabel], podSpec["priorityClassName"] = lowWorkloads, middlePods
		}
	}
	if s.hasOverhead && s.classes.Float64() < 0.5 {
		podSpec["runtimeClassName"] = heavyPods
	}
}

// createClasses creates the classes on all clusters.
func createClasses(ctx context.Context) error {
	for _, cluster := range multiKueue.Clusters() {
		all := []object{
			{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": object{"name": middlePods}, "value": 50},
			{"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": object{"name": heavyPods}, "handler": "heavy", "overhead": object{"podFixed": object{"cpu": "250m", "memory": "512Mi"}}},
		}
		for name, value := range map[string]int{lowWorkloads: -10, highWorkloads: 100} {
			all = append(all, object{"apiVersion": "kueue.x-k8s.io/" + multiKueue.API, "kind": "WorkloadPriorityClass", "metadata": object{"name": name}, "value": value})
		}
		text, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": all})
		if err != nil {
			return err
		}
		if err := multiKueue.Apply(ctx, cluster, string(text)); err != nil {
			return err
		}
	}
	return nil
}

// apply creates the set-up on all clusters, and waits until its queues are active.
func (s *setup) apply(ctx context.Context) error {
	// The generator is asked in one order, whichever cluster is faster.
	objects := map[string][]object{management: s.onManager(), worker1: s.onWorker(), worker2: s.onWorker()}
	var group errgroup.Group
	for cluster, all := range objects {
		group.Go(func() error {
			slices.SortStableFunc(all, func(a, b object) int { return rankOf(a) - rankOf(b) })
			text, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": all})
			if err != nil {
				return err
			}
			if err := multiKueue.Apply(ctx, cluster, string(text)); err != nil {
				return err
			}
			for _, queue := range s.queues {
				if err := multiKueue.Await(ctx, cluster, "clusterqueues.kueue.x-k8s.io", s.clusterQueue(queue), "--for=condition=Active"); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// rankOf orders objects so that each comes behind what it names.
func rankOf(o object) int {
	return slices.Index([]string{"Namespace", "LimitRange", "Topology", "ResourceFlavor", "MultiKueueConfig", "AdmissionCheck", "Cohort", "ClusterQueue", "LocalQueue"}, fmt.Sprint(o["kind"]))
}

// addNodes gives both workers nodes for the flavors of set-ups: of pools a and b, of the tainted
// pool c, and of pool t with two racks.
func addNodes(ctx context.Context) error {
	var all []object
	for name, labels := range map[string]map[string]string{
		"pool-a": {pool: "a"}, "pool-b": {pool: "b"}, "pool-c": {pool: "c"}, "rack-0": {pool: "t", rack: "0"}, "rack-1": {pool: "t", rack: "1"},
	} {
		labels["kubernetes.io/hostname"], labels["kubernetes.io/os"] = name, "linux"
		spec := object{"taints": []object{{"key": pool, "value": "c", "effect": "NoSchedule"}}}
		if labels[pool] != "c" {
			spec = object{}
		}
		all = append(all, object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": name, "labels": labels, "annotations": object{"kwok.x-k8s.io/node": "fake"}}, "spec": spec})
	}
	text, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": all})
	if err != nil {
		return err
	}
	for _, worker := range []string{worker1, worker2} {
		if err := multiKueue.Apply(ctx, worker, string(text)); err != nil {
			return err
		}
	}
	return nil
}

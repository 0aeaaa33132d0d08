package placement_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// simulated is a cluster of one resource in plain numbers: a slow and simple
// implementation of Kueue's calculation that shares no code with the tested
// one.
type simulated struct {
	// nodes are cohorts and queues, by name. The name of a queue begins with q.
	nodes map[string]*simulatedNode
	// taints are whether flavors are tainted, in the order of the queues.
	taints []bool
}

type simulatedNode struct {
	parent string
	// nominal, borrow and lend are by flavor. -1 means no limit.
	nominal, borrow, lend []int
	// used is what a queue's Workloads hold, by flavor.
	used []int
	// holders are the separate amounts in use, which can be removed one by one.
	holders [][]int
}

// subtree, spare and most are the formulas of Kueue's documentation of
// cohorts, implemented again: top down, and computed again each time.
func (s *simulated) subtree(name string, f int) int {
	total := s.nodes[name].nominal[f]
	for child, n := range s.nodes {
		if n.parent != name {
			continue
		}
		all := s.subtree(child, f)
		if n.lend[f] >= 0 && all > n.lend[f] {
			all = n.lend[f]
		}
		total += all
	}
	return total
}

func (s *simulated) kept(name string, f int) int {
	n := s.nodes[name]
	if n.parent == "" || n.lend[f] < 0 {
		return 0
	}
	return max(0, s.subtree(name, f)-n.lend[f])
}

func (s *simulated) usage(name string, f int) int {
	if name[0] == 'q' {
		return s.nodes[name].used[f]
	}
	total := 0
	for child, n := range s.nodes {
		if n.parent == name {
			total += max(0, s.usage(child, f)-s.kept(child, f))
		}
	}
	return total
}

func (s *simulated) spare(name string, f int) int {
	n := s.nodes[name]
	if n.parent == "" {
		return s.subtree(name, f) - s.usage(name, f)
	}
	kept, used := s.kept(name, f), s.usage(name, f)
	shared := s.spare(n.parent, f)
	if n.borrow[f] >= 0 {
		shared = min(shared, s.subtree(name, f)-kept-max(0, used-kept)+n.borrow[f])
	}
	return max(0, kept-used) + shared
}

// fits tries podsets one after the other, each in the first flavor with
// enough free quota.
func (s *simulated) fits(queue string, podsets []int, tolerates bool) bool {
	given := make([]int, len(s.taints))
	for _, asks := range podsets {
		placed := false
		for f, tainted := range s.taints {
			if !placed && (!tainted || tolerates) && given[f]+asks <= max(0, s.spare(queue, f)) {
				given[f] += asks
				placed = true
			}
		}
		if !placed {
			return false
		}
	}
	return true
}

// everFits reports whether the request fits in a state that is reached when
// others end one by one. A request that can never run fits in none.
func (s *simulated) everFits(queue string, podsets []int, tolerates bool) bool {
	if s.fits(queue, podsets, tolerates) {
		return true
	}
	for _, n := range s.nodes {
		for i, held := range n.holders {
			if held == nil {
				continue
			}
			n.holders[i] = nil
			for f := range held {
				n.used[f] -= held[f]
			}
			could := s.everFits(queue, podsets, tolerates)
			n.holders[i] = held
			for f := range held {
				n.used[f] += held[f]
			}
			if could {
				return true
			}
		}
	}
	return false
}

// random returns a cluster of a few queues in nested cohorts.
func random(r *rand.Rand) *simulated {
	s := &simulated{nodes: map[string]*simulatedNode{}, taints: make([]bool, 1+r.IntN(3))}
	for f := range s.taints {
		s.taints[f] = r.IntN(3) == 0
	}
	node := func(parent string, most int) *simulatedNode {
		n := &simulatedNode{parent: parent}
		for range s.taints {
			borrow, lend := -1, -1
			if parent != "" && r.IntN(2) == 0 {
				borrow = r.IntN(8)
			}
			if parent != "" && r.IntN(2) == 0 {
				lend = r.IntN(8)
			}
			n.nominal, n.borrow, n.lend = append(n.nominal, r.IntN(most)), append(n.borrow, borrow), append(n.lend, lend)
		}
		n.used = make([]int, len(s.taints))
		return n
	}
	cohorts := []string{""}
	for i := range r.IntN(4) {
		name := "c" + strconv.Itoa(i)
		s.nodes[name] = node(cohorts[r.IntN(len(cohorts))], 4)
		cohorts = append(cohorts, name)
	}
	for i := range 1 + r.IntN(4) {
		n := node(cohorts[r.IntN(len(cohorts))], 10)
		for range r.IntN(3) {
			held := make([]int, len(s.taints))
			held[r.IntN(len(held))] = 1 + r.IntN(6)
			n.holders = append(n.holders, held)
			for f := range held {
				n.used[f] += held[f]
			}
		}
		s.nodes["q"+strconv.Itoa(i)] = n
	}
	return s
}

// facts returns the cluster as it would be read.
func (s *simulated) facts() *inspect.Facts {
	w := &world{}
	for f, tainted := range s.taints {
		flavor := &kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("f", f)}}
		if tainted {
			flavor.Spec.NodeTaints = []corev1.Taint{{Key: "spot", Effect: corev1.TaintEffectNoSchedule}}
		}
		w.Flavors = append(w.Flavors, flavor)
	}
	for name, n := range s.nodes {
		group := kueue.ResourceGroup{CoveredResources: []string{"cpu"}}
		for f := range s.taints {
			quota := kueue.ResourceQuota{Name: "cpu", NominalQuota: cpus(n.nominal[f])}
			if n.borrow[f] >= 0 {
				limit := cpus(n.borrow[f])
				quota.BorrowingLimit = &limit
			}
			if n.lend[f] >= 0 {
				limit := cpus(n.lend[f])
				quota.LendingLimit = &limit
			}
			group.Flavors = append(group.Flavors, kueue.FlavorQuotas{Name: fmt.Sprint("f", f), Resources: []kueue.ResourceQuota{quota}})
		}
		if name[0] == 'c' {
			c := &kueue.Cohort{ObjectMeta: metav1.ObjectMeta{Name: name}}
			c.Spec.ParentName, c.Spec.ResourceGroups = n.parent, []kueue.ResourceGroup{group}
			w.Cohorts = append(w.Cohorts, c)
			continue
		}
		q := &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: name}}
		q.Spec.CohortName, q.Spec.ResourceGroups, q.Spec.NamespaceSelector = n.parent, []kueue.ResourceGroup{group}, &metav1.LabelSelector{}
		w.Queues = append(w.Queues, q)
		local := &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: name}}
		local.Spec.ClusterQueue = name
		w.Locals = append(w.Locals, local)
	}
	f := w.facts()
	for name, n := range s.nodes {
		for _, held := range n.holders {
			c := &kueue.Claim{Namespace: "ml", Name: "held", ClusterQueue: name}
			for flavor, amount := range held {
				c.Holds = append(c.Holds, kueue.FlavorQuantity{Flavor: fmt.Sprint("f", flavor), Resource: "cpu", Quantity: cpus(amount)})
			}
			f.Kueue.Capacity.Claims = append(f.Kueue.Capacity.Claims, c)
		}
	}
	return f
}

func cpus(n int) resource.Quantity { return *resource.NewQuantity(int64(n), resource.DecimalSI) }

// TestAgainstSimulator checks random clusters and Jobs against the simulator:
// verdict Fits means that it fits there, Waits that it does not fit now, and
// Never that it fits in no reachable state. Few verdicts may be Unknown.
func TestAgainstSimulator(t *testing.T) {
	const rounds = 1000
	counts := map[inspect.Verdict]int{}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 18))
		s := random(r)
		podsets := []int{1 + r.IntN(12)}
		if r.IntN(3) == 0 {
			podsets = append(podsets, 1+r.IntN(6))
		}
		tolerates := r.IntN(2) == 0
		request := &placement.Request{Namespace: "ml", Queue: "q0"}
		for i, asks := range podsets {
			set := kueue.PodTemplate{Name: fmt.Sprint("set", i), Count: 1}
			set.Template.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": cpus(asks)}}}}
			if tolerates {
				set.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			}
			request.PodSets = append(request.PodSets, set)
		}
		p := placement.On(s.facts(), request, nil, time.Unix(0, 0))
		counts[p.Verdict]++
		fits, ever := s.fits("q0", podsets, tolerates), s.everFits("q0", podsets, tolerates)
		about := fmt.Sprintf("seed %d: %s (%s), and the simulator says fits %t, ever %t, of %v", seed, p.Verdict, p.Message, fits, ever, podsets)
		assert.Equal(t, p.Verdict == inspect.Fits, fits, about)
		if p.Verdict == inspect.Never {
			assert.Assert(t, !ever, about)
		}
		if !ever && len(podsets) == 1 {
			assert.Equal(t, p.Verdict, inspect.Never, about)
		}
	}
	assert.Assert(t, counts[inspect.Fits] > rounds/10 && counts[inspect.Waits] > rounds/20 && counts[inspect.Never] > rounds/10, "%v", counts)
	assert.Assert(t, counts[inspect.Unknown] < rounds/50, "%v", counts)
}

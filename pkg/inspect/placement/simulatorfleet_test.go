package placement_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// twoResources is a cluster of two resources, cpu and gpu, in the same cohorts:
// either in one group, so that a flavor must have both, or in one group each.
type twoResources struct {
	cpu, gpu *simulated
	together bool
	// strict is whether no Workload may pass the first one of queue q0. waiting
	// are the priorities of the Workloads that wait there, which all came
	// earlier.
	strict  bool
	waiting []int32
}

func randomTwoResources(r *rand.Rand) *twoResources {
	d := &twoResources{cpu: random(r), together: r.IntN(2) == 0, strict: r.IntN(3) == 0}
	d.gpu = &simulated{nodes: map[string]*simulatedNode{}, taints: d.cpu.taints}
	for _, name := range slices.Sorted(maps.Keys(d.cpu.nodes)) {
		n := d.cpu.nodes[name]
		g := &simulatedNode{parent: n.parent, used: make([]int, len(n.used))}
		for f := range n.used {
			g.nominal, g.borrow, g.lend = append(g.nominal, r.IntN(8)), append(g.borrow, -1), append(g.lend, -1)
			if n.parent != "" && r.IntN(3) == 0 {
				g.borrow[f], g.lend[f] = r.IntN(5), r.IntN(5)
			}
			if name[0] == 'q' && r.IntN(3) == 0 {
				g.used[f] = 1 + r.IntN(4)
			}
		}
		d.gpu.nodes[name] = g
	}
	for range r.IntN(3) {
		d.waiting = append(d.waiting, int32(r.IntN(3)))
	}
	return d
}

// fits reports whether there is a flavor for both, or one for each.
func (d *twoResources) fits(cpu, gpu int, tolerates bool) bool {
	if !d.together {
		return d.cpu.fits("q0", []int{cpu}, tolerates) && d.gpu.fits("q0", []int{gpu}, tolerates)
	}
	for f, tainted := range d.cpu.taints {
		if (!tainted || tolerates) && cpu <= max(0, d.cpu.spare("q0", f)) && gpu <= max(0, d.gpu.spare("q0", f)) {
			return true
		}
	}
	return false
}

// everFits reports whether it fits once nothing is in use. Ended Workloads
// only free quota.
func (d *twoResources) everFits(cpu, gpu int, tolerates bool) bool {
	kept := map[*simulatedNode][]int{}
	for _, s := range []*simulated{d.cpu, d.gpu} {
		for _, n := range s.nodes {
			kept[n], n.used = n.used, make([]int, len(n.used))
		}
	}
	could := d.fits(cpu, gpu, tolerates)
	for n, used := range kept {
		n.used = used
	}
	return could
}

// verdict returns the verdict for a Job of a priority that is submitted last.
func (d *twoResources) verdict(cpu, gpu int, tolerates bool, priority int32) inspect.Verdict {
	isBehind := d.strict && slices.ContainsFunc(d.waiting, func(p int32) bool { return p >= priority })
	switch {
	case !d.everFits(cpu, gpu, tolerates):
		return inspect.Never
	case d.fits(cpu, gpu, tolerates) && !isBehind:
		return inspect.Fits
	}
	return inspect.Waits
}

func (d *twoResources) facts(now time.Time) *inspect.Facts {
	f, gpus := d.cpu.facts(), d.gpu.facts()
	c := f.Kueue.Capacity
	add := func(to, from []kueue.ResourceGroup) []kueue.ResourceGroup {
		from[0].CoveredResources = []string{"gpu"}
		for i := range from[0].Flavors {
			from[0].Flavors[i].Resources[0].Name = "gpu"
			if d.together {
				to[0].Flavors[i].Resources = append(to[0].Flavors[i].Resources, from[0].Flavors[i].Resources[0])
			} else {
				from[0].Flavors[i].Name = "g" + from[0].Flavors[i].Name
			}
		}
		if d.together {
			to[0].CoveredResources = append(to[0].CoveredResources, "gpu")
			return to
		}
		return append(to, from[0])
	}
	for _, q := range c.ClusterQueues {
		other := slices.IndexFunc(gpus.Kueue.Capacity.ClusterQueues, func(o *kueue.ClusterQueue) bool { return o.Name == q.Name })
		q.Spec.ResourceGroups = add(q.Spec.ResourceGroups, gpus.Kueue.Capacity.ClusterQueues[other].Spec.ResourceGroups)
		if d.strict {
			q.Spec.QueueingStrategy = kueue.StrictFIFO
		}
	}
	for _, q := range c.Cohorts {
		other := slices.IndexFunc(gpus.Kueue.Capacity.Cohorts, func(o *kueue.Cohort) bool { return o.Name == q.Name })
		q.Spec.ResourceGroups = add(q.Spec.ResourceGroups, gpus.Kueue.Capacity.Cohorts[other].Spec.ResourceGroups)
	}
	prefix := "g"
	if d.together {
		prefix = ""
	} else {
		for _, flavor := range gpus.Kueue.Capacity.Flavors {
			flavor.Name = prefix + flavor.Name
			c.Flavors = append(c.Flavors, flavor)
		}
	}
	for name, n := range d.gpu.nodes {
		for flavor, amount := range n.used {
			if amount > 0 {
				c.Claims = append(c.Claims, &kueue.Claim{Namespace: "ml", Name: "gpus", ClusterQueue: name, Holds: []kueue.FlavorQuantity{{Flavor: fmt.Sprint(prefix, "f", flavor), Resource: "gpu", Quantity: cpus(amount)}}})
			}
		}
	}
	for i, priority := range d.waiting {
		uid := fmt.Sprint("waiting-", i)
		c.Claims = append(c.Claims, &kueue.Claim{Namespace: "ml", Name: uid, UID: uid, LocalQueue: "q0", Reason: "WaitingForQuota", Rank: kueue.Rank{Priority: priority, At: now.Add(-time.Hour), UID: uid}})
	}
	return f
}

// TestFleetAgainstSimulator checks 500 random Jobs over three clusters each,
// with cohorts, borrowing, lending, taints, priorities, strict queues, and
// two resources in one group or two: 98 % of all verdicts are right, and
// Never is never wrong.
func TestFleetAgainstSimulator(t *testing.T) {
	const jobs, clusters = 500, 3
	now := time.Unix(1_800_000_000, 0)
	said, right := map[inspect.Verdict]int{}, map[inspect.Verdict]int{}
	total := 0
	for seed := range uint64(jobs) {
		r := rand.New(rand.NewPCG(seed, 2026))
		cpu, gpu, tolerates, priority := 1+r.IntN(9), 1+r.IntN(5), r.IntN(2) == 0, int32(r.IntN(3))
		set := kueue.PodTemplate{Name: "main", Count: 1}
		set.Template.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": cpus(cpu), "gpu": cpus(gpu)}}}}
		if tolerates {
			set.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		}
		request := &placement.Request{Namespace: "ml", Queue: "q0", PodSets: []kueue.PodTemplate{set}, Rank: kueue.Rank{Priority: priority}}
		for range clusters {
			d := randomTwoResources(r)
			p := placement.On(d.facts(now), request, nil, now)
			want := d.verdict(cpu, gpu, tolerates, priority)
			total++
			said[p.Verdict]++
			if p.Verdict == want {
				right[want]++
			} else {
				t.Logf("seed %d: %s (%s), and the simulator says %s", seed, p.Verdict, p.Message, want)
			}
			assert.Assert(t, p.Verdict != inspect.Never || want == inspect.Never, "seed %d: %s", seed, p.Message)
		}
	}
	t.Logf("of %d verdicts %v were said, and %v right", total, said, right)
	assert.Assert(t, right[inspect.Fits]+right[inspect.Waits]+right[inspect.Never] >= total*98/100, "%v of %v", right, said)
	for _, v := range []inspect.Verdict{inspect.Fits, inspect.Waits, inspect.Never} {
		assert.Assert(t, said[v] > total/20, "%v", said)
	}
}

package capacity_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// strict is a StrictFIFO queue whose Workloads end at given seconds at the
// latest.
func strict(ends ...int64) *capacity.Node {
	q := &kueue.ClusterQueue{}
	q.Name, q.Spec.QueueingStrategy = "team", kueue.StrictFIFO
	n := &capacity.Node{Name: "team", Queue: q}
	for i, end := range ends {
		c := &kueue.Claim{UID: fmt.Sprint(i)}
		if end > 0 {
			c.EndsBy = time.Unix(end, 0)
		}
		n.Claims = append(n.Claims, c)
	}
	return n
}

// TestLastEnd checks that a bound requires a limit for each Workload, and
// that no Workload may pass.
func TestLastEnd(t *testing.T) {
	by, ok := strict(10, 30, 20).LastEnd()
	assert.Assert(t, ok)
	assert.Equal(t, by, time.Unix(30, 0))
	for what, n := range map[string]*capacity.Node{
		"one has no limit": strict(10, 0, 20),
		"nothing runs":     strict(),
		"best effort": func() *capacity.Node {
			n := strict(10)
			n.Queue.Spec.QueueingStrategy = ""
			return n
		}(),
		"in a cohort": func() *capacity.Node {
			n := strict(10)
			n.Queue.Spec.CohortName = "org"
			return n
		}(),
		"stopped": func() *capacity.Node {
			n := strict(10)
			n.Queue.Spec.StopPolicy = "Hold"
			return n
		}(),
		"inactive": func() *capacity.Node {
			n := strict(10)
			n.Queue.Status.Conditions = []metav1.Condition{{Type: kueue.Active, Status: metav1.ConditionFalse, Reason: "FlavorNotFound"}}
			return n
		}(),
		"ordered by usage": func() *capacity.Node {
			n := strict(10)
			assert.NilError(t, yaml.Unmarshal([]byte("{admissionMode: UsageBasedAdmissionFairSharing}"), &n.Queue.Spec.AdmissionScope))
			return n
		}(),
		"with a check": func() *capacity.Node {
			n := strict(10)
			n.Queue.Spec.AdmissionChecks = []string{"provisioning"}
			return n
		}(),
	} {
		_, ok := n.LastEnd()
		assert.Assert(t, !ok, what)
	}
}

// TestBoundHolds checks that in random StrictFIFO queues whose Workloads end
// at random times within their limits, the first waiting Workload never
// starts after the bound, whatever arrives later.
func TestBoundHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	early := 0
	for range 2000 {
		quota := 4 + rng.Int64N(12)
		type running struct{ size, end int64 }
		var runs []running
		var limits []int64
		free := quota
		for free > 0 && rng.IntN(6) > 0 {
			size, limit := 1+rng.Int64N(free), 1+rng.Int64N(100)
			runs, limits, free = append(runs, running{size, 1 + rng.Int64N(limit)}), append(limits, limit), free-size
		}
		if len(runs) == 0 || free == quota {
			continue
		}
		first := free + 1 + rng.Int64N(quota-free)
		by, ok := strict(limits...).LastEnd()
		assert.Assert(t, ok)
		// The Workloads after the first one get nothing before it has
		// started.
		slices.SortFunc(runs, func(a, b running) int { return int(a.end - b.end) })
		start := int64(-1)
		for _, r := range runs {
			if free += r.size; free >= first {
				start = r.end
				break
			}
		}
		assert.Assert(t, start >= 0 && start <= by.Unix(), "it starts at %d, and the bound is %d", start, by.Unix())
		if start < by.Unix() {
			early++
		}
	}
	assert.Assert(t, early > 100, "the bound is only an upper one: %d", early)
}

package capacity_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// recordedTree is the tree of a recorded cluster.
func recordedTree(t *testing.T, file string) *capacity.Tree {
	t.Helper()
	text, err := os.ReadFile(file)
	assert.NilError(t, err)
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	assert.NilError(t, yaml.Unmarshal(text, &list))
	s := capacity.Sources{HasClaims: true}
	for _, item := range list.Items {
		var o struct {
			Kind string `json:"kind"`
		}
		assert.NilError(t, json.Unmarshal(item, &o))
		switch o.Kind {
		case "ClusterQueue":
			q := &kueue.ClusterQueue{}
			assert.NilError(t, json.Unmarshal(item, q))
			// As a queue is that has a bound.
			q.Spec.QueueingStrategy, q.Spec.CohortName, q.Spec.CohortV1Beta1, q.Spec.StopPolicy = kueue.StrictFIFO, "", "", ""
			q.Spec.AdmissionChecks, q.Spec.Strategy = nil, nil
			s.Queues = append(s.Queues, q)
		case "LocalQueue":
			q := &kueue.LocalQueue{}
			assert.NilError(t, json.Unmarshal(item, q))
			s.Locals = append(s.Locals, q)
		case "Workload":
			w := &kueue.ClaimedWorkload{}
			assert.NilError(t, json.Unmarshal(item, w))
			if c := w.Claim(); c != nil {
				s.Claims = append(s.Claims, c)
			}
		}
	}
	return capacity.New(s)
}

// TestBoundHoldsInRecordings replays the recorded queues of a real
// MultiKueue: admitted Workloads end at random times within a limit, and the
// first waiting Workload, whatever it needs, never starts after the bound.
func TestBoundHoldsInRecordings(t *testing.T) {
	files, err := filepath.Glob("../../../test/recordings/*/*.yaml")
	assert.NilError(t, err)
	rng, start := rand.New(rand.NewPCG(3, 4)), time.Unix(1_000_000, 0)
	queues, replays := 0, 0
	for _, file := range files {
		for _, n := range recordedTree(t, file).Queues() {
			if len(n.Claims) == 0 {
				continue
			}
			queues++
			for range 20 {
				ends := map[*kueue.Claim]time.Time{}
				for _, c := range n.Claims {
					limit := 1 + rng.Int64N(3600)
					c.EndsBy = start.Add(time.Duration(limit) * time.Second)
					ends[c] = start.Add(time.Duration(1+rng.Int64N(limit)) * time.Second)
				}
				by, ok := n.LastEnd()
				assert.Assert(t, ok, "%s: %s", file, n.Name)
				for _, fr := range n.Resources() {
					if begins, waits := replay(rng, n, fr, ends); waits {
						replays++
						assert.Assert(t, !begins.After(by), "%s: %s: it starts at %s, and the bound is %s", file, n.Name, begins, by)
					}
				}
			}
		}
	}
	assert.Assert(t, queues > 20 && replays > 1000, "%d queues, %d replays", queues, replays)
}

// replay returns when the first waiting Workload starts, which needs more of
// a resource than is free and at most the quota. waits is false if nothing of
// the resource is in use.
func replay(rng *rand.Rand, n *capacity.Node, fr capacity.FlavorResource, ends map[*kueue.Claim]time.Time) (begins time.Time, waits bool) {
	quota, _ := n.Quota(fr)
	free := quota.Nominal.Minus(n.Used(fr))
	if n.Used(fr) <= 0 || quota.Nominal <= max(0, free) {
		return begins, false
	}
	needs := max(0, free) + 1 + capacity.Amount(rng.Int64N(int64(quota.Nominal-max(0, free))))
	claims := slices.SortedFunc(slices.Values(n.Claims), func(a, b *kueue.Claim) int { return ends[a].Compare(ends[b]) })
	for _, c := range claims {
		if free = free.Plus(capacity.HeldBy(c, fr)); free >= needs {
			return ends[c], true
		}
	}
	// It would never start, which is after any bound.
	return time.Unix(1<<40, 0), true
}

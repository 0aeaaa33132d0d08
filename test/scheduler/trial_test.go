package scheduler

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// outcome is what happens to the waiting Workload.
type outcome string

const (
	fits     outcome = "fits"
	shrinks  outcome = "fits with fewer Pods"
	preempts outcome = "preempts others"
	waits    outcome = "waits"
	never    outcome = "never runs"
	// undecided is a Workload that fits or not depending on the flavors that its PodSets get one after the
	// other. The placement does not predict it.
	undecided outcome = "waits or never runs"
)

// verdict is what the program oracle prints about a world.
type verdict struct {
	Mode    string   `json:"mode"`
	Pods    int64    `json:"pods"`
	Flavors []string `json:"flavors"`
	Victims []string `json:"victims"`
}

// trial is a world and both judgments of it.
type trial struct {
	seed  uint64
	world []byte
	// now is Kueue's verdict, and alone the one if no Workload holds quota.
	now, alone verdict
	placement  *inspect.Placement
	// pods is how many Pods the Workload requests, in sets.
	pods int64
	sets int
}

// judge fills in the placement. The waiting Workload is a Job that is not submitted yet.
func (tr *trial) judge(t *testing.T) {
	t.Helper()
	var w struct {
		Flavors   []*kueue.ResourceFlavor  `json:"flavors"`
		Cohorts   []*kueue.Cohort          `json:"cohorts"`
		Queues    []*kueue.ClusterQueue    `json:"queues"`
		Workloads []*kueue.ClaimedWorkload `json:"workloads"`
		Waiting   struct {
			Metadata struct {
				CreationTimestamp metav1.Time `json:"creationTimestamp"`
			} `json:"metadata"`
			Spec struct {
				Priority int32               `json:"priority"`
				PodSets  []kueue.PodTemplate `json:"podSets"`
			} `json:"spec"`
		} `json:"waiting"`
	}
	assert.NilError(t, json.Unmarshal(tr.world, &w))
	local := &kueue.LocalQueue{}
	local.Namespace, local.Name, local.Spec.ClusterQueue = namespace, queue, queue
	c := &inspect.Capacity{
		Flavors: w.Flavors, Cohorts: w.Cohorts, ClusterQueues: w.Queues, LocalQueues: []*kueue.LocalQueue{local},
		Namespaces: map[string]*inspect.Namespace{namespace: {Name: namespace}},
	}
	for _, o := range w.Workloads {
		c.Claims = append(c.Claims, o.Claim())
	}
	now := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	v := inspect.NewInventory(now, []*inspect.Facts{{Context: "cluster", Kueue: &inspect.KueueFacts{Capacity: c}}}, nil)
	all := placement.Submit(v, &placement.Request{
		Namespace: namespace, Queue: queue, Owner: delegation.BuiltIn, PodSets: w.Waiting.Spec.PodSets,
		Rank: kueue.Rank{Priority: w.Waiting.Spec.Priority, At: w.Waiting.Metadata.CreationTimestamp.Time},
	})
	assert.Equal(t, len(all), 1)
	tr.placement, tr.sets = &all[0], len(w.Waiting.Spec.PodSets)
	for _, set := range w.Waiting.Spec.PodSets {
		tr.pods += int64(set.Count)
	}
}

// outcome returns the outcome by Kueue's verdicts. A Workload that waits fits once all others have ended,
// unless its PodSets then take each other's flavors.
func (tr *trial) outcome() outcome {
	switch {
	case tr.now.Mode == "Fit" && tr.now.Pods < tr.pods:
		return shrinks
	case tr.now.Mode == "Fit":
		return fits
	case tr.now.Mode == "Preempt":
		return preempts
	case tr.alone.Mode == "Fit":
		return waits
	}
	return never
}

// predicted returns the outcome by the placement.
func (tr *trial) predicted() outcome {
	p := tr.placement
	switch {
	case p.Verdict == inspect.Fits && p.Partial != nil:
		return shrinks
	case p.Verdict == inspect.Fits:
		return fits
	case p.Verdict == inspect.Waits && p.Preempts:
		return preempts
	case p.Verdict == inspect.Waits:
		return waits
	case p.Verdict == inspect.Never:
		return never
	}
	return undecided
}

// isUndecided reports whether the placement leaves open whether a Workload of several PodSets ever fits.
func (tr *trial) isUndecided() bool {
	predicted, actual := tr.predicted(), tr.outcome()
	return tr.sets > 1 && predicted == undecided && (actual == waits || actual == never)
}

// difference returns how the placement differs from what Kueue does, "" if it does not.
func (tr *trial) difference() string {
	p := tr.placement
	if predicted := tr.predicted(); predicted != tr.outcome() && !tr.isUndecided() {
		return fmt.Sprintf("the placement says: %s", predicted)
	}
	if !slices.Contains([]outcome{fits, shrinks, preempts}, tr.outcome()) {
		return ""
	}
	pods := tr.pods
	if p.Partial != nil {
		pods = p.Partial.Pods
	}
	switch {
	case pods != tr.now.Pods:
		return fmt.Sprintf("the placement starts %d Pods", pods)
	case p.Flavor != "" && !slices.Contains(tr.now.Flavors, p.Flavor):
		return fmt.Sprintf("the placement takes flavor %s", p.Flavor)
	}
	for _, h := range p.Holders {
		if !h.Preemptible && slices.Contains(tr.now.Victims, h.Name) {
			return fmt.Sprintf("the placement spares %s", h.Name)
		}
	}
	return ""
}

package answer

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestOutlookOfTwoManagers checks that the headline is about the manager that takes a Job, not about
// one that does not.
func TestOutlookOfTwoManagers(t *testing.T) {
	place := func(context string, isManager bool, verdict inspect.Verdict) inspect.Placement {
		p := inspect.NewPlacement(context)
		p.Manager, p.Verdict, p.Reason = isManager, verdict, inspect.HasRoom
		if verdict == inspect.Never {
			p.Reason, p.Resource, p.Needs, p.Limit = inspect.OverLimit, "cpu", "8", "4"
		}
		return *p
	}
	trace := inspect.NewTrace()
	trace.Placements = []inspect.Placement{
		place("m1", true, inspect.Never), place("w1", false, inspect.Fits), place("m2", true, inspect.Fits), place("w2", false, inspect.Fits),
	}
	Unsubmitted(trace, Holders{})
	assert.Equal(t, trace.Message, "Fits on w2 now.")
	assert.Equal(t, len(trace.Fixes), 0)
	trace.Placements = trace.Placements[:2]
	Unsubmitted(trace, Holders{})
	assert.Assert(t, trace.Message != "Fits on w1 now.", trace.Message)
}

// TestOutlookWithoutContexts checks that a Job that is not submitted has the fix for workers that no known context reaches, and
// no other one if nothing else was read.
func TestOutlookWithoutContexts(t *testing.T) {
	place := func(cluster string) inspect.Placement {
		p := inspect.NewPlacement("")
		p.Cluster, p.Verdict, p.Reason, p.Message = cluster, inspect.Unknown, inspect.NoContext, inspect.NoContextReachesIt
		return *p
	}
	full := overLimit("worker-1", "paris", "9")
	full.Verdict, full.Reason, full.Free = inspect.Waits, inspect.QuotaInUse, "4"
	unknown := place("paris")
	unknown.Message = "cannot tell which context reaches it: its address on m could not be read"
	for _, tt := range []struct {
		all           []inspect.Placement
		message, last string
	}{
		{[]inspect.Placement{place("paris"), place("tokyo")}, "Cannot tell whether it would run. paris, tokyo: no known context reaches them.", "add a context for paris, tokyo to the kubeconfig"},
		{[]inspect.Placement{place("tokyo")}, "Cannot tell whether it would run. tokyo: no known context reaches it.", "add a context for tokyo to the kubeconfig"},
		{[]inspect.Placement{full, place("tokyo")}, " Not read: tokyo.", "add a context for tokyo to the kubeconfig"},
		{[]inspect.Placement{unknown}, "Cannot tell whether it would run. paris: " + unknown.Message + ".", ""},
	} {
		trace := inspect.NewTrace()
		trace.Placements = tt.all
		Unsubmitted(trace, Holders{})
		assert.Assert(t, strings.HasSuffix(trace.Message, tt.message), trace.Message)
		last := ""
		if n := len(trace.Fixes); n > 0 {
			last = trace.Fixes[n-1].Text
		}
		assert.Equal(t, last, tt.last)
	}
}

// TestOutlookOfPodsAtOnce checks that the headline says if not all Pods can run at once.
func TestOutlookOfPodsAtOnce(t *testing.T) {
	p := inspect.NewPlacement("w1")
	p.Verdict, p.Reason = inspect.Fits, inspect.HasRoom
	trace := inspect.NewTrace()
	for limit, want := range map[inspect.PodsAtOnce]string{
		{Pods: 1, Of: 2}:                        "Fits on w1 now. But w1's nodes run at most 1 of 2 Pods at once.",
		{Pods: 1, Of: 2, ResourceQuota: "team"}: "Fits on w1 now. But w1's ResourceQuota team allows 1 of 2 Pods now.",
	} {
		p.PodsAtOnce = &limit
		trace.Placements = []inspect.Placement{*p}
		Unsubmitted(trace, Holders{})
		assert.Equal(t, trace.Message, want)
	}
	p.PodsAtOnce, p.Partial = nil, &inspect.PartialStart{Pods: 1, Of: 10}
	trace.Placements = []inspect.Placement{*p}
	Unsubmitted(trace, Holders{})
	assert.Equal(t, trace.Message, "Fits on w1 now. On w1, it starts with fewer Pods: at least 1 of 10.")
}

// TestOutlookWithoutQueue checks that it is unknown whether a Job without a queue label would run, where its Pods
// were not compared with nodes. The command dispatch compares them.
func TestOutlookWithoutQueue(t *testing.T) {
	place := func(context string, nodes inspect.State) inspect.Placement {
		p := inspect.NewPlacement(context)
		p.Reason, p.Conditions = inspect.NoQueueLabel, []inspect.PlacementCondition{{Name: inspect.ConditionPods, State: nodes}}
		return *p
	}
	for owner, want := range map[delegation.Owner][]inspect.Unchecked{
		delegation.BuiltIn:  {{What: "nodes", Contexts: []string{"w2", "w3"}, Reason: "unknown whether they take its Pods"}},
		delegation.Dispatch: {},
	} {
		trace := inspect.UnsubmittedTrace(delegation.Job().GroupVersionKind(), "ml", "train", owner)
		trace.Placements = []inspect.Placement{place("w1", inspect.Yes), place("w2", inspect.NotAsked), place("w3", inspect.NotKnown), place("w4", inspect.No)}
		Unsubmitted(trace, Holders{})
		assert.Equal(t, trace.Reason, inspect.ReasonNoQueueLabel)
		assert.DeepEqual(t, trace.Unchecked, want)
	}
}

// TestOutlookOfLostCluster checks that the fix for a cluster that a manager cannot use is that of the finding of this
// manager. Another one may use the same name.
func TestOutlookOfLostCluster(t *testing.T) {
	lost := func(manager string) inspect.Placement {
		p := *inspect.NewPlacement("")
		p.Cluster, p.Verdict, p.Reason, p.Message = "worker1", inspect.Waits, inspect.NotConnected, manager+" cannot use it: refused"
		p.Changes = []inspect.PlacementChange{{Message: "repair MultiKueueCluster worker1 of " + manager}}
		return p
	}
	found := func(manager string) inspect.Finding {
		return inspect.Finding{Code: "JM001", Context: manager, Kind: "MultiKueueCluster", Name: "worker1", Fixes: []command.Fix{{Text: "create the Secret on " + manager}}}
	}
	for want, findings := range map[string][]inspect.Finding{
		"create the Secret on m1":                {found("m2"), found("m1")},
		"repair MultiKueueCluster worker1 of m1": {found("m2")},
	} {
		hub := *inspect.NewPlacement("m1")
		hub.Manager, hub.Verdict, hub.Reason = true, inspect.Fits, inspect.HasRoom
		other := hub
		other.Context = "m2"
		trace := inspect.NewTrace()
		trace.Placements = []inspect.Placement{hub, lost("m1"), other, lost("m2")}
		Unsubmitted(trace, Holders{Findings: findings})
		assert.Equal(t, trace.Fixes[0].Text, want)
	}
}

// TestOutlookWithoutQuotaForResources checks that the answer names resources without quota once for all clusters, and
// calls no worker unchecked that was checked: only Kueue's configuration is unknown.
func TestOutlookWithoutQuotaForResources(t *testing.T) {
	const why = "needs 4 cpu and 8Gi memory (ClusterQueue q has no quota for them), unless Kueue's configuration excludes or transforms them"
	for name, tt := range map[string]struct {
		ofManager inspect.PlacementReason
		message   string
		unchecked []string
		fix       string
	}{
		"on the workers":         {inspect.HasRoom, "Cannot tell whether it would run. w2, w1: " + why + ".", []string{"w1", "w2"}, "add cpu on w2"},
		"on the manager as well": {inspect.NoSuchResource, "Cannot tell whether it would run. hub, w2, w1: " + why + ".", []string{"hub"}, "add cpu on hub"},
	} {
		t.Run(name, func(t *testing.T) {
			trace := inspect.NewTrace()
			for context, share := range map[string]float64{"hub": 0, "w1": 1, "w2": 0} {
				p := inspect.NewPlacement(context)
				p.Manager, p.Reason, p.Message, p.Verdict = context == "hub", inspect.NoSuchResource, why, inspect.Unknown
				p.Resource, p.Needs, p.Free, p.Limit = "cpu", "4", "0", "0"
				p.Changes = []inspect.PlacementChange{{Message: "add cpu on " + context, Share: share}, {Message: "remove cpu", Share: share}}
				if context != "hub" {
					p.Cluster = context
				} else if p.Reason = tt.ofManager; p.Reason == inspect.HasRoom {
					p.Verdict = inspect.Fits
				}
				trace.Placements = append(trace.Placements, *p)
			}
			slices.SortFunc(trace.Placements, func(a, b inspect.Placement) int { return cmp.Compare(a.Context, b.Context) })
			Unsubmitted(trace, Holders{})
			assert.Equal(t, trace.Message, tt.message)
			assert.DeepEqual(t, trace.Unchecked, []inspect.Unchecked{{What: inspect.NoVerdict, Contexts: tt.unchecked, Reason: why}})
			assert.Equal(t, trace.Fixes[0].Text, tt.fix)
			assert.Equal(t, trace.Fixes[1].Text, "remove cpu")
		})
	}
}

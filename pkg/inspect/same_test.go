package inspect

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// through returns the facts that a context read of a cluster, whose identity is known unless
// clusterUID is "".
func through(context, clusterUID string, jobs ...*Job) *Facts {
	f := &Facts{Context: context, ClusterUID: clusterUID, Kinds: []delegation.Kind{delegation.Job()}, Gaps: map[Part]error{}}
	for _, j := range jobs {
		j.Context, j.ClusterUID = context, clusterUID
		f.Jobs = append(f.Jobs, j)
	}
	return f
}

func inventoryOf(clusters ...*Facts) *Inventory {
	var addresses []kubecontext.Address
	for _, f := range clusters {
		addresses = append(addresses, kubecontext.Address{Context: f.Context, Server: "https://" + f.Context})
	}
	return NewInventory(time.Time{}, clusters, addresses)
}

func contextsOf(clusters []*Facts) []string {
	var names []string
	for _, f := range clusters {
		names = append(names, f.Context)
	}
	return names
}

// TestOneClusterOfSeveralContexts checks that an object's UID proves that two contexts point to one
// cluster, even if neither knows its identity.
func TestOneClusterOfSeveralContexts(t *testing.T) {
	job := func() *Job { return object("", "ml", "train", uid("the-mirror"), mirrorOfDispatch("the-origin")) }
	other := func(name string) *Job { return object("", "ml", name, uid(name)) }
	origin := object("", "ml", "train", uid("the-origin"), managedBy(delegation.Dispatch))
	for name, tt := range map[string]struct {
		clusters []*Facts
		want     []string
	}{
		"one cannot read the cluster UID": {[]*Facts{through("dev", "", job()), through("admin", "w", job(), other("more"))}, []string{"dev"}},
		"neither can read it":             {[]*Facts{through("dev", "", job()), through("other-dev", "", job())}, []string{"dev"}},
		"both know, and agree":            {[]*Facts{through("a", "w", other("x")), through("b", "w", other("y"))}, []string{"a"}},
		"nothing in common":               {[]*Facts{through("dev", "", other("x")), through("admin", "w", other("y"))}, []string{"dev", "admin"}},
		"different cluster UIDs":          {[]*Facts{through("a", "v", job()), through("b", "w", job())}, []string{"a", "b"}},
		"one through another":             {[]*Facts{through("a", "", other("x")), through("b", "", other("y")), through("c", "", other("y"), other("x"))}, []string{"a"}},
		"one did not answer":              {[]*Facts{{Context: "dead", Err: errors.New("dead")}, through("a", "", other("x"))}, []string{"dead", "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := inventoryOf(append(tt.clusters, through("manager", "m", origin.DeepCopy()))...)
			assert.DeepEqual(t, contextsOf(v.Clusters), append(tt.want, "manager"))
			assert.Equal(t, len(v.Pairs.Pairs), 1)
			for _, f := range v.Clusters {
				for _, j := range f.Jobs {
					assert.Equal(t, j.Context, f.Context)
				}
			}
		})
	}
}

func mirrorOfDispatch(origin string) func(*Job) { return marked(delegation.Marks{OriginUID: origin}) }

// TestWhatSeveralContextsHaveRead checks that merged facts have what any context read, and gaps
// only where no context could read.
func TestWhatSeveralContextsHaveRead(t *testing.T) {
	forbidden := errors.New("forbidden")
	dev := through("dev", "", object("", "ml", "train", uid("1")))
	dev.Namespace = "ml"
	dev.Gaps = map[Part]error{PartKueue: forbidden, PartSecrets: forbidden, PartPods: forbidden}
	dev.Leases = map[string]*Lease{"ml/one": {Name: "one"}}
	admin := through("admin", "w", object("", "ml", "train", uid("1")), object("", "ops", "other", uid("2")))
	admin.Kueue = &KueueFacts{Workloads: []*kueue.Workload{{}}, Addresses: map[string]kubecontext.Address{"worker": {Server: "https://worker"}}}
	admin.Gaps = map[Part]error{PartSecrets: forbidden, PartEvents: forbidden}
	admin.Pods = []*Pod{{UID: "pod", Name: "train-1"}}

	v := NewInventory(time.Time{}, []*Facts{dev, admin}, []kubecontext.Address{{Context: "dev"}, {Context: "admin", Server: "https://worker"}})
	assert.Equal(t, len(v.Clusters), 1)
	f := v.Clusters[0]
	assert.Equal(t, f.ClusterUID, "w")
	assert.Equal(t, f.Namespace, "")
	assert.Equal(t, len(f.Jobs), 2)
	for _, j := range f.Jobs {
		assert.Equal(t, j.Context+" "+j.ClusterUID, "admin w", "admin may read more")
	}
	assert.Equal(t, len(f.Pods), 1)
	assert.Equal(t, len(f.Leases), 1)
	assert.Equal(t, len(f.Kueue.Workloads), 1)
	assert.Assert(t, f.Gaps[PartKueue] == nil && f.Gaps[PartPods] == nil)
	assert.Assert(t, f.Gaps[PartSecrets] != nil, "neither may read these")
	assert.Assert(t, f.Gaps[PartEvents] != nil, "dev has read those of one namespace, and admin none")
	assert.Equal(t, v.Addresses[0].Context, "admin", "what leads to dev leads to admin")
	assert.Equal(t, len(v.UnreadContexts()), 0)
}

// TestClaimsWithinOneNamespace checks that the claims of one namespace that only the second context could read
// are kept.
func TestClaimsWithinOneNamespace(t *testing.T) {
	refused, all := errors.New("forbidden in the namespace"), errors.New("forbidden")
	first, second := &Capacity{Gaps: map[Part]error{PartClaims: refused}}, &Capacity{Gaps: map[Part]error{PartClaims: all}, Within: "ml", ClaimsWithin: []*kueue.Claim{{Name: "train"}}}
	for _, both := range []*Capacity{first.with(second), second.with(first)} {
		assert.Equal(t, both.Within, "ml")
		assert.Equal(t, len(both.ClaimsWithin), 1)
		assert.Equal(t, both.Gaps[PartClaims], all)
	}
	whole := &Capacity{Gaps: map[Part]error{}, Claims: []*kueue.Claim{{}, {}}}
	assert.Equal(t, second.with(whole).Gaps[PartClaims], nil)
	assert.Equal(t, len(second.with(whole).Claims), 2)
}

// TestListedOnce checks that an object that two contexts show is listed and counted once.
func TestListedOnce(t *testing.T) {
	for _, countOnly := range []bool{false, true} {
		var tallies []*Tally
		for _, f := range []*Facts{
			through("dev", "", object("", "ml", "train", uid("1"))),
			through("admin", "w", object("", "ml", "train", uid("1")), object("", "ops", "other", uid("2"))),
			through("far", "v", object("", "ml", "train", uid("3"), managedBy(delegation.Dispatch))),
			through("far-dev", "", object("", "ml", "train", uid("3"), managedBy(delegation.Dispatch))),
		} {
			tally := &Tally{Context: f.Context, CountOnly: countOnly}
			for _, j := range f.Jobs {
				tally.Add(*j)
			}
			tallies = append(tallies, tally)
		}
		list := MergeTallies(tallies)
		assert.Equal(t, len(list.Items), 2)
		assert.Equal(t, list.Items[0].Total(), 1)
		assert.Equal(t, list.Items[1].Total(), 2)
		if !countOnly {
			assert.Equal(t, len(list.Items[0].Jobs), 1)
			assert.Equal(t, list.Items[0].Jobs[0].Context, "far")
			assert.Equal(t, list.Items[1].Jobs[0].Context, "dev")
			assert.Equal(t, list.Items[1].Jobs[1].Context, "admin")
		}
	}
}

// TestUidsInOrder checks that a contradictory snapshot, in which either of two clusters could be
// meant, always gives the same result.
func TestUidsInOrder(t *testing.T) {
	namespaces := func(names ...string) map[string]Namespace {
		all := map[string]Namespace{}
		for _, name := range names {
			all[name] = Namespace{Name: name, UID: "uid-of-" + name}
		}
		return all
	}
	for range 50 {
		one, other, both := through("one", "a"), through("other", "b"), through("both", "")
		one.Namespaces, other.Namespaces, both.Namespaces = namespaces("x"), namespaces("y"), namespaces("x", "y")
		assert.DeepEqual(t, contextsOf(inventoryOf(one, other, both).Clusters), []string{"one", "other"})
		assert.Equal(t, len(inventoryOf(one, other, both).Facts("one").Namespaces), 2)
	}
}

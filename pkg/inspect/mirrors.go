package inspect

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
)

// MirrorFinder tells which context runs each Job of a listing.
type MirrorFinder struct {
	// Addresses are those of every context there is.
	Addresses []kubecontext.Address
	// Complete says whether the listing held every Job of a namespace on every
	// context there is, so that what it lacks is not there.
	Complete func(namespace string) bool
}

// Fill sets the Mirrors of all Jobs, and of those that do not tell since when
// they are in their state, that time too. jobs are those that are shown; hidden
// are others that may be their mirrors. Where the listing does not hold the
// mirror of one of MultiKueue's Jobs, the management cluster is asked where it
// is. Mirrors stays nil where it could not be known.
func (m *MirrorFinder) Fill(ctx context.Context, f *fleet.Fleet, jobs, hidden []*Job) {
	all := once(append(append(make([]*Job, 0, len(jobs)+len(hidden)), jobs...), hidden...))
	missing := m.fill(PairUp(all), jobs)
	if len(missing) == 0 {
		return
	}
	places := m.ask(ctx, f, missing)
	read := map[string]bool{}
	for _, j := range all {
		read[j.Context] = true
	}
	for _, j := range missing {
		switch place, known := places[j]; {
		case !known:
		case place == "" || read[place] && m.Complete(j.Namespace):
			j.Mirrors = []Ref{}
		default:
			j.Mirrors = []Ref{{Context: place, Namespace: j.Namespace, Name: j.Name}}
		}
	}
}

// fill sets what the Jobs themselves tell, and returns those of MultiKueue's Jobs
// whose management cluster has to be asked.
func (m *MirrorFinder) fill(pairs *Pairs, jobs []*Job) (ask []*Job) {
	for _, j := range jobs {
		j.Mirrors = []Ref{}
	}
	for _, p := range pairs.Pairs {
		j := p.Origin
		if j.Mirrors == nil {
			// It is not shown.
			continue
		}
		if j.Mirrors = currentRefs(p); len(j.Mirrors) > 0 {
			if j.Since == nil {
				j.Since = p.Mirrors[0].Job.Since
			}
			continue
		}
		switch {
		case j.Status.IsFinished():
		case j.ManagedBy == delegation.MultiKueue:
			j.Mirrors = nil
			ask = append(ask, j)
		case j.Status == delegation.Running || !m.Complete(j.Namespace):
			j.Mirrors = nil
		}
	}
	return ask
}

// ask finds the contexts of what MultiKueue runs: "" for a Job that it has given
// to no cluster. What is not in the answer is not known.
func (m *MirrorFinder) ask(ctx context.Context, f *fleet.Fleet, jobs []*Job) map[*Job]string {
	byContext := map[string][]*Job{}
	for _, j := range jobs {
		byContext[j.Context] = append(byContext[j.Context], j)
	}
	var mu sync.Mutex
	places := map[*Job]string{}
	// What cannot be asked stays unknown, which is what the table then says; that
	// a context does not answer has been told by the listing.
	fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (struct{}, error) {
		jobs := byContext[c.Context]
		if len(jobs) == 0 {
			return struct{}{}, nil
		}
		answer, err := m.askManager(ctx, c, jobs)
		mu.Lock()
		defer mu.Unlock()
		maps.Copy(places, answer)
		return struct{}{}, err
	})
	mu.Lock()
	defer mu.Unlock()
	// A question that hangs is abandoned, and may write later.
	return maps.Clone(places)
}

// askManager reads the Workloads of Jobs, and what the MultiKueueClusters that
// they name mean.
func (m *MirrorFinder) askManager(ctx context.Context, c *fleet.Cluster, jobs []*Job) (map[*Job]string, error) {
	facts := newFacts(c)
	reader := openKueue(ctx, c, facts)
	if facts.NoKueue {
		none := map[*Job]string{}
		for _, j := range jobs {
			none[j] = ""
		}
		return none, nil
	}
	if !reader.hasKueue() {
		return nil, facts.Gaps[PartKueue]
	}
	names, err := chosenClusters(ctx, reader, jobs)
	if err != nil {
		return nil, err
	}
	reader.readConfig(ctx)
	reader.wg.Wait()
	places := map[*Job]string{}
	for _, j := range jobs {
		name := names[j.UID]
		if name == "" {
			places[j] = ""
			continue
		}
		if address, ok := facts.Kueue.Addresses[name]; ok {
			if place := MatchAddress(address, m.Addresses); place != "" {
				places[j] = place
			}
		}
	}
	return places, nil
}

// chosenClusters are the MultiKueueClusters that Jobs were given to, by the Jobs'
// uids.
func chosenClusters(ctx context.Context, r *factReader, jobs []*Job) (map[string]string, error) {
	names := map[string]string{}
	for some := range slices.Chunk(jobs, batch) {
		uids := make([]string, len(some))
		for i, j := range some {
			uids[i] = j.UID
		}
		madeForThem, err := madeFor(uids)
		if err != nil {
			return nil, err
		}
		err = listObjects(ctx, r.cluster, r.resource("workloads"), commonNamespace(some), madeForThem, func(w *kueue.Workload) {
			// Once a Workload has finished, MultiKueue removes what it has made elsewhere.
			if name := chosen(w); name != "" && !w.IsVariant() && !meta.IsStatusConditionTrue(w.Status.Conditions, kueue.Finished) {
				names[w.Labels[kueue.JobUIDLabel]] = name
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

// HoldsAll says whether these contexts are all there are.
func HoldsAll(addresses []kubecontext.Address, contexts []string) bool {
	return !slices.ContainsFunc(addresses, func(a kubecontext.Address) bool { return !slices.Contains(contexts, a.Context) })
}

// ReadPairs lists the Jobs of all clusters and pairs them up; the inventory holds
// nothing else.
func ReadPairs(ctx context.Context, f *fleet.Fleet, q Query, addresses []kubecontext.Address, now func() time.Time) *Inventory {
	answers := fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (*Facts, error) {
		facts := newFacts(c)
		err := facts.list(ctx, c, q)
		facts.Skew = c.Skew()
		return facts, err
	})
	names := make([]string, len(answers))
	for i, a := range answers {
		names[i] = a.Context
	}
	complete := HoldsAll(addresses, names)
	var clusters []*Facts
	for _, a := range answers {
		facts := a.Value
		if facts == nil || a.Err != nil {
			facts = &Facts{Context: a.Context, Err: a.Err}
			complete = false
		}
		complete = complete && len(facts.KindParts()) == 0 && facts.Gaps[PartKinds] == nil
		clusters = append(clusters, facts)
	}
	v := NewInventory(now(), clusters, addresses)
	var jobs []*Job
	for _, facts := range v.Clusters {
		jobs = append(jobs, facts.Jobs...)
	}
	finder := &MirrorFinder{Addresses: v.Addresses, Complete: func(string) bool { return complete }}
	finder.Fill(ctx, f, jobs, nil)
	return v
}

package read

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// mirrorFinder finds the context that runs each Job of a listing.
type mirrorFinder struct {
	// addresses are the addresses of all contexts.
	addresses []kubecontext.Address
	// isRead is whether objects were read through a context.
	isRead func(context string) bool
}

// Mirrors sets the Mirrors of all Jobs, as inspect.SetMirrors does. hidden are Jobs that may be
// their mirrors. For Jobs of MultiKueue without a known mirror, it asks the management cluster
// where they run. addresses, which are those of all contexts, give the context for the answer. isRead reports
// whether all Jobs of a namespace were read through a context.
func Mirrors(ctx context.Context, f *fleet.Fleet, jobs, hidden []*inspect.Job, addresses []kubecontext.Address, isComplete func(namespace string) bool, isRead func(context, namespace string) bool) {
	all := jobs
	if len(hidden) > 0 {
		all = slices.Concat(jobs, hidden)
	}
	if !f.Distinct() {
		all = inspect.DistinctJobs(all)
	}
	missing := inspect.SetMirrors(inspect.PairUp(all), jobs, isComplete)
	forgetUnread(f, jobs)
	if len(missing) == 0 {
		return
	}
	hasJobs := map[string]bool{}
	for _, j := range all {
		hasJobs[j.Context] = true
	}
	isOpen := func(name string) bool {
		return hasJobs[name] || slices.ContainsFunc(f.Clusters(), func(c *fleet.Cluster) bool { return c.Context == name && isRead(name, c.Namespace) })
	}
	m := &mirrorFinder{addresses, isOpen}
	places := m.ask(ctx, f, missing)
	for _, j := range missing {
		switch place, known := places[j]; {
		case !known:
		case len(j.Mirrors) > 0:
			// The chosen mirror comes first: another one is a duplicate.
			if i := slices.IndexFunc(j.Mirrors, func(r inspect.Ref) bool { return r.Context == place }); i > 0 {
				chosen := j.Mirrors[i]
				j.Mirrors = slices.Insert(slices.Delete(j.Mirrors, i, i+1), 0, chosen)
			}
		case place == "" || isRead(place, j.Namespace):
			j.Mirrors = []inspect.Ref{}
		default:
			j.Mirrors = []inspect.Ref{{Context: place, Namespace: j.Namespace, Name: j.Name}}
		}
	}
}

// forgetUnread makes mirrors unknown that are on a cluster which no context of the fleet reaches.
func forgetUnread(f *fleet.Fleet, jobs []*inspect.Job) {
	for _, j := range jobs {
		place := j.Pinned()
		if place.IsZero() || j.Mirrors == nil || len(j.Mirrors) > 0 {
			continue
		}
		isElsewhere := func(c *fleet.Cluster) bool { return place.On(c.Identity()) == delegation.CertainlyOther }
		if clusters := f.Clusters(); len(slices.DeleteFunc(clusters, isElsewhere)) == 0 {
			j.Mirrors = nil
		}
	}
}

// ask returns the contexts of Jobs that MultiKueue runs: "" for a Job without a chosen cluster, no
// entry if unknown.
func (m *mirrorFinder) ask(ctx context.Context, f *fleet.Fleet, jobs []*inspect.Job) map[*inspect.Job]string {
	byContext := map[string][]*inspect.Job{}
	for _, j := range jobs {
		byContext[j.Context] = append(byContext[j.Context], j)
	}
	var mu sync.Mutex
	places := map[*inspect.Job]string{}
	// A failed request leaves the mirror unknown, and the table says so. The listing has already
	// reported the context.
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
	// A request that hangs is abandoned and may write later.
	return maps.Clone(places)
}

// askManager reads the Workloads of Jobs, and finds the contexts of the MultiKueueClusters that
// they name.
func (m *mirrorFinder) askManager(ctx context.Context, c *fleet.Cluster, jobs []*inspect.Job) (map[*inspect.Job]string, error) {
	facts := factsOf(c)
	reader := openKueue(ctx, c, facts)
	if facts.NoKueue {
		none := map[*inspect.Job]string{}
		for _, j := range jobs {
			none[j] = ""
		}
		return none, nil
	}
	if !reader.hasKueue() {
		return nil, facts.Gaps[inspect.PartKueue]
	}
	names, err := chosenClusters(ctx, c, jobs)
	if err != nil {
		return nil, err
	}
	reader.readConfig(ctx)
	reader.wg.Wait()
	places := map[*inspect.Job]string{}
	for _, j := range jobs {
		name := names[j.UID]
		if name == "" {
			places[j] = ""
			continue
		}
		if place := facts.Kueue.ContextOf(name, m.addresses, m.isRead); place != "" {
			places[j] = place
		}
	}
	return places, nil
}

// HoldsAll reports whether these contexts are all that exist.
func HoldsAll(addresses []kubecontext.Address, contexts []string) bool {
	return !slices.ContainsFunc(addresses, func(a kubecontext.Address) bool { return !slices.Contains(contexts, a.Context) })
}

// Dispatchers sets the Dispatcher of dispatched Jobs. It reads only clusters with such Jobs. If
// Leases may not be read, the Dispatcher stays nil.
func Dispatchers(ctx context.Context, f *fleet.Fleet, jobs []*inspect.Job, now func() time.Time) {
	wanted := map[string][]*inspect.Job{}
	for _, j := range inspect.DispatchedJobs(jobs) {
		wanted[j.Context] = append(wanted[j.Context], j)
	}
	if len(wanted) == 0 {
		return
	}
	answers := fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (*inspect.Facts, error) {
		jobs := wanted[c.Context]
		if len(jobs) == 0 {
			return nil, nil
		}
		facts := factsOf(c)
		var err error
		facts.Leases, err = listLeases(ctx, c, commonNamespace(jobs), delegation.OriginUIDLabel)
		facts.AddGap(inspect.PartLeases, err)
		facts.Skew = c.Skew()
		return facts, nil
	})
	for _, a := range answers {
		if a.Value != nil && a.Err == nil {
			a.Value.Jobs = wanted[a.Context]
			a.Value.SetDispatchers(now())
		}
	}
}

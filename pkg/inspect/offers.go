package inspect

import (
	"iter"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Offer is a Workload that a manager gave to MultiKueueClusters, and where its copies are. It shows
// which contexts reach these clusters.
type Offer struct {
	// Clusters are the MultiKueueClusters: the chosen one, or otherwise the nominated ones.
	Clusters []string
	// Contexts are the contexts with a copy of the Workload, or with the mirror.
	Contexts []string
}

// NewOffer returns the offer of a manager's Workload. ok is false if no cluster has got it.
func NewOffer(w *kueue.Workload) (o Offer, ok bool) {
	o.Clusters = offeredTo(w)
	return o, len(o.Clusters) > 0
}

// offeredTo returns the MultiKueueClusters that got a Workload.
func offeredTo(w *kueue.Workload) []string {
	if name := w.ChosenCluster(); name != "" {
		return []string{name}
	}
	return w.Status.Nominated
}

// AddOffers adds what else is known about where a manager's Workloads are.
func (v *Inventory) AddOffers(manager *Facts, offers []Offer) {
	k := *manager.Kueue
	k.Offers = slices.Concat(k.Offers, offers)
	manager.Kueue = &k
	clear(v.contexts)
	clear(v.offered)
	clear(v.workers)
}

// offersOf returns the offers of a manager of which a copy was found.
func (v *Inventory) offersOf(manager *Facts) []Offer {
	var offers []Offer
	for _, w := range manager.Kueue.Workloads {
		o, ok := NewOffer(w)
		if !ok {
			continue
		}
		for _, f := range v.Clusters {
			if f == manager || f.Err != nil {
				continue
			}
			copied := f.Workload(w.Namespace, w.Name)
			if copied != nil && copied.Labels[delegation.MultiKueueOriginLabel] != "" || f.MirrorWith(w) != nil {
				o.Contexts = append(o.Contexts, f.Context)
			}
		}
		if len(o.Contexts) > 0 {
			offers = append(offers, o)
		}
	}
	return append(offers, v.addedOffers(manager)...)
}

// addedOffers returns the offers of AddOffers, with the contexts that answer.
func (v *Inventory) addedOffers(manager *Facts) []Offer {
	var offers []Offer
	for _, o := range manager.Kueue.Offers {
		var contexts []string
		for _, name := range o.Contexts {
			if as := v.as[name]; as != "" {
				name = as
			}
			if v.answers(name) && name != manager.Context && !slices.Contains(contexts, name) {
				contexts = append(contexts, name)
			}
		}
		if len(contexts) > 0 {
			offers = append(offers, Offer{o.Clusters, contexts})
		}
	}
	return offers
}

// byOffers returns the contexts of a manager's MultiKueueClusters that its Workloads prove.
func (v *Inventory) byOffers(manager *Facts) *matcher {
	m, known := v.offered[manager.Context]
	if !known {
		m = newMatcher(v.offersOf(manager))
		for _, name := range manager.Kueue.ClusterNames() {
			if at := v.answering(manager.Kueue.contextsOf(name, v.Addresses)); len(at) > 0 && v.areOneCluster(at) {
				m.found[name] = at[0]
			}
		}
		m.dropForeign(manager.Kueue.shareAddress)
		m.match()
		m.guess(manager.Kueue.isLost)
		v.offered[manager.Context] = m
	}
	return m
}

// isLost reports whether a manager reports that it is not connected to a MultiKueueCluster.
func (k *KueueFacts) isLost(cluster string) bool {
	c := k.ClusterNamed(cluster)
	return c != nil && meta.IsStatusConditionFalse(c.Status.Conditions, kueue.Active)
}

// shareAddress reports whether two MultiKueueClusters have the same address. Another context of that
// address may reach the second one.
func (k *KueueFacts) shareAddress(a, b string) bool {
	x, y := k.Addresses[a], k.Addresses[b]
	return kubecontext.SameServer(x.Server, y.Server) && x.CA == y.CA
}

// IsContextProven reports whether the context that ContextOf returns certainly reaches the
// MultiKueueCluster. It is a guess if Workloads only show that several clusters have several contexts
// together. What deletes a mirror must not rely on a guess.
func (v *Inventory) IsContextProven(manager *Facts, cluster string) bool {
	context := v.ContextOf(manager, cluster)
	m := v.offered[manager.Context]
	return context != "" && (m == nil || m.found[cluster] == "" || m.found[cluster] != context || m.proven.Has(cluster))
}

// unlocatedCopies counts the copies of a manager's Workload on clusters that are none of its workers, as far
// as known.
func (v *Inventory) unlocatedCopies(manager *Facts, w *kueue.Workload) int {
	n := 0
	for f := range v.copiesOf(manager, w) {
		if !v.workerContexts(manager).Has(f.Context) {
			n++
		}
	}
	return n
}

// AdmittedCopy returns the cluster that has admitted a copy of a manager's Workload, nil if none is known.
// It may be one that no MultiKueueCluster is known to be.
func (v *Inventory) AdmittedCopy(manager *Facts, w *kueue.Workload) *Facts {
	for f, copied := range v.copiesOf(manager, w) {
		if copied.Is(kueue.Admitted) {
			return f
		}
	}
	return nil
}

// copiesOf returns the copies of a manager's Workload that MultiKueue made, by cluster.
func (v *Inventory) copiesOf(manager *Facts, w *kueue.Workload) iter.Seq2[*Facts, *kueue.Workload] {
	return func(yield func(*Facts, *kueue.Workload) bool) {
		for _, f := range v.Clusters {
			if f == manager || f.Err != nil {
				continue
			}
			copied := f.Workload(w.Namespace, w.Name)
			if copied != nil && copied.Labels[delegation.MultiKueueOriginLabel] != "" && !yield(f, copied) {
				return
			}
		}
	}
}

// IsElsewhere reports whether a context certainly reaches another cluster than a MultiKueueCluster of a
// manager. If that cluster was not read, the certificate authorities of the two must differ: one cluster may
// have two addresses.
func (v *Inventory) IsElsewhere(manager *Facts, cluster, context string) bool {
	if known := v.ContextOf(manager, cluster); v.answers(known) {
		return known != context && v.IsContextProven(manager, cluster)
	}
	wanted := manager.Kueue.Addresses[cluster]
	for name, a := range manager.Kueue.Addresses {
		if v.ContextOf(manager, name) == context && v.IsContextProven(manager, name) {
			return wanted.CA != "" && a.CA != "" && a.CA != wanted.CA
		}
	}
	return false
}

// ClusterText names a MultiKueueCluster with those from which nothing tells it apart: they have
// several contexts together, and ContextOf gives each of them one.
func (v *Inventory) ClusterText(manager *Facts, cluster string) string {
	if v.ContextOf(manager, cluster) == "" {
		return cluster
	}
	if m := v.offered[manager.Context]; m != nil && len(m.alike[cluster]) > 1 {
		return strings.Join(m.alike[cluster], " or ")
	}
	return cluster
}

// matcher finds out which contexts reach MultiKueueClusters.
type matcher struct {
	offers []Offer
	// possible are the contexts that have each Workload that a cluster got.
	possible map[string][]string
	found    map[string]string
	// proven are the clusters whose context is not a guess.
	proven sets.Set[string]
	// alike are the clusters whose contexts may be exchanged, by each of them.
	alike map[string][]string
}

func newMatcher(offers []Offer) *matcher {
	m := &matcher{offers: offers, possible: map[string][]string{}, found: map[string]string{}, alike: map[string][]string{}}
	for _, o := range offers {
		if len(o.Clusters) > 1 && len(o.Clusters) != len(o.Contexts) {
			// Some of the clusters have no copy, or no context.
			continue
		}
		for _, name := range o.Clusters {
			if known, ok := m.possible[name]; ok {
				m.possible[name] = common(known, o.Contexts)
			} else {
				m.possible[name] = o.Contexts
			}
		}
	}
	return m
}

// dropForeign removes from the possible contexts of each cluster the contexts that were already found
// for another one: a copy that is left there proves nothing. share reports whether two clusters may have
// the same contexts.
func (m *matcher) dropForeign(share func(a, b string) bool) {
	for name, possible := range m.possible {
		m.possible[name] = slices.DeleteFunc(slices.Clone(possible), func(context string) bool {
			for other, at := range m.found {
				if at == context && other != name && !share(other, name) {
					return true
				}
			}
			return false
		})
	}
}

func common(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return !slices.Contains(b, s) })
}

// match fills found. A chosen cluster is where all its Workloads are. If as many contexts as
// nominated clusters have a copy, each is one of these clusters. Only among these, the names of
// contexts count; a name proves nothing.
func (m *matcher) match() {
	for _, o := range m.offers {
		if len(o.Clusters) == 1 {
			m.take(o.Clusters[0], m.possible[o.Clusters[0]])
		}
	}
	for before := -1; before < len(m.found); {
		before = len(m.found)
		m.exclude(func(string, []string) {})
		m.takeLast()
	}
	m.proven = sets.KeySet(m.found)
	m.exclude(func(cluster string, rest []string) {
		if slices.Contains(rest, cluster) {
			m.take(cluster, []string{cluster})
		}
	})
	m.exclude(func(string, []string) {})
}

// exclude finds the clusters for which one context remains. It calls another for clusters with
// several.
func (m *matcher) exclude(another func(cluster string, rest []string)) {
	for _, o := range m.offers {
		if len(o.Clusters) != len(o.Contexts) {
			continue
		}
		for _, name := range o.Clusters {
			rest := slices.DeleteFunc(slices.Clone(m.possible[name]), func(context string) bool {
				return slices.ContainsFunc(o.Clusters, func(other string) bool { return m.found[other] == context })
			})
			m.take(name, rest)
			if len(rest) > 1 && m.found[name] == "" {
				another(name, rest)
			}
		}
	}
}

// takeLast finds the only cluster of a Workload without a context, if one of the Workload's contexts
// remains for it. The other clusters may have no copy.
func (m *matcher) takeLast() {
	left := map[string][]string{}
	for _, o := range m.offers {
		clusters := slices.DeleteFunc(slices.Clone(o.Clusters), func(name string) bool { return m.found[name] != "" })
		rest := slices.DeleteFunc(slices.Clone(o.Contexts), m.isTaken)
		if len(clusters) != 1 || len(rest) == 0 {
			continue
		}
		name := clusters[0]
		for _, known := range []map[string][]string{m.possible, left} {
			if contexts, ok := known[name]; ok {
				rest = common(rest, contexts)
			}
		}
		left[name] = rest
	}
	for name, rest := range left {
		m.take(name, rest)
	}
}

// isTaken reports whether a context was found for any cluster.
func (m *matcher) isTaken(context string) bool {
	for _, at := range m.found {
		if at == context {
			return true
		}
	}
	return false
}

// take records the context of a cluster if only one is possible.
func (m *matcher) take(cluster string, possible []string) {
	if m.found[cluster] == "" && len(possible) == 1 {
		m.found[cluster] = possible[0]
	}
}

// guess gives each of several clusters one of the contexts that they have together, if none of them
// is lost. All their Workloads are at all of them, so only names can be wrong. Nothing that depends
// on a name may rely on that.
func (m *matcher) guess(isLost func(cluster string) bool) {
	for _, o := range m.offers {
		rest := slices.Sorted(slices.Values(o.Clusters))
		rest = slices.DeleteFunc(rest, func(name string) bool { return m.found[name] != "" })
		if len(rest) < 2 || len(o.Clusters) != len(o.Contexts) || slices.ContainsFunc(rest, isLost) {
			continue
		}
		free := slices.Sorted(slices.Values(m.possible[rest[0]]))
		free = slices.DeleteFunc(free, func(context string) bool {
			return slices.ContainsFunc(o.Clusters, func(other string) bool { return m.found[other] == context })
		})
		isOther := func(name string) bool {
			return !slices.Equal(slices.Sorted(slices.Values(m.possible[name])), slices.Sorted(slices.Values(m.possible[rest[0]])))
		}
		if len(free) != len(rest) || slices.ContainsFunc(rest, isOther) {
			continue
		}
		for i, name := range rest {
			m.found[name], m.alike[name] = free[i], rest
		}
	}
}

// mayRun reports whether a worker may run the Job of a manager's Workload.
func mayRun(w *kueue.Workload) bool {
	return w != nil && w.Is(kueue.QuotaReserved) && !w.Is(kueue.Finished) && !w.Is(kueue.Evicted) && w.IsActive() && w.DeletionTimestamp == nil
}

// mayHaveOffered reports whether a manager may have offered a Workload without nominations to workers. MultiKueue
// offers it once all other AdmissionChecks are ready. An eviction removes the nominations.
func (f *Facts) mayHaveOffered(w *kueue.Workload) bool {
	if !f.Kueue.RecordsNominations() {
		return true
	}
	isOther := func(state kueue.CheckState) bool {
		check := f.Kueue.CheckNamed(state.Name)
		return state.State != kueue.CheckReady && check != nil && !check.IsMultiKueue()
	}
	wasReset := func(state kueue.CheckState) bool { return state.WasReset() }
	wasEvicted := w.Condition(kueue.Evicted) != nil || slices.ContainsFunc(w.Status.AdmissionChecks, wasReset)
	return wasEvicted && !slices.ContainsFunc(w.Status.AdmissionChecks, isOther)
}

func checksOf(w *kueue.Workload) []string {
	var names []string
	for _, state := range w.Status.AdmissionChecks {
		names = append(names, state.Name)
	}
	return names
}

package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Inventory is all that was read of a fleet, and how it belongs together. Judging
// is a pure function of it.
type Inventory struct {
	// Now is when it was read.
	Now time.Time
	// Clusters are in the fleet's order, each once, and contexts that could not be read
	// too.
	Clusters []*Facts
	// Addresses are those of every context there is, asked or not, so that what
	// a MultiKueueCluster means can be told. A context that was joined with
	// another one has that one's name.
	Addresses []kubecontext.Address
	Pairs     *Pairs

	// contexts remembers what ContextOf has found.
	contexts map[clusterName]string
	// records remembers what RecordOf has found.
	records map[Role]map[Actor]*Record
}

// clusterName is a MultiKueueCluster of the manager that a context reaches.
type clusterName struct{ manager, cluster string }

// NewInventory pairs up what was read. What was read of one cluster through several
// contexts is joined: the first of these stands for it.
func NewInventory(now time.Time, clusters []*Facts, addresses []kubecontext.Address) *Inventory {
	clusters, as := joined(clusters)
	addresses = renamed(addresses, as)
	var jobs []*Job
	for _, f := range clusters {
		f.sort()
		jobs = append(jobs, f.Jobs...)
		f.buildIndex()
		f.askParts()
		f.SetDispatchers(now)
	}
	v := &Inventory{
		Now: now, Clusters: clusters, Addresses: addresses, Pairs: PairUp(jobs),
		contexts: map[clusterName]string{},
	}
	for i := range v.Pairs.Pairs {
		v.adoptByWorkload(&v.Pairs.Pairs[i])
	}
	return v
}

// adoptByWorkload makes mirrors of namesakes that control a copy of the origin's Workload:
// somebody removed all other marks from them.
func (v *Inventory) adoptByWorkload(p *Pair) {
	if len(p.Namesakes) == 0 || p.Origin.ManagedBy != delegation.MultiKueue {
		return
	}
	p.Namesakes = slices.DeleteFunc(p.Namesakes, func(j *Job) bool {
		f := v.Facts(j.Context)
		for _, name := range p.Origin.WorkloadNames() {
			w := f.Workload(j.Namespace, name)
			if w == nil || w.Labels[delegation.MultiKueueOriginLabel] == "" {
				continue
			}
			if owner := metav1.GetControllerOf(w); owner != nil && string(owner.UID) == j.UID {
				p.add(j, ByWorkload, true)
				return true
			}
		}
		return false
	})
	slices.SortStableFunc(p.Mirrors, byUse)
}

// WithoutGaps is the inventory, for what is judged by what is not there: without
// the kinds of which some cluster's objects could not be read, and of each of these
// an inventory of its own, in which such clusters are as if they had not answered.
func (v *Inventory) WithoutGaps() (whole *Inventory, byGap map[Part]*Inventory) {
	byGap = map[Part]*Inventory{}
	for _, f := range v.Clusters {
		for _, part := range f.KindParts() {
			byGap[part] = nil
		}
	}
	if len(byGap) == 0 {
		return v, nil
	}
	for part := range byGap {
		byGap[part] = v.only(func(p Part) bool { return p == part }, part)
	}
	return v.only(func(p Part) bool { _, is := byGap[p]; return !is }, ""), byGap
}

// only is the inventory with those Jobs whose kind is kept; of a cluster where the
// kind that is needed is a gap, nothing is left.
func (v *Inventory) only(keep func(Part) bool, needed Part) *Inventory {
	var clusters []*Facts
	for _, f := range v.Clusters {
		c := *f
		c.Jobs = slices.DeleteFunc(slices.Clone(f.Jobs), func(j *Job) bool { return !keep(PartOf(j.Row())) })
		c.Kinds = slices.DeleteFunc(slices.Clone(f.Kinds), func(k delegation.Kind) bool { return !keep(PartOf(k)) })
		if err := f.Gaps[needed]; err != nil && c.Err == nil {
			c = Facts{Context: f.Context, ClusterUID: f.ClusterUID, NamespaceUIDs: f.NamespaceUIDs, Skew: f.Skew, Err: err}
		}
		clusters = append(clusters, &c)
	}
	return NewInventory(v.Now, clusters, v.Addresses)
}

// Facts is what was read through a context, nil if it was not asked.
func (v *Inventory) Facts(name string) *Facts {
	for _, f := range v.Clusters {
		if f.Context == name {
			return f
		}
	}
	return nil
}

// renamed are the addresses, those of contexts that another one stands for by its name.
func renamed(addresses []kubecontext.Address, as map[string]string) []kubecontext.Address {
	if len(as) == 0 {
		return addresses
	}
	addresses = slices.Clone(addresses)
	for i := range addresses {
		if name := as[addresses[i].Context]; name != "" {
			addresses[i].Context = name
		}
	}
	return addresses
}

// isCovered says whether a context that did not answer leads to a cluster that was read
// through another one, which then has its address.
func (v *Inventory) isCovered(f *Facts) bool {
	return len(v.Addresses) > 0 && !slices.ContainsFunc(v.Addresses, func(a kubecontext.Address) bool { return a.Context == f.Context })
}

// Unseen are the contexts there are that were not asked or did not answer, and whose
// cluster was not read through another one either.
func (v *Inventory) Unseen() []string {
	var names []string
	for _, f := range v.Clusters {
		if f.Err != nil && !v.isCovered(f) {
			names = append(names, f.Context)
		}
	}
	for _, a := range v.Addresses {
		if v.Facts(a.Context) == nil && !slices.Contains(names, a.Context) {
			names = append(names, a.Context)
		}
	}
	return names
}

// Count is a number of things in words, by the noun for one.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Some are a few of many names, in words.
func Some(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// ContextOf finds the context that reaches a MultiKueueCluster of a manager, ""
// if that cannot be told. The name of a MultiKueueCluster is its own and proves
// nothing. First comes the server in its Secret, then the certificate authority
// there, which tells clusters apart where a manager reaches them by another
// address than we do; at last, where its Workloads are found.
func (v *Inventory) ContextOf(manager *Facts, cluster string) string {
	if manager == nil || manager.Kueue == nil {
		return ""
	}
	key := clusterName{manager.Context, cluster}
	found, known := v.contexts[key]
	if !known {
		found = v.findContext(manager, cluster)
		v.contexts[key] = found
	}
	return found
}

func (v *Inventory) findContext(manager *Facts, cluster string) string {
	if name := manager.Kueue.ContextOf(cluster, v.Addresses); name != "" {
		return name
	}
	return v.contextByWorkloads(manager, cluster)
}

// ContextOf finds the context that leads to the address of a MultiKueueCluster, "" if
// none does, or if several clusters may be meant.
func (k *KueueFacts) ContextOf(cluster string, contexts []kubecontext.Address) string {
	wanted, ok := k.Addresses[cluster]
	if !ok {
		return ""
	}
	var byServer, byAuthority []kubecontext.Address
	for _, a := range contexts {
		sameCA := a.CA == wanted.CA && a.CA != ""
		if kubecontext.SameServer(a.Server, wanted.Server) && (sameCA || a.CA == "" || wanted.CA == "") {
			byServer = append(byServer, a)
		}
		if sameCA {
			byAuthority = append(byAuthority, a)
		}
	}
	if len(byServer) > 0 {
		return byServer[0].Context
	}
	if len(byAuthority) == 0 || k.sharesAuthority(wanted) {
		return ""
	}
	for _, a := range byAuthority {
		if !kubecontext.SameServer(a.Server, byAuthority[0].Server) {
			// Clusters that share an authority.
			return ""
		}
	}
	return byAuthority[0].Context
}

// sharesAuthority says whether another MultiKueueCluster has the certificate authority
// of one, and another server: one authority stands behind several clusters, some of
// which we may have no context for.
func (k *KueueFacts) sharesAuthority(of kubecontext.Address) bool {
	for _, a := range k.Addresses {
		if a.CA == of.CA && !kubecontext.SameServer(a.Server, of.Server) {
			return true
		}
	}
	return false
}

// contextByWorkloads finds the one context that has the copies of those
// Workloads which the manager says it has given to the cluster.
func (v *Inventory) contextByWorkloads(manager *Facts, cluster string) string {
	var possible []string
	for _, w := range manager.Kueue.Workloads {
		if w.ChosenCluster() != cluster {
			continue
		}
		var found []string
		for _, f := range v.Clusters {
			copied := f.Workload(w.Namespace, w.Name)
			if f != manager && copied != nil && copied.Labels[delegation.MultiKueueOriginLabel] != "" {
				found = append(found, f.Context)
			}
		}
		if possible == nil {
			possible = found
		}
		possible = slices.DeleteFunc(slices.Clone(possible), func(name string) bool { return !slices.Contains(found, name) })
	}
	if len(possible) != 1 {
		return ""
	}
	return possible[0]
}

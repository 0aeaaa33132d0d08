package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// ContextOf returns the context that reaches a MultiKueueCluster of a manager, "" if unknown. It
// prefers contexts that answer, and of these the one that could read most. The name of a
// MultiKueueCluster proves nothing: it only chooses among the contexts that several clusters have
// together, and IsContextProven is false then. The evidence, the best first:
//   - the server in its Secret or ClusterProfile, or else the certificate authority there
//   - where MultiKueue copied Workloads and Jobs
//   - the server alone, if the manager rejects the worker's certificate
func (v *Inventory) ContextOf(manager *Facts, cluster string) string {
	if manager == nil || manager.Kueue == nil || cluster == "" {
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

// workerContexts returns the contexts of all known MultiKueueClusters of a manager. They are found once: there may
// be as many questions as Workloads, and all Workloads name MultiKueueClusters.
func (v *Inventory) workerContexts(manager *Facts) sets.Set[string] {
	contexts, known := v.workers[manager.Context]
	if known || manager.Kueue == nil {
		return contexts
	}
	contexts = sets.New[string]()
	for _, name := range manager.Kueue.ClusterNames() {
		contexts.Insert(v.ContextOf(manager, name))
	}
	contexts.Delete("")
	v.workers[manager.Context] = contexts
	return contexts
}

func (v *Inventory) findContext(manager *Facts, cluster string) string {
	contexts := manager.Kueue.contextsOf(cluster, v.Addresses)
	answering := v.answering(contexts)
	isShared := manager.Kueue.sharesAddress(cluster) && len(contexts) > 1
	isOne := len(answering) > 0 && v.areOneCluster(answering)
	if isShared {
		isOne = len(answering) == len(contexts) && v.areProvenOne(answering)
	}
	if isOne {
		return slices.MinFunc(answering, func(a, b string) int { return cmp.Compare(v.Facts(a).lacks(), v.Facts(b).lacks()) })
	}
	if name := v.byOffers(manager).found[cluster]; name != "" {
		return name
	}
	switch {
	case len(answering) > 0, isShared:
		// A proxy chooses the cluster by the credentials.
		return ""
	case len(contexts) > 0:
		return v.selectedFirst(contexts)
	}
	return v.contextOfServer(manager, cluster)
}

// answers reports whether a cluster was read through a context.
func (v *Inventory) answers(name string) bool {
	f := v.Facts(name)
	return f != nil && f.Err == nil
}

func (v *Inventory) answering(contexts []string) []string {
	return slices.DeleteFunc(slices.Clone(contexts), func(name string) bool { return !v.answers(name) })
}

// selectedFirst returns the first context that was asked, or else the first one.
func (v *Inventory) selectedFirst(contexts []string) string {
	if i := slices.IndexFunc(contexts, func(name string) bool { return v.Facts(name) != nil }); i >= 0 {
		return contexts[i]
	}
	return contexts[0]
}

// areOneCluster reports whether no two of these contexts are known to reach different clusters.
func (v *Inventory) areOneCluster(contexts []string) bool {
	for i, a := range contexts {
		for _, b := range contexts[i+1:] {
			if v.Facts(a).Cluster().Compare(v.Facts(b).Cluster()) == delegation.CertainlyOther {
				return false
			}
		}
	}
	return true
}

// areProvenOne reports whether these contexts certainly reach one cluster.
func (v *Inventory) areProvenOne(contexts []string) bool {
	first := v.Facts(contexts[0]).Cluster()
	return !slices.ContainsFunc(contexts[1:], func(name string) bool {
		return v.Facts(name).Cluster().Compare(first) != delegation.CertainlySame
	})
}

// ContextOf returns the context that points to the address of a MultiKueueCluster, "" if none does,
// or if several clusters may be meant. It prefers contexts that answer.
func (k *KueueFacts) ContextOf(cluster string, contexts []kubecontext.Address, answers func(context string) bool) string {
	found := k.contextsOf(cluster, contexts)
	if len(found) > 1 && k.sharesAddress(cluster) {
		return ""
	}
	if i := slices.IndexFunc(found, answers); i >= 0 {
		return found[i]
	}
	return strings.Join(found[:min(1, len(found))], "")
}

// contextsOf returns the contexts that point to the address of a MultiKueueCluster, without
// duplicates.
func (k *KueueFacts) contextsOf(cluster string, contexts []kubecontext.Address) []string {
	wanted, ok := k.Addresses[cluster]
	if !ok {
		return nil
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
		return namesOf(byServer)
	}
	if len(byAuthority) == 0 || k.sharesAuthority(wanted) {
		return nil
	}
	for _, a := range byAuthority {
		if !kubecontext.SameServer(a.Server, byAuthority[0].Server) {
			// Several clusters share this authority.
			return nil
		}
	}
	return namesOf(byAuthority)
}

func namesOf(addresses []kubecontext.Address) []string {
	var names []string
	for _, a := range addresses {
		if !slices.Contains(names, a.Context) {
			names = append(names, a.Context)
		}
	}
	return names
}

// sharesAuthority reports whether another MultiKueueCluster has the same certificate authority with
// another server. The authority then serves several clusters, some of which may have no context.
func (k *KueueFacts) sharesAuthority(of kubecontext.Address) bool {
	for _, a := range k.Addresses {
		if a.CA == of.CA && !kubecontext.SameServer(a.Server, of.Server) {
			return true
		}
	}
	return false
}

// sharesAddress reports whether another MultiKueueCluster has the same server and the same
// certificate authority, as those behind one proxy have.
func (k *KueueFacts) sharesAddress(cluster string) bool {
	of, isKnown := k.Addresses[cluster]
	if !isKnown {
		return false
	}
	for name, a := range k.Addresses {
		if name != cluster && a.CA == of.CA && kubecontext.SameServer(a.Server, of.Server) {
			return true
		}
	}
	return false
}

// contextOfServer returns the context with the server of a MultiKueueCluster whose certificate the
// manager rejects: the authority in its Secret is wrong then.
func (v *Inventory) contextOfServer(manager *Facts, cluster string) string {
	wanted, c := manager.Kueue.Addresses[cluster], manager.Kueue.ClusterNamed(cluster)
	if c == nil || wanted.Server == "" {
		return ""
	}
	active := meta.FindStatusCondition(c.Status.Conditions, kueue.Active)
	if active == nil || active.Status != metav1.ConditionFalse || !strings.Contains(active.Message, "x509") {
		return ""
	}
	var names []string
	for _, a := range v.Addresses {
		if kubecontext.SameServer(a.Server, wanted.Server) && !slices.Contains(names, a.Context) {
			names = append(names, a.Context)
		}
	}
	if answering := v.answering(names); len(answering) > 0 && v.areOneCluster(answering) {
		return answering[0]
	}
	return ""
}

// Unlocated returns the MultiKueueClusters of a manager without a context that certainly reaches
// them and answers. It returns none if every such context belongs to another MultiKueueCluster.
func (v *Inventory) Unlocated(manager *Facts) []string {
	if manager.Err != nil || manager.Kueue == nil {
		return nil
	}
	var missing, taken []string
	for _, name := range manager.Kueue.ClusterNames() {
		if context := v.ContextOf(manager, name); v.answers(context) && v.ClusterText(manager, name) == name {
			taken = append(taken, context)
		} else {
			missing = append(missing, name)
		}
	}
	hasFree := slices.ContainsFunc(v.Clusters, func(f *Facts) bool {
		return f != manager && f.Err == nil && f.Kueue != nil && !slices.Contains(taken, f.Context)
	})
	if !hasFree {
		return nil
	}
	return missing
}

// ClusterNames returns the names of all known MultiKueueClusters, sorted. A user who may not read
// them knows those of Workloads.
func (k *KueueFacts) ClusterNames() []string {
	var names []string
	for _, c := range k.Clusters {
		names = append(names, c.Name)
	}
	for _, w := range k.Workloads {
		names = append(names, offeredTo(w)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// UnreadWorkers returns the workers that a MultiKueueConfig of a manager names and that were not
// read. Orphans may run there, and Jobs that run twice.
func (v *Inventory) UnreadWorkers() []Unchecked {
	var unread []Unchecked
	for _, manager := range v.Clusters {
		if manager.Err != nil || manager.Kueue == nil {
			continue
		}
		for _, c := range manager.Kueue.Clusters {
			if !manager.dispatchesTo(c.Name) || c.DeletionTimestamp != nil || v.Facts(v.ContextOf(manager, c.Name)) != nil {
				// Another error reports a context that did not answer.
				continue
			}
			unread = append(unread, *v.UnreadWorker(manager, c.Name))
		}
	}
	return unread
}

// dispatchesTo reports whether a manager may have given Jobs of the namespaces that were read to a
// MultiKueueCluster: a MultiKueueConfig names it and, if LocalQueues of one namespace were read, one of them
// leads there.
func (f *Facts) dispatchesTo(cluster string) bool {
	isNamed := slices.ContainsFunc(f.Kueue.Configs, func(o *kueue.MultiKueueConfig) bool { return slices.Contains(o.Spec.Clusters, cluster) })
	if !isNamed || f.Namespace == "" || !f.Kueue.ListsLocalQueues {
		return isNamed
	}
	return slices.ContainsFunc(f.Kueue.MultiKueueQueues(), func(q QueueOf) bool {
		return q.Local.Namespace == f.Namespace && slices.Contains(q.Workers, cluster)
	})
}

// UnreadWorkersOf returns the workers that may run the Job of a manager's Workload, and of which the
// Workloads were not read: the chosen worker or, until one is chosen, the workers that got an offer. If none
// is known although the Workload may have been offered, these are all workers of its MultiKueueConfig. It returns none if a worker that was read has admitted the Workload, or if the Workload
// has no quota. A copy on a cluster of unknown use is that of a worker without a known context.
func (v *Inventory) UnreadWorkersOf(manager *Facts, w *kueue.Workload) []WorkerGap {
	if manager == nil || manager.Kueue == nil || !mayRun(w) {
		return nil
	}
	names := offeredTo(w)
	if len(names) == 0 && manager.mayHaveOffered(w) {
		names = manager.Kueue.ClustersBehind(checksOf(w))
	}
	if w.ChosenCluster() == "" && v.AdmittedCopy(manager, w) != nil {
		return nil
	}
	var unread []WorkerGap
	found := v.unlocatedCopies(manager, w)
	for _, name := range names {
		u := v.UnreadWorker(manager, name)
		if u != nil && len(u.Contexts) == 0 && found > 0 {
			found--
			continue
		}
		if u == nil {
			u = v.unreadWorkloads(v.Facts(v.ContextOf(manager, name)), w)
		}
		if u != nil {
			unread = append(unread, WorkerGap{Name: name, Unchecked: *u})
		}
	}
	return unread
}

// WorkerGap is what was not read of a worker. Name is its MultiKueueCluster.
type WorkerGap struct {
	Unchecked
	Name string
}

// unreadWorkloads describes why it is unknown whether a worker has a copy of a Workload, nil if that is
// known.
func (v *Inventory) unreadWorkloads(worker *Facts, w *kueue.Workload) *Unchecked {
	err := worker.Gaps[PartWorkloads]
	if err == nil || worker.Workload(w.Namespace, w.Name) != nil {
		return nil
	}
	return &Unchecked{What: UnreadWorkloads, Contexts: []string{worker.Context}, Reason: kubecontext.InContext(worker.Context, "", err).Message()}
}

// UnreadWorker describes why the worker of a MultiKueueCluster was not read. It returns nil if it was
// read.
func (v *Inventory) UnreadWorker(manager *Facts, cluster string) *Unchecked {
	context := v.ContextOf(manager, cluster)
	f := v.Facts(context)
	if f != nil && f.Err == nil {
		return nil
	}
	u := &Unchecked{What: WorkerPrefix + cluster, Contexts: []string{}, Cluster: true}
	if context != "" {
		u.Contexts = []string{context}
	}
	switch {
	case context == "" && manager.lacksCluster(cluster):
		u.Reason = fmt.Sprintf("there is no MultiKueueCluster %s on %s", cluster, manager.Context)
	case context == "":
		u.Reason = v.WhyNoContext(manager, "it", cluster)
	case f == nil:
		u.Reason = NotSelected
	default:
		u.Reason = kubecontext.InContext(context, "", f.Err).Message()
	}
	return u
}

// lacksCluster reports whether a manager certainly has no MultiKueueCluster of a name.
func (f *Facts) lacksCluster(name string) bool {
	return f.Kueue != nil && f.Gaps[PartKueue] == nil && f.Gaps[PartClusters] == nil && f.Kueue.ClusterNamed(name) == nil
}

// NoContextReachesIt is why a cluster was not read whose address is known.
const NoContextReachesIt = noContextReaches + "it"

const noContextReaches = "no known context reaches "

// WhyNoContext describes why the context of MultiKueueClusters of a manager is unknown. called is what the
// sentence calls them.
func (v *Inventory) WhyNoContext(manager *Facts, called string, clusters ...string) string {
	if manager.Gaps[PartSecrets] != nil || manager.Gaps[PartClusters] != nil {
		return fmt.Sprintf("cannot tell which context reaches %s: its address on %s could not be read", called, manager.Context)
	}
	hasAddress := func(name string) bool { return !manager.Kueue.HasInvalidKubeconfig(name) }
	if len(clusters) > 0 && !slices.ContainsFunc(clusters, hasAddress) {
		return fmt.Sprintf("cannot tell which context reaches %s: its kubeconfig on %s is invalid", called, manager.Context)
	}
	return noContextReaches + called
}

// HasInvalidKubeconfig reports whether the manager reports a MultiKueueCluster's kubeconfig as invalid, and no
// address was found in it.
func (k *KueueFacts) HasInvalidKubeconfig(cluster string) bool {
	c := k.ClusterNamed(cluster)
	if _, hasAddress := k.Addresses[cluster]; hasAddress || c == nil {
		return false
	}
	active := meta.FindStatusCondition(c.Status.Conditions, kueue.Active)
	reasons := []string{"BadKubeConfig", "BadConfig", "InsecureKubeConfig"}
	// Kueue gives the same reason if the Secret does not exist.
	return active != nil && active.Status == metav1.ConditionFalse && slices.Contains(reasons, active.Reason) &&
		!strings.Contains(active.Message, "not found")
}

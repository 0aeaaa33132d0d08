package read

import (
	"context"
	"errors"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Want says what to read from the clusters of a fleet. Nothing else is requested.
type Want struct {
	// Jobs selects the Jobs; nil means none.
	Jobs *Query
	// Named, if set, replaces Jobs: it selects the Jobs with one name, and all objects related to
	// them.
	Named *Wanted
	// Past is whether to read only finished delegated Jobs and what Kueue keeps about them.
	Past bool
	// Mirrors is whether to find the contexts that run the Jobs, and set their Mirrors.
	Mirrors bool
	// Config is whether to read MultiKueue's configuration, which shows the workers of managers.
	Config bool
	// Evidence is whether to read what rules need: Pods and warnings of delegated Jobs and mirrors,
	// Leases of dispatched Jobs, Namespaces, and Kueue's objects.
	Evidence bool
	// InSnapshot is whether a snapshot is read, which may lack existing classes.
	InSnapshot bool
	// Classes is whether Evidence includes the priority classes of Jobs without a Workload.
	Classes bool
	// Pods is whether Evidence includes the Pods and warnings of all unfinished Jobs.
	Pods bool
	// Setup is whether to read the configuration of clusters for doctor, with the LocalQueues of
	// SetupIn, "" for all namespaces. It needs no Jobs.
	Setup   bool
	SetupIn string
	// Quotas says which queues to read, with their quotas and usage. Release adds the version of
	// Kueue's controller, if it can be read.
	Quotas  Scope
	Release bool
	// Capacity is whether to read what decides where a Job in one of the Queues could run. These queues
	// are also requested by name, which needs fewer rights than a list.
	Capacity bool
	Queues   []types.NamespacedName
	// Workloads are the Workloads whose Pod templates are read with Capacity, to check their requests.
	Workloads []types.NamespacedName
	// Known is an earlier inventory of these clusters, if any. Its long lists are not requested
	// again, and it supplies what cannot be read now.
	Known *inspect.Inventory
	// Ahead, if set with Named, starts to prefetch the Jobs Around a waiting one. If set with these
	// Jobs and Evidence, it supplies them.
	Ahead *Ahead

	// Addresses are the addresses of all contexts.
	Addresses []kubecontext.Address
	// Now is the clock.
	Now func() time.Time

	// hasOthers is whether the fleet has several clusters.
	hasOthers bool
}

// Read reads all clusters of a fleet in parallel. A part that could not be read is a gap in the
// inventory. For a cluster of which nothing could be read, Facts.Err has the reason.
func Read(ctx context.Context, f *fleet.Fleet, w Want) *inspect.Inventory {
	var clusters []*inspect.Facts
	w.hasOthers = hasOthers(f)
	if w.Named != nil {
		clusters = readNamed(ctx, f, *w.Named, w.Ahead)
	} else {
		if w.Jobs != nil {
			jobs := w.Jobs.across(ctx, f)
			w.Jobs = &jobs
		}
		question := w.read
		if w.Past {
			question = w.readPast
		}
		clusters = askAll(ctx, f, question)
		learnPlaces(ctx, f, clusters)
	}
	if w.Known != nil {
		w.keepKnown(clusters)
	}
	v := inspect.NewInventory(w.Now(), clusters, w.Addresses)
	if w.Named != nil || w.Setup || w.Release {
		// Others read all Workloads anyway, or show no workers.
		locate(ctx, f, v, w.namespaces(v))
	}
	if w.Mirrors {
		w.findMirrors(ctx, f, v, w.isComplete(clusters))
	}
	return v
}

// namespaces returns the namespaces in which other Workloads may show where workers are.
func (w *Want) namespaces(v *inspect.Inventory) []string {
	if w.Named == nil {
		return []string{w.SetupIn}
	}
	var found []string
	for _, f := range v.Clusters {
		for _, j := range f.Jobs {
			found = append(found, j.Namespace)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// askAll sends a request to every cluster. Without an answer, Facts.Err has the reason.
func askAll(ctx context.Context, f *fleet.Fleet, question func(context.Context, *fleet.Cluster) (*inspect.Facts, error)) []*inspect.Facts {
	var clusters []*inspect.Facts
	for _, a := range fleet.Ask(ctx, f, question) {
		facts := a.Value
		if facts == nil || a.Err != nil {
			facts = &inspect.Facts{Context: a.Context, Err: a.Err}
		}
		clusters = append(clusters, facts)
	}
	return clusters
}

// read reads one cluster.
func (w *Want) read(ctx context.Context, c *fleet.Cluster) (*inspect.Facts, error) {
	facts := factsOf(c)
	unsettled := unsettledJobs{}
	if w.Jobs != nil {
		err := w.listJobs(ctx, c, facts, &unsettled)
		if w.isWhole() {
			err = unansweredError(facts, err)
		}
		if err != nil {
			return facts, err
		}
		if w.Evidence {
			noteFieldless(ctx, c, facts, w.isWhole())
		}
	}
	if w.Evidence || w.Config || w.Setup || w.Capacity || w.Quotas != NoScope {
		w.readKueue(ctx, c, facts)
	}
	if !w.isWhole() {
		unsettled.settle(ctx, c, facts, w.known(c.Context) == nil)
	}
	if w.Classes && facts.Kueue != nil {
		(&factReader{cluster: c, facts: facts, version: facts.Kueue.Version}).readClasses(ctx, w.InSnapshot)
	}
	facts.Skew = c.Skew()
	if w.isWhole() {
		// The parts that were read before the timeout are kept.
		useContextCause(ctx, facts)
		return facts, nil
	}
	return facts, context.Cause(ctx)
}

// listJobs reads the requested Jobs, from Ahead if it has them.
func (w *Want) listJobs(ctx context.Context, c *fleet.Cluster, facts *inspect.Facts, unsettled *unsettledJobs) error {
	if !w.Evidence {
		return listInto(ctx, facts, c, *w.Jobs, nil)
	}
	begun, err := w.Ahead.take(ctx, c)
	if begun == nil && err == nil {
		return listInto(ctx, facts, c, *w.Jobs, unsettled.add)
	}
	if err == nil {
		*facts, *unsettled, err = *begun.facts, begun.unsettled, begun.err
	}
	return err
}

// isWhole is whether to read everything that any Want reads, for a snapshot.
func (w *Want) isWhole() bool { return w.Jobs != nil && w.Jobs.isWhole }

// readKueue reads the requested Kueue objects, and the related evidence.
func (w *Want) readKueue(ctx context.Context, c *fleet.Cluster, facts *inspect.Facts) {
	r := openKueue(ctx, c, facts)
	r.isWhole, r.hasOthers = w.isWhole(), w.hasOthers
	if w.Known != nil {
		if before := w.Known.Facts(c.Context); before != nil {
			r.known = before.Kueue
		}
	}
	if w.Evidence && w.Jobs != nil {
		r.readEvidence(ctx, w.Jobs.namespace(c), w.known(c.Context), w.Pods)
	}
	if w.Setup {
		r.readSetup(ctx, w.SetupIn)
	}
	if r.hasKueue() {
		if w.Release {
			r.readRelease(ctx)
		}
		if w.Evidence || w.Config || w.Setup || w.Capacity || w.Quotas == ClusterScope {
			// A user with rights in namespaces only is spared denials of objects that are not
			// shown.
			r.readConfig(ctx)
		}
		w.readQueues(ctx, r)
	}
	r.wg.Wait()
	r.keepPodWarnings()
	if r.hasKueue() {
		w.readFollowUps(ctx, c, r)
	}
}

// readFollowUps reads what depends on the earlier readings of Kueue.
func (w *Want) readFollowUps(ctx context.Context, c *fleet.Cluster, r *factReader) {
	if w.Evidence && !r.isWhole {
		r.readBeyond(ctx)
	}
	if len(w.Queues) > 0 {
		r.readOwnClaims(ctx, []string{w.Queues[0].Namespace})
	}
	if w.Quotas == NamespaceScope {
		r.facts.Namespace = c.Namespace
		r.readLocals(ctx, c.Namespace)
		r.wg.Wait()
	}
	if w.Quotas != NoScope {
		r.countRequests(ctx)
	}
}

// readQueues reads the requested queues and their capacity.
func (w *Want) readQueues(ctx context.Context, r *factReader) {
	var namespaces []string
	for _, q := range w.Queues {
		r.readQueue(ctx, q.Namespace, q.Name)
		if !slices.Contains(namespaces, q.Namespace) {
			namespaces = append(namespaces, q.Namespace)
		}
	}
	slices.Sort(namespaces)
	switch {
	case r.isWhole:
		r.readCapacity(ctx, r.facts.Namespace, []string{r.facts.Namespace})
	case w.Capacity:
		r.readCapacity(ctx, metav1.NamespaceAll, namespaces)
		r.readSite(ctx, nil)
		for _, workload := range w.Workloads {
			r.readTemplates(ctx, []string{workload.Namespace}, []string{workload.Name})
		}
	case w.Quotas != NoScope:
		r.readQuotas(ctx, newCapacity(), metav1.NamespaceAll)
	}
}

// known returns the earlier lists of a cluster, nil if there are none.
func (w *Want) known(name string) *inspect.Capacity {
	if w.Known == nil {
		return nil
	}
	if facts := w.Known.Facts(name); facts != nil && facts.Kueue != nil {
		return facts.Kueue.Capacity
	}
	return nil
}

// keepKnown merges the earlier facts into the new ones.
func (w *Want) keepKnown(clusters []*inspect.Facts) {
	for i, now := range clusters {
		switch before := w.Known.Facts(now.Context); {
		case before == nil:
		case before.Err != nil:
			clusters[i] = before
		case now.Err != nil:
			kept := *before
			kept.RestErr = now.Err
			clusters[i] = &kept
		default:
			clusters[i] = now.With(before)
		}
	}
}

// isComplete reports whether all existing Jobs were read.
func (w *Want) isComplete(clusters []*inspect.Facts) bool {
	names := make([]string, len(clusters))
	for i, facts := range clusters {
		names[i] = facts.Context
		if !hasAllJobs(facts) {
			return false
		}
	}
	return HoldsAll(w.Addresses, names)
}

// hasAllJobs reports whether all wanted Jobs of a cluster were read.
func hasAllJobs(facts *inspect.Facts) bool {
	return facts != nil && facts.Err == nil && len(facts.KindParts()) == 0 && facts.Gaps[inspect.PartKinds] == nil
}

// findMirrors sets the Mirrors of the Jobs of an inventory.
func (w *Want) findMirrors(ctx context.Context, f *fleet.Fleet, v *inspect.Inventory, isComplete bool) {
	var jobs []*inspect.Job
	for _, facts := range v.Clusters {
		jobs = append(jobs, facts.Jobs...)
	}
	isRead := func(name, _ string) bool { return hasAllJobs(v.Facts(name)) }
	Mirrors(ctx, f, jobs, nil, v.Addresses, func(string) bool { return isComplete }, isRead)
}

// Around returns the query for what else is needed to judge the wanted Job: all Jobs of the same
// kind and namespaces. They show whether a controller is active, and which Jobs hold the quota.
func (w Wanted) Around() *Query {
	q := w.query()
	return w.around(q)
}

func (w Wanted) around(q Query) *Query {
	q.AllNamespaces = w.Namespace == ""
	return &q
}

// factsOf returns empty facts of a reachable cluster.
func factsOf(c *fleet.Cluster) *inspect.Facts {
	identity := c.Identity()
	return &inspect.Facts{Context: c.Context, ClusterUID: identity.UID, NamespaceUIDs: identity.Namespaces, Gaps: map[inspect.Part]error{}}
}

// listInto reads the objects of a cluster into facts, and records which ones match the query's
// labels. Unreadable kinds become gaps. It returns an error if nothing could be read. later, unless
// nil, receives the Jobs whose status depends on Workloads.
func listInto(ctx context.Context, f *inspect.Facts, c *fleet.Cluster, q Query, later func(claimable)) error {
	if take := later; take != nil {
		later = func(j claimable) {
			f.Jobs = append(f.Jobs, j.job)
			take(j)
		}
	}
	var err error
	f.Namespace = q.namespace(c)
	f.Kinds, err = q.Served(ctx, c)
	f.AddGap(inspect.PartKinds, err)
	if q.LabelSelector != "" {
		var failed error
		if f.Selected, failed = selectedUIDs(ctx, c, q, f.Kinds); failed != nil {
			return failed
		}
		q.LabelSelector = ""
	}
	err = listKinds(ctx, c, q, q.listed(f.Kinds), err, func(j inspect.Job) { f.Jobs = append(f.Jobs, &j) }, later)
	f.SortJobs()
	return addListed(f, err)
}

// addListed turns the failed parts of a list into gaps. It returns an error if nothing could be
// read.
func addListed(f *inspect.Facts, err error) error {
	var partial *ListError
	if !errors.As(err, &partial) {
		return err
	}
	for _, gap := range partial.gaps() {
		f.AddGap(gap.Part, gap.Err)
	}
	return nil
}

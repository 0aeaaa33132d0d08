package read

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Want says what to read of the clusters of a fleet. What it does not name is not asked
// for.
type Want struct {
	// Jobs says which Jobs; nil is none.
	Jobs *Query
	// Named, if it is set, is in place of Jobs: those of one name, and all that concerns
	// them, wherever it leads.
	Named *Wanted
	// Past is whether, instead of all else, only those of the Jobs are read that are delegated and
	// finished, and what Kueue keeps about them.
	Past bool
	// Mirrors is whether to find out which contexts run the Jobs, and to set their Mirrors.
	Mirrors bool
	// Evidence is all that rules judge by: of those Jobs that are delegated or mirrors, the
	// pods and the warnings, and of those that are dispatched, the Leases; Namespaces; and
	// Kueue's objects.
	Evidence bool
	// Setup is all that tells how clusters are set up, for doctor, with the LocalQueues of
	// SetupIn, "" for all namespaces. It takes no Jobs.
	Setup   bool
	SetupIn string
	// Quotas is whose queues to read, with what these have, and what is in use of it. Release adds
	// the version of Kueue's controller, as far as that may be looked at.
	Quotas  Scope
	Release bool
	// Room is what else tells where something would run that is submitted to Queues. These
	// are asked for by name too, which takes fewer rights than to list all.
	Room   bool
	Queues []types.NamespacedName
	// Workloads are those whose Pods' templates are read with Room: what they request is judged.
	Workloads []types.NamespacedName
	// Known is what was read of these clusters before, if anything. Of that, what is a list
	// of many is not asked for again; and what cannot be read now stays as it is there.
	Known *inspect.Inventory
	// Ahead, if it is set beside Named, has the Jobs Around what waits begun to be listed; if
	// it is set beside these Jobs and Evidence, they are taken from there.
	Ahead *Ahead

	// Addresses are those of every context there is.
	Addresses []kubecontext.Address
	// Now is the clock.
	Now func() time.Time
}

// Read reads all clusters of a fleet at once. What could not be read is a gap in the
// inventory, or of a cluster of which nothing could be, the Err of its Facts.
func Read(ctx context.Context, f *fleet.Fleet, w Want) *inspect.Inventory {
	var clusters []*inspect.Facts
	if w.Named != nil {
		clusters = readNamed(ctx, f, *w.Named, w.Ahead)
	} else {
		if w.Jobs != nil {
			jobs := w.Jobs.Across(ctx, f)
			w.Jobs = &jobs
		}
		question := w.read
		if w.Past {
			question = w.readPast
		}
		clusters = askAll(ctx, f, question)
	}
	if w.Known != nil {
		w.keepKnown(clusters)
	}
	v := inspect.NewInventory(w.Now(), clusters, w.Addresses)
	if w.Mirrors {
		w.findMirrors(ctx, f, v, w.isComplete(clusters))
	}
	return v
}

// askAll puts a question to every cluster. Where there is no answer, the facts say why.
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
			err = beyondJobs(facts, err)
		}
		if err != nil {
			return facts, err
		}
		if w.Evidence {
			noteFieldless(ctx, c, facts, w.isWhole())
		}
	}
	if w.Evidence || w.Setup || w.Room || w.Quotas != NoScope {
		w.readKueue(ctx, c, facts)
	}
	if !w.isWhole() {
		unsettled.settle(ctx, c, facts, w.known(c.Context) == nil)
	}
	facts.Skew = c.Skew()
	if w.isWhole() {
		// What came before the time was up is not lost.
		tellCause(ctx, facts)
		return facts, nil
	}
	return facts, context.Cause(ctx)
}

// listJobs reads the Jobs that are wanted.
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

// isWhole is whether all is read that any Want would have read, for who records it.
func (w *Want) isWhole() bool { return w.Jobs != nil && w.Jobs.isWhole }

// readKueue reads what is wanted of Kueue's objects, and what stands beside them.
func (w *Want) readKueue(ctx context.Context, c *fleet.Cluster, facts *inspect.Facts) {
	r := openKueue(ctx, c, facts)
	r.isWhole = w.isWhole()
	if w.Evidence && w.Jobs != nil {
		r.readEvidence(ctx, w.Jobs.namespace(c), w.known(c.Context))
	}
	if w.Setup {
		r.readSetup(ctx, w.SetupIn)
	}
	if r.hasKueue() {
		if w.Release {
			r.readRelease(ctx)
		}
		if w.Evidence || w.Setup || w.Room || w.Quotas == ClusterScope {
			// Whoever may look into namespaces alone need not be refused what is not shown.
			r.readConfig(ctx)
		}
		w.readQueues(ctx, r)
	}
	r.wg.Wait()
	if r.hasKueue() && w.Quotas == NamespaceScope {
		facts.Namespace = c.Namespace
		r.readLocals(ctx, c.Namespace)
		r.wg.Wait()
	}
}

// readQueues reads the queues that are wanted, and what room they have.
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
	case w.Room:
		r.readCapacity(ctx, metav1.NamespaceAll, namespaces)
		r.readSite(ctx, nil)
		for _, workload := range w.Workloads {
			r.readTemplates(ctx, []string{workload.Namespace}, []string{workload.Name})
		}
	case w.Quotas != NoScope:
		r.readQuotas(ctx, newCapacity(), metav1.NamespaceAll)
	}
}

// known is what was listed of a cluster before, nil if nothing was.
func (w *Want) known(name string) *inspect.Capacity {
	if w.Known == nil {
		return nil
	}
	if facts := w.Known.Facts(name); facts != nil && facts.Kueue != nil {
		return facts.Kueue.Capacity
	}
	return nil
}

// keepKnown adds what was known before to what was read now.
func (w *Want) keepKnown(clusters []*inspect.Facts) {
	for i, now := range clusters {
		switch before := w.Known.Facts(now.Context); {
		case before == nil:
		case before.Err != nil:
			clusters[i] = before
		case now.Err != nil:
			alone := *before
			alone.Alone = now.Err
			clusters[i] = &alone
		default:
			clusters[i] = now.With(before)
		}
	}
}

// isComplete says whether all Jobs that there are have been read.
func (w *Want) isComplete(clusters []*inspect.Facts) bool {
	names := make([]string, len(clusters))
	for i, facts := range clusters {
		names[i] = facts.Context
		if facts.Err != nil || len(facts.KindParts()) > 0 || facts.Gaps[inspect.PartKinds] != nil {
			return false
		}
	}
	return HoldsAll(w.Addresses, names)
}

// findMirrors sets the Mirrors of the Jobs of an inventory.
func (w *Want) findMirrors(ctx context.Context, f *fleet.Fleet, v *inspect.Inventory, isComplete bool) {
	var jobs []*inspect.Job
	for _, facts := range v.Clusters {
		jobs = append(jobs, facts.Jobs...)
	}
	Mirrors(ctx, f, jobs, nil, v.Addresses, func(string) bool { return isComplete })
}

// Around is what to read beside what was read of one name, for judging it: all of the same
// kind and namespaces. Whether a controller is at work shows in other objects, and so does
// who holds the room that one waits for.
func (w Wanted) Around() *Query {
	q := w.query()
	return w.around(q)
}

func (w Wanted) around(q Query) *Query {
	q.AllNamespaces = w.Namespace == ""
	return &q
}

// readEvidence reads, of the Jobs that facts hold, what rules judge them by. known is what
// was listed before, nil if nothing was.
func (r *factReader) readEvidence(ctx context.Context, namespace string, known *inspect.Capacity) {
	facts := r.facts
	r.readVersion(ctx)
	r.readNamespaces(ctx, namespace)
	if jobs := interesting(facts); r.isWhole {
		r.readUnselected(ctx, namespace)
	} else if len(jobs) > 0 {
		r.readPodsOf(ctx, namespace, jobs)
		r.readWarnings(ctx, namespace, jobs)
	}
	if jobs := inspect.Dispatched(facts.Jobs); len(jobs) > 0 {
		r.readLeases(ctx, commonNamespace(jobs), delegation.OriginUIDLabel)
	}
	if !r.hasKueue() || r.isWhole {
		// Of a whole reading it comes with what tells how much room there is.
		return
	}
	k := facts.Kueue
	if all, ok := known.WorkloadsOf(namespace); ok {
		k.Workloads = all
	} else {
		r.readAllWorkloads(ctx, namespace)
	}
	readList(ctx, r, inspect.PartQueues, r.resource("localqueues"), namespace, &k.LocalQueues)
	readList(ctx, r, inspect.PartQueues, r.resource("clusterqueues"), "", &k.ClusterQueues)
}

// Package tracing reads and judges Jobs with one name as trace prints them, for the commands that
// explain a Job.
package tracing

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Tracer traces the Jobs with one name.
type Tracer struct {
	Wanted    read.Wanted
	Addresses []kubecontext.Address
	// Reach is how printed commands must be called.
	Reach command.Reach
	// Confirmer decides which findings count over several readings; nil keeps all.
	Confirmer *rules.Confirmer
	// InSnapshot is whether a snapshot is read, which may lack existing classes.
	InSnapshot bool
	Now        func() time.Time
}

// Traced is the result of one reading.
type Traced struct {
	// Inventory is what was read about the Jobs with that name.
	Inventory *inspect.Inventory
	// Pairs are these Jobs, empty if there are none. List has a complete trace of each.
	Pairs []inspect.Pair
	List  *inspect.TraceList
}

// Read reads once. A waiting Job is checked together with the others, as in check: a single Job
// does not show whether a controller is stuck or slow, and which Job holds the quota.
func (t *Tracer) Read(ctx context.Context, f *fleet.Fleet) *Traced {
	var ahead read.Ahead
	defer ahead.Stop()
	inventory := read.Read(ctx, f, read.Want{Named: &t.Wanted, Ahead: &ahead, Addresses: t.Addresses, Now: t.Now})
	found := &Traced{Inventory: inventory, Pairs: inventory.Subjects(), List: inspect.NewTraceList()}
	if len(found.Pairs) == 0 {
		return found
	}
	list, around := found.List, placement.Around(inventory)
	for _, p := range found.Pairs {
		trace := chain.Trace(inventory, p)
		trace.Placements = append(trace.Placements, answer.Reached(around.Judge(p, t.Check(ctx, f, inventory, p)), t.Reach)...)
		list.Items = append(list.Items, *trace)
	}
	inventory.ForgetClaims()
	judged := t.withOthers(ctx, f, inventory, list.Items, &ahead)
	judgment := t.Confirmer.Keep(t.Now(), rules.Judge(judged, rules.All(), rules.Options{Grace: util.DefaultGrace, Reach: t.Reach}))
	list.Errors = append(append(inventory.Errors(), unreadOthers(judged)...), UnreadQuotas(inventory, list.Items, isAny)...)
	aboutOthers := judgment.All(answer.IsAboutOthers)
	for i := range list.Items {
		trace := &list.Items[i]
		trace.Findings, trace.Errors = judgment.About(trace), list.Errors
		holders := t.ReadHolders(ctx, f, answer.UnreadHolders(judged, trace))
		q := answer.Question{
			Inventory: inventory, Around: judged, Holders: holders, Pair: found.Pairs[i], Trace: trace,
			Findings: slices.Concat(aboutOthers, holders.Findings), Reach: t.Reach,
		}
		answer.Fill(q)
		trace.Findings = q.Advise(trace.Findings, judgment)
	}
	return found
}

// Check returns what decides about a waiting Job besides the quotas of Kueue, by context. v has the Job.
func (t *Tracer) Check(ctx context.Context, f *fleet.Fleet, v *inspect.Inventory, p inspect.Pair) map[string]*placement.Checked {
	checked := placement.Request{}
	for name, class := range t.classes(ctx, f, v, p) {
		checked.Check(name).Class = &class
	}
	for name, quotas := range t.quotas(ctx, f, v, p) {
		checked.Check(name).Quotas = quotas
	}
	return checked.Checked
}

// quotas returns the ResourceQuotas that may keep a worker from creating the mirror of a Job that it has admitted, as
// far as the user may read them. They matter only then, so only then they are read.
// Those of clusters that have the origin or a mirror already count it. Snapshots have none.
func (t *Tracer) quotas(ctx context.Context, f *fleet.Fleet, v *inspect.Inventory, p inspect.Pair) map[string][]corev1.ResourceQuota {
	o := p.Origin
	if o == nil || t.InSnapshot || !o.Waits() || o.ManagedBy != delegation.MultiKueue {
		return nil
	}
	isRefused := func(w *kueue.Workload) bool { return w.Is(kueue.Admitted) && len(w.OwnerReferences) == 0 }
	if !slices.ContainsFunc(v.Clusters, func(f *inspect.Facts) bool {
		return f.Context != o.Context && slices.ContainsFunc(v.WorkloadsOf(p, f), isRefused)
	}) {
		return nil
	}
	quotas, _ := read.ResourceQuotas(ctx, f, o.Namespace)
	delete(quotas, o.Context)
	for _, m := range p.Mirrors {
		delete(quotas, m.Job.Context)
	}
	return quotas
}

// classes returns the effects of the classes that a waiting Job without a Workload names: Kueue
// creates none if one does not exist.
func (t *Tracer) classes(ctx context.Context, f *fleet.Fleet, v *inspect.Inventory, p inspect.Pair) map[string]placement.Class {
	o := p.Origin
	if o == nil || !o.Waits() || o.Queue() == "" && o.ManagedBy != delegation.MultiKueue {
		return nil
	}
	manager := v.Facts(o.Context)
	names := read.ClassNamesOf(o)
	if manager == nil || manager.Kueue == nil || len(v.WorkloadsOf(p, manager)) > 0 {
		return nil
	}
	if names == (read.ClassNames{}) {
		if o.Object != nil && o.Row().IsJob() {
			manager.AddClass(o, inspect.Class{}) // The Pod templates of other kinds are not read.
		}
		return nil
	}
	names.InSnapshot = t.InSnapshot
	classes := read.Classes(ctx, f, names)
	if class, isRead := classes[o.Context]; isRead {
		// The rules and the answer name the same class.
		manager.AddClass(o, names.Deciding(&class))
	}
	return classes
}

// withOthers returns an inventory that also has the other Jobs, if the findings of the traced Jobs
// depend on these.
func (t *Tracer) withOthers(ctx context.Context, f *fleet.Fleet, traced *inspect.Inventory, traces []inspect.Trace, ahead *read.Ahead) *inspect.Inventory {
	if !rules.DependsOnOthers(traced, traces) {
		return traced
	}
	return read.Read(ctx, f, read.Want{Jobs: t.Wanted.Around(), Evidence: true, Known: traced, Ahead: ahead, Addresses: t.Addresses, Now: t.Now})
}

// ReadHolders reads Jobs of other namespaces and kinds that hold what a Job waits for, as far as the user may.
func (t *Tracer) ReadHolders(ctx context.Context, f *fleet.Fleet, unread []inspect.Holder) (holders answer.Holders) {
	for _, h := range unread {
		wanted := read.Wanted{Kind: h.Kind, Name: h.Name, Namespace: h.Namespace}
		v := read.Read(ctx, f, read.Want{Named: &wanted, Addresses: t.Addresses, Now: t.Now})
		judgment := rules.Judge(v, rules.All(), rules.Options{Grace: util.DefaultGrace, Reach: t.Reach})
		confirmer := t.Confirmer.Apart(delegation.Named(h.Kind, h.Namespace, h.Name))
		holders.Inventories = append(holders.Inventories, v)
		holders.Findings = append(holders.Findings, confirmer.Keep(t.Now(), judgment).All(answer.IsAboutOthers)...)
	}
	return holders
}

// isAny includes all clusters that were judged: what waits in their queues depends on all quotas.
func isAny(*inspect.Placement) bool { return true }

// UnreadQuotas returns errors for what placements of traces depend on and could not be read: quotas, and
// the nodes. depends selects the placements.
func UnreadQuotas(v *inspect.Inventory, traces []inspect.Trace, depends func(*inspect.Placement) bool) []inspect.ContextError {
	judged := sets.New[string]()
	for i := range traces {
		for k := range traces[i].Placements {
			if p := &traces[i].Placements[k]; depends(p) {
				judged.Insert(p.Context)
			}
		}
	}
	var errs []inspect.ContextError
	for _, f := range v.Clusters {
		if f.Err != nil || !judged.Has(f.Context) {
			continue
		}
		errs = append(errs, queues.QuotaGaps(f)...)
		if f.Namespace != "" && f.Kueue != nil && f.Kueue.Capacity != nil && f.Kueue.Capacity.Gaps[inspect.PartQueues] != nil {
			// The place in a queue depends on the LocalQueues of other namespaces.
			errs = append(errs, inspect.NewPartError(f.Context, inspect.PartQueues, f.Kueue.Capacity.Gaps[inspect.PartQueues]))
		}
		if e := f.Environment; e != nil && e.NodesErr != nil {
			errs = append(errs, inspect.NewContextError(kubecontext.InContext(f.Context, "list nodes", e.NodesErr)))
		}
	}
	return errs
}

// unreadOthers returns errors for the contexts whose other Jobs could not be read.
func unreadOthers(v *inspect.Inventory) []inspect.ContextError {
	var errs []inspect.ContextError
	for _, f := range v.Clusters {
		if f.RestErr != nil {
			e := inspect.NewContextError(kubecontext.InContext(f.Context, "", f.RestErr))
			e.Message += "; the Job was checked without the others there"
			errs = append(errs, e)
		}
	}
	return errs
}

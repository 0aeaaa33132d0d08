package read

import (
	"cmp"
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// readPast reads what remains of a cluster's finished delegated Jobs: the Jobs and their Workloads.
// The label selector applies to Jobs only, because their Workloads need not have the labels.
func (w *Want) readPast(ctx context.Context, c *fleet.Cluster) (*inspect.Facts, error) {
	facts := factsOf(c)
	r := openKueue(ctx, c, facts)
	past := &inspect.Past{}
	facts.Past = past
	if r.hasKueue() {
		r.readPastWorkloads(ctx, w.Jobs, past)
		r.wg.Go(func() {
			// A denial is not a gap: the Workloads name the clusters that they were dispatched to.
			_ = listObjects(ctx, c, r.resource("multikueueclusters"), "", metav1.ListOptions{}, func(*struct{}) { past.IsManager = true })
		})
		r.wg.Go(func() {
			retention := readRetention(ctx, c)
			r.store(func() { past.Retention = retention })
		})
	}
	jobs := &inspect.Facts{Gaps: map[inspect.Part]error{}}
	err := listFinished(ctx, jobs, c, *w.Jobs, past)
	r.wg.Wait()
	err = unansweredError(jobs, err)
	facts.Namespace, facts.Kinds = jobs.Namespace, jobs.Kinds
	if len(w.Jobs.Kinds) > 0 && !slices.Contains(w.Jobs.Kinds, AllKinds) {
		past.Workloads = slices.DeleteFunc(past.Workloads, func(p *kueue.Past) bool { return !isOfKind(p, jobs.Kinds) })
	}
	for part, err := range jobs.Gaps {
		facts.AddGap(part, err)
	}
	facts.Skew = c.Skew()
	if err != nil {
		return facts, err
	}
	return facts, context.Cause(ctx)
}

// listFinished reads the finished delegated Jobs, and which others exist.
func listFinished(ctx context.Context, f *inspect.Facts, c *fleet.Cluster, q Query, past *inspect.Past) error {
	kinds, err := q.Served(ctx, c)
	f.Namespace, f.Kinds = q.namespace(c), kinds
	f.AddGap(inspect.PartKinds, err)
	keep := func(j inspect.Job) {
		switch {
		case !j.IsDelegated():
		case j.Status.IsFinished() || j.FinishedTime != nil:
			past.Add(&j)
		default:
			past.AddOpen(&j)
		}
	}
	// A Job whose status depends on a Workload has not started.
	notBegun := func(c claimable) { past.AddOpen(c.job) }
	return addListed(f, listKinds(ctx, c, q, kinds, err, keep, notBegun))
}

// readPastWorkloads reads the Workloads of finished Jobs.
func (r *factReader) readPastWorkloads(ctx context.Context, q *Query, past *inspect.Past) {
	names, labels, holds := interner{}, newLabelSets(q.Labels), heldSets{}
	r.read(inspect.PartWorkloads, func() error {
		return listObjects(ctx, r.cluster, r.resource("workloads"), q.namespace(r.cluster), metav1.ListOptions{}, func(o *kueue.PastWorkload) {
			p := o.Past()
			switch {
			case p == nil:
				return
			case p.IsMirror:
				past.HasMirrors = true
				return
			}
			for _, text := range []*string{&p.Namespace, &p.APIVersion, &p.Kind, &p.Queue, &p.ClusterQueue, &p.Cluster, &p.Reason} {
				*text = names.one(*text)
			}
			p.Holds = holds.one(p.Holds)
			p.Labels = labels.of(o.Metadata.Labels)
			past.Workloads = append(past.Workloads, p)
		})
	})
}

// isOfKind reports whether the Job of a Workload may have one of some kinds. If nothing controls the Workload, its name
// begins with the kind, unless the Job chose the name (kueue: pkg/controller/jobframework/workload_names.go).
func isOfKind(p *kueue.Past, kinds []delegation.Kind) bool {
	if p.Kind != "" {
		gk := schema.FromAPIVersionAndKind(p.APIVersion, p.Kind).GroupKind()
		return slices.ContainsFunc(kinds, func(k delegation.Kind) bool { return k.GroupVersionKind().GroupKind() == gk })
	}
	isNamedAfter := func(k delegation.Kind) bool { return strings.HasPrefix(p.Name, strings.ToLower(k.Kind)+"-") }
	return slices.ContainsFunc(kinds, isNamedAfter) || !slices.ContainsFunc(delegation.Kinds(), isNamedAfter)
}

// heldSets shares equal amounts that Workloads hold, because most Jobs of a queue get the same.
type heldSets map[string][]kueue.FlavorQuantity

// one returns the shared copy of these amounts.
func (h heldSets) one(all []kueue.FlavorQuantity) []kueue.FlavorQuantity {
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b kueue.FlavorQuantity) int {
		return cmp.Or(strings.Compare(a.Resource, b.Resource), strings.Compare(a.Flavor, b.Flavor), a.Quantity.Cmp(b.Quantity))
	})
	var key strings.Builder
	for i := range all {
		key.WriteString(all[i].Resource + " " + all[i].Flavor + " " + all[i].Quantity.String() + " ")
	}
	if same, ok := h[key.String()]; ok {
		return same
	}
	h[key.String()] = all
	return all
}

// readRetention reads how long Kueue keeps finished Workloads. Few users may read that, so a denial
// is not an error.
func readRetention(ctx context.Context, c *fleet.Cluster) inspect.Retention {
	home := kueue.HomeIn("")
	config, err := readConfiguration(ctx, c, home.Namespace, home.ConfigMap)
	if err != nil {
		return inspect.Retention{}
	}
	return retentionIn(config)
}

func retentionIn(config *kueue.Configuration) inspect.Retention {
	retention := inspect.Retention{Known: true}
	if after, isLimited := (&kueue.Installation{Config: config}).KeepsFinished(); isLimited {
		retention.For = &after
	}
	return retention
}

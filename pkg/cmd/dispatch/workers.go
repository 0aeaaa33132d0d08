package dispatch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/writing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// checkedAtOnce is the number of Jobs that are checked concurrently.
const checkedAtOnce = 8

// worker is a cluster that Jobs may be dispatched to.
type worker struct {
	context string
	// cluster is nil if it cannot be reached; err is the reason.
	cluster *fleet.Cluster
	err     error
	// routes are the clients of all contexts that reach the cluster, cluster first.
	routes []*fleet.Cluster
	check  *preflight.Checker
	// jobs is the number of Jobs that are assigned to the worker, or were before.
	jobs int
}

// hasSeveralWorkers reports whether there are several workers to choose from.
func (o *dispatchOptions) hasSeveralWorkers() bool { return len(o.workers) > 1 }

// connect reaches the clusters, and returns an error if a worker is the origin's cluster or
// another worker's. Of several workers, an unreached one gets no Job.
func (o *dispatchOptions) connect(ctx context.Context) (origin *fleet.Cluster, workers []*worker, err error) {
	all := slices.Insert(slices.Clone(o.workers), 0, o.origin)
	clusters, failed, opened, err := writing.Reach(ctx, o.Environment, o.flags.GlobalFlags, all)
	if err != nil {
		return nil, nil, err
	}
	if len(failed) > 0 && (!o.hasSeveralWorkers() || failed[o.origin.Name] != nil) {
		return nil, nil, writing.Failures(all, failed)
	}
	aliases := map[string]string{}
	for _, a := range opened.Aliases() {
		aliases[a.Context] = a.SameAs
	}
	if !o.hasSeveralWorkers() && len(aliases) > 0 {
		return nil, nil, fmt.Errorf("contexts %s and %s reach the same cluster. Name a context of another cluster with --to", o.origin.Name, o.workers[0].Name)
	}
	o.printSkippedContexts(aliases)
	for _, c := range o.workers {
		if aliases[c.Name] == "" {
			workers = append(workers, &worker{context: c.Name, cluster: clusters[c.Name], err: failed[c.Name], routes: opened.Routes(c.Name)})
		}
	}
	switch {
	case len(workers) == 0:
		return nil, nil, fmt.Errorf("contexts %s all reach the cluster of %s. Name contexts of other clusters with --to", namesOf(o.workers), o.origin.Name)
	case len(reached(workers)) == 0:
		return nil, nil, fmt.Errorf("cannot reach any context of --to:\n%w", writing.Failures(all, failed))
	}
	o.kinds = writing.FindKinds(clusters[o.origin.Name])
	first := &preflight.Checker{Origin: clusters[o.origin.Name], Dependencies: dependency.Options{ConfigMaps: o.flags.configMaps, Secrets: o.flags.secrets}}
	for _, w := range workers {
		w.check = first.ForWorker(w.cluster)
	}
	return clusters[o.origin.Name], workers, nil
}

// printSkippedContexts prints which contexts of --to are skipped, because they reach the cluster of
// the Jobs or of another worker.
func (o *dispatchOptions) printSkippedContexts(aliases map[string]string) {
	if slices.Contains(strings.Split(strings.Join(o.flags.to, ","), ","), o.origin.Name) {
		util.Report(o.ErrOut, "note: skipping %s: the Jobs are there", o.origin.Name)
	}
	for _, c := range o.workers {
		if same := aliases[c.Name]; same != "" {
			util.Report(o.ErrOut, "note: %s reaches the same cluster as %s; skipped", c.Name, same)
		}
	}
}

// reached returns the workers that can be reached.
func reached(workers []*worker) []*worker {
	return slices.DeleteFunc(slices.Clone(workers), func(w *worker) bool { return w.cluster == nil })
}

// unreached returns the names of the workers that cannot be reached.
func unreached(workers []*worker) (names []string) {
	for _, w := range workers {
		if w.cluster == nil {
			names = append(names, w.context)
		}
	}
	return names
}

func namesOf(contexts []fleet.Context) string { return strings.Join(nameList(contexts), ", ") }

func nameList(contexts []fleet.Context) []string {
	var names []string
	for _, c := range contexts {
		names = append(names, c.Name)
	}
	return names
}

// target describes where Jobs are to run, for people.
func (o *dispatchOptions) target() string {
	if o.hasSeveralWorkers() {
		return "any of " + namesOf(o.workers)
	}
	return o.workers[0].Name
}

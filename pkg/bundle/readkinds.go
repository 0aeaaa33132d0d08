package bundle

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// atOnce is how many lists of one cluster are read at the same time.
const atOnce = 4

// readKinds reads all objects of these kinds, and the pods of all kinds that have
// objects. It returns what went wrong with each kind, to be noted behind what matters
// more.
func (r *reader) readKinds(ctx context.Context, kinds []delegation.Kind, dispatched map[string]bool) []error {
	var mu sync.Mutex
	podLabels := sets.New(batchv1.JobNameLabel)
	errs := inParallel(len(kinds), func(i int) error {
		k := kinds[i]
		return r.list(ctx, resourceOf(k), r.namespace, metav1.ListOptions{LabelSelector: k.Selector}, func(o map[string]any) bool {
			mu.Lock()
			defer mu.Unlock()
			if k.PodLabel != "" {
				podLabels.Insert(k.PodLabel)
			}
			dispatchedIn(dispatched, k, o)
			return true
		})
	})
	labels := sets.List(podLabels)
	for _, err := range inParallel(len(labels), func(i int) error {
		return r.listAll(ctx, pods(), metav1.ListOptions{LabelSelector: labels[i]})
	}) {
		r.note(pods(), err)
	}
	return errs
}

// inParallel reads n lists, a few at once, and returns what went wrong with each.
func inParallel(n int, read func(int) error) []error {
	errs := make([]error, n)
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range n {
		group.Go(func() error {
			errs[i] = read(i)
			return nil
		})
	}
	// What went wrong is in errs.
	_ = group.Wait()
	return errs
}

// isRelevant says whether an event is about an object that a bundle holds, or
// held until it was deleted.
func (r *reader) isRelevant(event map[string]any) bool {
	about, _ := event["involvedObject"].(map[string]any)
	kind, _ := about["kind"].(string)
	return slices.Contains([]string{
		jobs().kind, pods().kind, "Workload", "MultiKueueCluster", "ClusterQueue", "LocalQueue", "AdmissionCheck",
	}, kind) || slices.ContainsFunc(r.context.Kinds, func(k ServedKind) bool { return k.Kind == kind && !k.Omitted })
}

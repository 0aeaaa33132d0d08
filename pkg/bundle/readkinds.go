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
// objects.
func (r *reader) readKinds(ctx context.Context, kinds []delegation.Kind, dispatched map[string]bool) {
	var mu sync.Mutex
	podLabels := sets.New(batchv1.JobNameLabel)
	r.inParallel(len(kinds), func(i int) (resource, error) {
		k := kinds[i]
		told := servedKind(k)
		res := told.resource()
		return res, r.list(ctx, res, r.namespace, metav1.ListOptions{LabelSelector: k.Selector}, func(o map[string]any) bool {
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
	r.inParallel(len(labels), func(i int) (resource, error) {
		return pods(), r.listAll(ctx, pods(), metav1.ListOptions{LabelSelector: labels[i]})
	})
}

// inParallel reads n lists, a few at once, and notes what went wrong in their order.
func (r *reader) inParallel(n int, read func(int) (resource, error)) {
	resources, errs := make([]resource, n), make([]error, n)
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range n {
		group.Go(func() error {
			resources[i], errs[i] = read(i)
			return nil
		})
	}
	// What went wrong is in errs.
	_ = group.Wait()
	for i, err := range errs {
		r.note(resources[i], err)
	}
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

package read

import (
	"context"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/wire"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

const (
	// orderPage is Kueue's default limit for one page of a queue (kueue: apis/visibility,
	// DefaultPendingWorkloadsLimit).
	orderPage = 1000
	// first is how many of the first Workloads in a queue are requested.
	first = 3
	// orderWait is the timeout for Kueue's answer. A firewall may block it between the API server
	// and Kueue, and must not delay other reads.
	orderWait = 5 * time.Second
)

// readOrder reads the order of a queue from Kueue, and the positions of waiting Workloads in it. If
// Kueue does not answer, the order can be computed, so there is no gap.
func (r *factReader) readOrder(ctx context.Context, queue *kueue.LocalQueue) {
	if len(r.waiting) == 0 || queue.Spec.ClusterQueue == "" {
		return
	}
	r.wg.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, orderWait)
		defer cancel()
		at := types.NamespacedName{Namespace: queue.Namespace, Name: queue.Name}
		order, err := cache.Keep(r.cluster.Cache(ctx), "order\n"+at.String(), cache.Soon, func() (*kueue.Order, error) {
			return askOrder(ctx, r.cluster, queue, r.waiting)
		})
		if err != nil || order == nil {
			return
		}
		r.store(func() {
			if r.facts.Kueue.Orders == nil {
				r.facts.Kueue.Orders = kueue.Orders{}
			}
			r.facts.Kueue.Orders[at] = order
		})
	})
}

// askOrder reads the order of a LocalQueue, which its users may read, and then the first Workloads
// of its ClusterQueue, which administrators may read.
func askOrder(ctx context.Context, c *fleet.Cluster, queue *kueue.LocalQueue, names []string) (*kueue.Order, error) {
	version, err := servedVersion(ctx, c, kueue.VisibilityGroup)
	if err != nil || version == "" {
		return nil, err
	}
	order := &kueue.Order{Before: map[string]int{}}
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	gvr := schema.GroupVersionResource{Group: kueue.VisibilityGroup, Version: version}
	gvr.Resource = "localqueues"
	for offset := 0; ; offset += orderPage {
		page, err := pending(ctx, c, gvr, queue.Namespace, queue.Name, orderPage, offset)
		if err != nil {
			return nil, err
		}
		for i := range page {
			w := page[i]
			if len(order.First) < first {
				order.First = append(order.First, w)
			}
			if wanted[w.Name] {
				order.Before[w.Name] = w.Before
			}
		}
		if len(page) < orderPage || len(order.Before) > 0 {
			break
		}
	}
	if len(order.Before) == 0 {
		return nil, nil
	}
	gvr.Resource = "clusterqueues"
	if all, err := pending(ctx, c, gvr, "", queue.Spec.ClusterQueue, first, 0); err == nil {
		order.First = all
	}
	return order, nil
}

// pending returns one page of the pending Workloads of a queue, in order.
func pending(ctx context.Context, c *fleet.Cluster, queues schema.GroupVersionResource, namespace, name string, limit, offset int) ([]kueue.PendingWorkload, error) {
	request, err := c.JSON(queues, namespace)
	if err != nil {
		return nil, err
	}
	var summary struct {
		Items []kueue.PendingWorkload `json:"items"`
	}
	request = request.Name(name).SubResource("pendingworkloads").Param("limit", strconv.Itoa(limit)).Param("offset", strconv.Itoa(offset))
	return summary.Items, wire.Decode(request.Do(ctx), &summary)
}

package fleet

import (
	"context"
	"slices"
)

// mostProofs bounds how many namespaces are read to identify clusters.
const mostProofs = 4

// prove identifies clusters whose kube-system may not be read by the UIDs of namespaces:
// those that users of such contexts work in, read through every context. A fleet in which
// every context knows its cluster, or that has one context, is asked nothing.
func (f *Fleet) prove(ctx context.Context, members []*member) {
	clusters := answered(members)
	if len(clusters) < 2 {
		return
	}
	var namespaces []string
	for _, c := range clusters {
		if c.UID() == "" && c.Namespace != "" && !slices.Contains(namespaces, c.Namespace) {
			namespaces = append(namespaces, c.Namespace)
		}
	}
	if len(namespaces) == 0 {
		return
	}
	namespaces = namespaces[:min(mostProofs, len(namespaces))]
	f.each(len(members), func(i int) {
		m := members[i]
		if m.failed() != nil {
			return
		}
		start := f.clock.Now()
		defer func() { m.spent += f.clock.Since(start) }()
		for _, way := range m.ways {
			// What cannot be read proves nothing, whatever the reason.
			_, _ = within(ctx, f.timeout, func(ctx context.Context) (struct{}, error) {
				return struct{}{}, way.LearnNamespaces(ctx, namespaces...)
			})
		}
	})
}

// answered are the ways of all members that have answered.
func answered(members []*member) (clusters []*Cluster) {
	for _, m := range members {
		if m.failed() == nil {
			clusters = append(clusters, m.ways...)
		}
	}
	return clusters
}

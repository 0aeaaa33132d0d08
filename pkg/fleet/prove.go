package fleet

import (
	"context"
	"slices"
)

// maxProofs limits the namespaces that are read to identify clusters.
const maxProofs = 4

// prove identifies clusters whose kube-system is not readable by the UIDs of namespaces: the
// default namespaces of such contexts, read through every context. It sends no requests if every
// context knows its cluster, or if there is only one context.
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
	namespaces = namespaces[:min(maxProofs, len(namespaces))]
	f.each(len(members), func(i int) {
		m := members[i]
		if m.failed() != nil {
			return
		}
		start := f.clock.Now()
		defer func() { m.spent += f.clock.Since(start) }()
		for _, route := range m.routes {
			// An unreadable namespace proves nothing, whatever the error.
			_, _ = within(ctx, f.timeout, func(ctx context.Context) (struct{}, error) {
				return struct{}{}, route.LearnNamespaces(ctx, namespaces...)
			})
		}
	})
}

// answered returns the routes of all members that have answered.
func answered(members []*member) (clusters []*Cluster) {
	for _, m := range members {
		if m.failed() == nil {
			clusters = append(clusters, m.routes...)
		}
	}
	return clusters
}

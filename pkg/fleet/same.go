package fleet

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Alias is a context that is not asked itself, because it reaches the cluster of another context.
type Alias struct{ Context, SameAs string }

// joined merges members that reach one cluster with the same namespaces. Members that did not
// answer remain separate, because their errors have to be reported.
func (f *Fleet) joined(members []*member) []*member {
	shareUIDs(answered(members))
	var kept []*member
	for _, m := range members {
		i := slices.IndexFunc(kept, func(other *member) bool { return f.isSame(m, other) })
		if i < 0 {
			kept = append(kept, m)
			continue
		}
		kept[i].routes = append(kept[i].routes, m.routes...)
		share(kept[i].routes)
	}
	return kept
}

func (f *Fleet) isSame(a, b *member) bool {
	if a.failed() != nil || b.failed() != nil || !f.allNamespaces && a.routes[0].Namespace != b.routes[0].Namespace {
		return false
	}
	return isSame(a.routes[0], b.routes[0])
}

// chooseContexts chooses the context that represents each cluster.
func (f *Fleet) chooseContexts(ctx context.Context, question func(context.Context, *Cluster) error) {
	if question == nil {
		return
	}
	f.each(len(f.members), func(i int) {
		m := f.members[i]
		if len(m.routes) < 2 {
			return
		}
		start := f.clock.Now()
		defer func() { m.spent += f.clock.Since(start) }()
		for _, route := range m.routes {
			route.transport.others.Store(nil)
		}
		for n, route := range m.routes {
			_, err := within(ctx, f.timeout, func(ctx context.Context) (struct{}, error) { return struct{}{}, question(ctx, route) })
			if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
				continue
			}
			m.routes = slices.Concat(m.routes[n:n+1], m.routes[:n], m.routes[n+1:])
			m.context = route.Context
			break
		}
		share(m.routes)
	})
}

// Aliases returns the contexts that were joined to another.
func (f *Fleet) Aliases() []Alias {
	var aliases []Alias
	for _, m := range f.members {
		for _, route := range m.routes[min(1, len(m.routes)):] {
			aliases = append(aliases, Alias{Context: route.Context, SameAs: m.context})
		}
	}
	slices.SortFunc(aliases, func(a, b Alias) int { return strings.Compare(a.Context, b.Context) })
	return aliases
}

// Routes returns the contexts of a member's cluster, the member's own first.
func (f *Fleet) Routes(contextName string) []*Cluster {
	for _, m := range f.members {
		if m.context == contextName {
			return slices.Clone(m.routes)
		}
	}
	return nil
}

// Distinct reports whether all members are certainly different clusters.
func (f *Fleet) Distinct() bool {
	if len(f.members) < 2 {
		return true
	}
	seen := map[string]bool{}
	for _, m := range f.members {
		switch {
		case m.failed() != nil:
		case m.routes[0].UID() == "", seen[m.routes[0].UID()]:
			return false
		default:
			seen[m.routes[0].UID()] = true
		}
	}
	return true
}

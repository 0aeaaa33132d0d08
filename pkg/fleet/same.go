package fleet

import (
	"context"
	"math"
	"slices"
	"strings"
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
	}
	return kept
}

// shareAll makes all contexts of each cluster ask the others for what they may not read, first those
// with the same namespace.
func shareAll(members []*member) {
	for _, m := range members {
		all := slices.Clone(m.routes)
		for _, other := range members {
			if other != m && areSame(m, other) {
				all = append(all, other.routes...)
			}
		}
		if len(all) > 1 {
			share(all, len(m.routes))
		}
	}
}

func (f *Fleet) isSame(a, b *member) bool {
	return areSame(a, b) && (f.allNamespaces || a.routes[0].Namespace == b.routes[0].Namespace)
}

// areSame reports whether two members certainly reach one cluster, and answer.
func areSame(a, b *member) bool {
	return a.failed() == nil && b.failed() == nil && isSame(a.routes[0], b.routes[0])
}

// chooseContexts chooses the context that represents each cluster.
func (f *Fleet) chooseContexts(ctx context.Context, refused func(context.Context, *Cluster) int) {
	if refused != nil {
		f.each(len(f.members), func(i int) { f.chooseContext(ctx, f.members[i], refused) })
	}
}

// chooseContext asks the first context of a cluster, and all others at once if it is refused
// anything. A context that does not answer in time is the last choice.
func (f *Fleet) chooseContext(ctx context.Context, m *member, refused func(context.Context, *Cluster) int) {
	if len(m.routes) < 2 {
		return
	}
	start := f.clock.Now()
	defer func() { m.spent += f.clock.Since(start) }()
	if timeout := f.remaining(m); timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	counts := make([]int, len(m.routes))
	ask := func(n int) {
		count, err := within(ctx, 0, func(ctx context.Context) (int, error) { return refused(ctx, m.routes[n]), ctx.Err() })
		if err != nil {
			count = math.MaxInt
		}
		counts[n] = count
	}
	ask(0)
	if counts[0] == 0 {
		return
	}
	f.each(len(m.routes)-1, func(i int) { ask(i + 1) })
	best := slices.Index(counts, slices.Min(counts))
	m.routes = slices.Concat(m.routes[best:best+1], m.routes[:best], m.routes[best+1:])
	m.context = m.routes[0].Context
}

// Aliases returns the contexts that were joined to another.
func (f *Fleet) Aliases() []Alias {
	f.mu.RLock()
	defer f.mu.RUnlock()
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
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, m := range f.members {
		if m.context == contextName {
			return slices.Clone(m.routes)
		}
	}
	return nil
}

// Distinct reports whether all members are certainly different clusters.
func (f *Fleet) Distinct() bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
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

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
	introduce(answered(members))
	var kept []*member
	for _, m := range members {
		i := slices.IndexFunc(kept, func(other *member) bool { return f.isSame(m, other) })
		if i < 0 {
			kept = append(kept, m)
			continue
		}
		kept[i].ways = append(kept[i].ways, m.ways...)
		share(kept[i].ways)
	}
	return kept
}

func (f *Fleet) isSame(a, b *member) bool {
	if a.failed() != nil || b.failed() != nil || !f.allNamespaces && a.ways[0].Namespace != b.ways[0].Namespace {
		return false
	}
	return isSame(a.ways[0], b.ways[0])
}

// stand selects the context that stands for its cluster.
func (f *Fleet) stand(ctx context.Context, question func(context.Context, *Cluster) error) {
	if question == nil {
		return
	}
	f.each(len(f.members), func(i int) {
		m := f.members[i]
		if len(m.ways) < 2 {
			return
		}
		start := f.clock.Now()
		defer func() { m.spent += f.clock.Since(start) }()
		for _, way := range m.ways {
			way.door.others.Store(nil)
		}
		for n, way := range m.ways {
			_, err := within(ctx, f.timeout, func(ctx context.Context) (struct{}, error) { return struct{}{}, question(ctx, way) })
			if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
				continue
			}
			m.ways = slices.Concat(m.ways[n:n+1], m.ways[:n], m.ways[n+1:])
			m.context = way.Context
			break
		}
		share(m.ways)
	})
}

// Aliases returns the contexts that were joined to another.
func (f *Fleet) Aliases() []Alias {
	var aliases []Alias
	for _, m := range f.members {
		for _, way := range m.ways[min(1, len(m.ways)):] {
			aliases = append(aliases, Alias{Context: way.Context, SameAs: m.context})
		}
	}
	slices.SortFunc(aliases, func(a, b Alias) int { return strings.Compare(a.Context, b.Context) })
	return aliases
}

// Ways returns the contexts of a member's cluster, the member's own first.
func (f *Fleet) Ways(contextName string) []*Cluster {
	for _, m := range f.members {
		if m.context == contextName {
			return slices.Clone(m.ways)
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
		case m.ways[0].UID() == "", seen[m.ways[0].UID()]:
			return false
		default:
			seen[m.ways[0].UID()] = true
		}
	}
	return true
}

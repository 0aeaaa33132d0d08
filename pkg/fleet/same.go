package fleet

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Alias is a context that is not asked by itself, because it reaches the cluster of
// another one.
type Alias struct{ Context, SameAs string }

// joined makes one member of those that reach one cluster, and look at the same
// namespaces of it. Those that did not answer stay alone: what is wrong with them is to
// be told.
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

// stand finds out which of several contexts stands for its cluster.
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

// Ways are the contexts that reach the cluster of a member, that one first.
func (f *Fleet) Ways(contextName string) []*Cluster {
	for _, m := range f.members {
		if m.context == contextName {
			return slices.Clone(m.ways)
		}
	}
	return nil
}

// Distinct says whether no two members can be the same cluster: it is known of each
// which one it is.
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

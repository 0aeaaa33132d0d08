package util

import (
	"cmp"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Addresses returns the addresses of all contexts, chosen or not, to identify the contexts of
// MultiKueueClusters. It sends nothing to any of them. A context that was not chosen has the name
// of a chosen one with the same endpoint.
func (f *GlobalFlags) Addresses(contexts []fleet.Context, opened *fleet.Fleet) []kubecontext.Address {
	all := contexts
	if f.From != "" {
		all = f.bundled
	} else if known, err := fleet.Load(f.Kube, fleet.Selection{All: true}); err == nil {
		// With --server and similar flags the others are unknown, so only the chosen ones count.
		all = known
	}
	shownAs := map[string]string{}
	for _, a := range opened.Aliases() {
		shownAs[a.Context] = a.SameAs
	}
	chosen := map[string]string{}
	for _, c := range slices.Backward(contexts) {
		chosen[c.Endpoint()] = cmp.Or(shownAs[c.Name], c.Name)
	}
	delete(chosen, "")
	for _, c := range all {
		isChosen := slices.ContainsFunc(contexts, func(other fleet.Context) bool { return other.Name == c.Name })
		if name := chosen[c.Endpoint()]; name != "" && !isChosen {
			shownAs[c.Name] = name
		}
	}
	addresses := make([]kubecontext.Address, len(all))
	for i, c := range all {
		addresses[i] = c.Address()
		if name, ok := shownAs[c.Name]; ok {
			addresses[i].Context = name
		}
	}
	return slices.Concat(addresses, f.others)
}

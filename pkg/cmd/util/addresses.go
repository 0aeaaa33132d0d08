package util

import (
	"cmp"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Addresses are those of all contexts there are, chosen or not, so that it can be
// told which of them a MultiKueueCluster is. Nothing is sent to any of them. One that was
// not chosen goes by the name of one that was, and leads to the same endpoint.
func (f *GlobalFlags) Addresses(contexts []fleet.Context, opened *fleet.Fleet) []kubecontext.Address {
	all := contexts
	if f.From != "" {
		all = f.bundled
	} else if known, err := fleet.Load(f.Kube, fleet.Selection{All: true}); err == nil {
		// With --server or the like there is no telling; then it is those chosen.
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

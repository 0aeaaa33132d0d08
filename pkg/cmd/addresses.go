package cmd

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// addresses are those of all contexts there are, chosen or not, so that it can be
// told which of them a MultiKueueCluster is. Nothing is sent to any of them.
func (f *globalFlags) addresses(contexts []fleet.Context, opened *fleet.Fleet) []fleet.Address {
	all := contexts
	if f.from != "" {
		all = f.bundled
	} else if known, err := fleet.Load(f.kube, fleet.Selection{All: true}); err == nil {
		// With --server or the like there is no telling; then it is those chosen.
		all = known
	}
	shownAs := map[string]string{}
	for _, a := range slices.Concat(opened.Aliases(), opened.Covered()) {
		shownAs[a.Context] = a.SameAs
	}
	addresses := make([]fleet.Address, len(all))
	for i, c := range all {
		addresses[i] = c.Address()
		if name, ok := shownAs[c.Name]; ok {
			addresses[i].Context = name
		}
	}
	return slices.Concat(addresses, f.others)
}

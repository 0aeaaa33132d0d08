package trace

import (
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// reached has the commands of placements reach the clusters as this one has.
func (o *traceOptions) reached(placements []inspect.Placement) []inspect.Placement {
	by := o.flags.ReachFlags()
	for i := range placements {
		for k := range placements[i].Changes {
			change := &placements[i].Changes[k]
			change.Command = command.Reached(change.Command, by)
		}
	}
	return placements
}

package dispatch

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/writing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/apiserver"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// connect reaches both clusters, and makes sure that they are two.
func (o *dispatchOptions) connect(ctx context.Context) (origin, worker *apiserver.Side, err error) {
	sides, opened, err := writing.Connect(ctx, o.Environment, o.flags.GlobalFlags, []fleet.Context{o.origin, o.worker})
	if err != nil {
		return nil, nil, err
	}
	if len(opened.Aliases()) > 0 {
		return nil, nil, fmt.Errorf("contexts %s and %s reach the same cluster: a Job runs there without being dispatched; --to names a context of another cluster", o.origin.Name, o.worker.Name)
	}
	o.kinds = writing.FindKinds(opened, o.origin.Name)
	return sides[o.origin.Name], sides[o.worker.Name], nil
}

// elsewhere tells where a Job is dispatched to already.
func (o *dispatchOptions) elsewhere(ctx context.Context, r request, named *dispatch.Mirror) error {
	origin := kindAndName(r.Origin)
	if named.Worker == delegation.CertainlySame {
		return fmt.Errorf("%s is dispatched to %s/%s on %s already; --namespace-to %s goes on with that", origin, named.Namespace, named.Name, o.worker.Name, named.Namespace)
	}
	where := ""
	if all, err := fleet.Load(o.flags.Kube, fleet.Selection{All: true}); err == nil {
		// What does not answer is not the one that is looked for.
		sides, _, _ := writing.Connect(ctx, o.Environment, o.flags.GlobalFlags, all)
		for _, name := range slices.Sorted(maps.Keys(sides)) {
			if name != o.origin.Name && name != o.worker.Name && where == "" && named.IsOn(ctx, sides[name], r.kind) {
				where = name
			}
		}
	}
	switch {
	case where == "" && named.Worker == delegation.PerhapsSame:
		return fmt.Errorf("%s %s", origin, named.Unknown(o.worker.Name))
	case where == "":
		where = "the cluster " + named.ClusterUID
	}
	return fmt.Errorf("%s is dispatched to %s/%s on %s already; go on with it there, or end that first with cancel", origin, named.Namespace, named.Name, where)
}

// refuseMultiKueue makes sure that no Job is dispatched which MultiKueue
// dispatches too. wanted are those that are to be dispatched.
func (o *dispatchOptions) refuseMultiKueue(origin *apiserver.Side, wanted []request) error {
	if o.loop.Plan.Owner != delegation.MultiKueue {
		return nil
	}
	groups, err := origin.Client.Discovery().ServerGroups()
	if err != nil {
		return kubecontext.InContext(origin.Context, "see whether MultiKueue is there", err)
	}
	for _, g := range groups.Groups {
		if g.Name == "kueue.x-k8s.io" {
			instead := fmt.Sprintf(", or make the Job anew with spec.managedBy: %s", delegation.Dispatch)
			if slices.ContainsFunc(wanted, func(w request) bool { return !w.kind.Allows(delegation.Dispatch) }) {
				instead = ""
			}
			return fmt.Errorf("context %s: Kueue is installed there, and two would dispatch Jobs of %s; leave it to MultiKueue%s", origin.Context, delegation.MultiKueue, instead)
		}
	}
	return nil
}

package dispatch

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// refuseMultiKueue returns an error if Kueue is installed and the owner is MultiKueue, which would
// dispatch the wanted Jobs too.
func (o *dispatchOptions) refuseMultiKueue(ctx context.Context, origin *fleet.Cluster, wanted []request) error {
	if o.owner != delegation.MultiKueue {
		return nil
	}
	versions, err := origin.Versions(ctx, kueue.Group)
	if err != nil {
		return kubecontext.InContext(origin.Context, "find out whether Kueue is installed", err)
	}
	if len(versions) == 0 {
		return origin.ProveUnserved(ctx, schema.GroupVersionResource{Group: kueue.Group})
	}
	instead := fmt.Sprintf(", or recreate the Job with spec.managedBy: %s", delegation.Dispatch)
	if slices.ContainsFunc(wanted, func(w request) bool { return !w.kind.Allows(delegation.Dispatch) }) {
		instead = ""
	}
	return fmt.Errorf("context %q: Kueue is installed, and MultiKueue already dispatches Jobs of %s. Leave it to MultiKueue%s", origin.Context, delegation.MultiKueue, instead)
}

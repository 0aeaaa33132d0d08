package trace

import (
	"context"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// checkNeeds adds which clusters lack an object that the Pods need, such as a ServiceAccount. It
// reports what it cannot check.
func (o *traceOptions) checkNeeds(ctx context.Context, f *fleet.Fleet, object *unstructured.Unstructured, r *placement.Request) {
	kind, isKnown := delegation.KindOf(object.GroupVersionKind())
	if !isKnown {
		return
	}
	needed := preflight.NeededBy(kind, object)
	if o.flags.From != "" {
		if len(needed) > 0 {
			util.Report(o.ErrOut, "note: not checked, because snapshots have none: %s", listed(needed))
		}
		return
	}
	r.Lacking = map[string][]string{}
	for _, n := range needed {
		_, lacking, unread := read.Presence(ctx, f, n.Resource(), types.NamespacedName{Namespace: r.Namespace, Name: n.Name})
		for name := range lacking {
			r.Lacking[name] = append(r.Lacking[name], n.String())
		}
		for _, name := range slices.Sorted(maps.Keys(unread)) {
			if err := unread[name]; !kubecontext.IsConnection(err) { // It is reported that a context does not answer.
				util.Report(o.ErrOut, "note: not checked whether %s has %s: %s", name, n, kubecontext.Because(err))
			}
		}
	}
}

func listed(needed []preflight.Needed) string {
	names := make([]string, len(needed))
	for i, n := range needed {
		names[i] = n.String()
	}
	return strings.Join(names, ", ")
}

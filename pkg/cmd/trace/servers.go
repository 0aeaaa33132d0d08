package trace

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// checkServed adds which clusters do not serve the kind of an object. It reports what it cannot check.
func (o *traceOptions) checkServed(ctx context.Context, f *fleet.Fleet, v *inspect.Inventory, object *unstructured.Unstructured, r *placement.Request) {
	gv := object.GroupVersionKind().GroupVersion()
	if _, isKnown := delegation.KindOf(object.GroupVersionKind()); !isKnown || isBuiltIn(gv) {
		return
	}
	unserved, unread := read.WithoutVersion(ctx, f, gv)
	for context := range unserved {
		r.Check(context).Refused = fmt.Sprintf("it does not serve %s of %s", object.GetKind(), gv)
	}
	o.noteUnread(v, unread, func(context string) string {
		return fmt.Sprintf("whether %s serves %s of %s", context, object.GetKind(), gv)
	})
}

// isBuiltIn reports whether every API server serves a group. A 404 for it is another program's.
func isBuiltIn(gv schema.GroupVersion) bool { return scheme.Scheme.IsGroupRegistered(gv.Group) }

// checkNames adds which clusters have an object of the name of a new one: MultiKueue cannot create a
// mirror there. It reports what it cannot check.
func (o *traceOptions) checkNames(ctx context.Context, f *fleet.Fleet, v *inspect.Inventory, object *unstructured.Unstructured, r *placement.Request) {
	kind, isKnown := delegation.KindOf(object.GroupVersionKind())
	if !isKnown || object.GetName() == "" || o.flags.From != "" {
		return
	}
	taken, _, unread := read.Presence(ctx, f, kind.Resource, types.NamespacedName{Namespace: r.Namespace, Name: object.GetName()})
	for context := range taken {
		r.Check(context).IsTaken = true
	}
	o.noteUnread(v, unread, func(context string) string {
		return fmt.Sprintf("whether %s has a %s of this name", context, object.GetKind())
	})
}

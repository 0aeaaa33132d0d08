package trace

import (
	"context"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// tryCreate makes a dry run of creating a Job in contexts, and returns the contexts that have a Job of this
// name. There, it tries one with a generated name.
func tryCreate(ctx context.Context, f *fleet.Fleet, job *unstructured.Unstructured, contexts []string) (tried map[string]read.Tried, existing []string) {
	tried = read.TryCreate(ctx, f, job, contexts)
	for _, name := range contexts {
		if apierrors.IsAlreadyExists(tried[name].Err) {
			existing = append(existing, name)
		}
	}
	if len(existing) > 0 {
		another := job.DeepCopy()
		another.SetName("")
		another.SetGenerateName(job.GetName() + "-")
		maps.Copy(tried, read.TryCreate(ctx, f, another, existing))
	}
	return tried, existing
}

// checkNames looks for objects of the same name. It returns the contexts to which the object would be submitted
// and that have one. If there are none, it notes the other contexts that have one: nothing can be copied to these.
func (o *traceOptions) checkNames(ctx context.Context, f *fleet.Fleet, v *inspect.Inventory, object *unstructured.Unstructured, r *placement.Request) (existing []string) {
	kind, isKnown := delegation.KindOf(object.GroupVersionKind())
	if !isKnown || object.GetName() == "" {
		return nil
	}
	taken, _, unread := read.Presence(ctx, f, kind.Resource, types.NamespacedName{Namespace: r.Namespace, Name: object.GetName()})
	for _, at := range placement.Entries(v, r) {
		if taken.Has(at.Context) {
			existing = append(existing, at.Context)
		}
	}
	for context := range taken {
		r.Check(context).IsTaken = len(existing) == 0
	}
	o.noteUnread(v, unread, func(context string) string {
		return fmt.Sprintf("whether %s has a %s of this name", context, object.GetKind())
	})
	return existing
}

// nameExisting adds to a trace that objects of its name exist where it would be submitted. What the trace says
// then holds under another name, for which no place in a queue is known.
func (o *traceOptions) nameExisting(t *inspect.Trace, m *planned, existing []string) {
	if len(existing) == 0 {
		return
	}
	for i := range t.Placements {
		t.Placements[i].Position = nil
	}
	namespace := t.Origin.Namespace
	t.Message = strings.TrimSpace(fmt.Sprintf("%s exists on %s. Under another name: %s", delegation.Named(m.kind, namespace, m.name), strings.Join(existing, ", "), t.Message))
	look := command.Say("submit this %s under another name", m.kind)
	if kind, isKnown := delegation.KindOf(m.file.GroupVersionKind()); isKnown {
		look = command.Say("trace the existing %s: %s; or %s", m.kind, command.PluginFor(kind, "trace", existing[0], namespace, m.name), look)
	}
	t.Fixes = append(look.Reached(o.CommandReach(o.flags)).Fixes(), t.Fixes...)
	t.Remedy = string(command.Alternatives(t.Fixes))
	t.Summary = t.Phrase() + ". " + t.Message
}

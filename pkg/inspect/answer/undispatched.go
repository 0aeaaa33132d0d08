package answer

import (
	"fmt"
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// undispatched returns the answer for a Job that this plugin must dispatch. If its status was written, it
// was dispatched before.
func (q *Question) undispatched(to string) Answer {
	o := q.Pair.Origin
	a := Answer{
		State: inspect.StateWaiting, Reason: inspect.ReasonUndispatched, Message: "It was not dispatched to a cluster yet.",
		Fixes: []command.Fix{{Text: "dispatch it", Command: q.words(command.PluginFor(o.Row(), "dispatch", o.Context, o.Namespace, o.Name).With("--to", to))}},
	}
	lease, known := q.Inventory.Facts(o.Context).LeaseOf(o)
	isHeld := q.Inventory.IsHeld(o.Context, lease)
	if o.StartTime == nil && !isHeld && q.isNeverDispatched() {
		b := q.never(q.Trace.Placements)
		b.Message = a.Message + " " + b.Message
		return b
	}
	if o.StartTime == nil && !isHeld {
		a.Unchecked = unreadOf(q.Trace.Placements)
		return a
	}
	unseen := q.unseen("mirror of " + o.Namespace + "/" + o.Name)
	a.Message = "The mirror is gone"
	switch {
	case o.StartTime == nil:
		a.Message = "It has no mirror yet"
	case len(unseen) > 0:
		a.Message = "The mirror is gone or unread"
	}
	a.Fixes[0].Text = "dispatch it again"
	switch {
	case isHeld:
		a.Message += fmt.Sprintf("; %s holds its Lease.", lease.Holder)
		a.Fixes = nil
	case known && len(unseen) == 0:
		a.State, a.Message = inspect.StateBlocked, a.Message+", and no dispatcher holds its Lease."
	case known:
		a.State, a.Message = inspect.StateUnknown, a.Message+", and no dispatcher holds its Lease."
	default:
		a.State, a.Message = inspect.StateUnknown, a.Message+"."
	}
	if o.StartTime != nil {
		a.Reason = inspect.ReasonNoMirror
	}
	if len(unseen) > 0 {
		// The mirror may run there.
		a.Fixes = nil
	}
	a.addUnread(unseen)
	return a
}

// isNeverDispatched reports whether a Job that this plugin must dispatch can run on none of the other clusters as it
// is. All contexts must have been read.
func (q *Question) isNeverDispatched() bool {
	o, all := q.Pair.Origin, q.Trace.Placements
	isOpen := func(p inspect.Placement) bool { return p.Verdict != inspect.Never }
	return o != nil && o.AwaitsDispatch() && len(all) > 0 && !slices.ContainsFunc(all, isOpen) && len(q.unread()) == 0
}

// isDispatch reports whether a fix dispatches a Job.
func isDispatch(f command.Fix) bool { return slices.Contains(f.Command, "--to") }

// withoutDispatch removes from findings the fix that dispatches a Job, if no cluster can take it, and adds what would
// help instead.
func (q *Question) withoutDispatch(findings []inspect.Finding) {
	if !q.isNeverDispatched() {
		return
	}
	for i := range findings {
		if f := &findings[i]; f.Code == ignoredByOwner && q.isAboutPair(f) {
			f.Fixes = append(q.changes(q.Trace.Placements), slices.DeleteFunc(slices.Clone(f.Fixes), isDispatch)...)
			f.Remedy = string(command.Alternatives(f.Fixes))
		}
	}
}

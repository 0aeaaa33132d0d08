package logs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
)

// Placement says where a Job's Pods are, as far as an inventory shows.
type Placement struct {
	// Pair is the Job and its mirrors.
	Pair inspect.Pair
	// Jobs are the objects whose Pods are read: one, or several if the Job runs on several
	// clusters at once.
	Jobs []*inspect.Job
	// End describes how the Job has ended; "" if it has not.
	End string
	// Why is the reason for having nothing to read, if there are no Pods.
	Why string
	// IsUnread is set if the Job does not wait, and its Pods are on a cluster that was not read.
	IsUnread bool
}

// Place finds the Pods of a Job: those of its unfinished mirrors; or of its newest finished
// mirror that has Pods; or of the Job itself, if it is not delegated or has its own Pods. The
// mirror of an older Job with the same name does not count.
func Place(v *inspect.Inventory, pair inspect.Pair) Placement {
	p := Placement{Pair: pair, End: end(pair)}
	p.explain(v)
	mirrors := mirrorsOf(pair)
	if p.Jobs = unfinished(mirrors); len(p.Jobs) > 0 {
		return p
	}
	slices.SortStableFunc(mirrors, func(a, b *inspect.Job) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	for _, j := range mirrors {
		if hasPods(v, j) {
			p.Jobs = []*inspect.Job{j}
			return p
		}
	}
	if o := pair.Origin; o != nil && !o.Row().Template && (runsItself(pair) || hasPods(v, o)) {
		p.Jobs = []*inspect.Job{o}
	}
	return p
}

// Again finds a tracked Job in a later inventory. last is its placement so far. isGone reports that the
// Job was deleted.
func Again(v *inspect.Inventory, tracked *inspect.Tracked, last Placement) (now Placement, isGone bool) {
	for _, pair := range v.Subjects() {
		if tracked.Has(pair) {
			tracked.See(v, pair)
			return Place(v, pair), false
		}
	}
	last.Jobs, last.IsUnread = nil, false
	unread := tracked.UnreadIn(v)
	if len(unread) > 0 {
		// The Job may be in these contexts.
		last.Why = "cannot read " + strings.Join(unread, ", ")
	}
	return last, len(unread) == 0
}

// IsHopeless reports whether there is nothing to read, and never will be.
func (p Placement) IsHopeless() bool {
	isTemplate := p.Pair.Origin != nil && p.Pair.Origin.Row().Template
	return len(p.Jobs) == 0 && (p.End != "" || isTemplate)
}

// mirrorsOf returns the mirrors of the current Job. A mirror whose origin was not found counts,
// too.
func mirrorsOf(pair inspect.Pair) []*inspect.Job {
	var jobs []*inspect.Job
	for _, m := range pair.Mirrors {
		if m.Current || pair.Origin == nil {
			jobs = append(jobs, m.Job)
		}
	}
	return jobs
}

func unfinished(jobs []*inspect.Job) []*inspect.Job {
	return slices.DeleteFunc(slices.Clone(jobs), func(j *inspect.Job) bool { return j.Status.IsFinished() })
}

// runsItself reports whether a Job's own cluster runs it.
func runsItself(pair inspect.Pair) bool {
	o := pair.Origin
	return o.ManagedBy.IsBuiltIn() && !o.Row().IsUnmanaged() && !o.Status.IsFinished()
}

// hasPods reports whether an object has Pods on its cluster, or may have.
func hasPods(v *inspect.Inventory, j *inspect.Job) bool {
	if isPod(j) {
		// A scheduling gate holds the origin Pod, which never gets a node.
		return j.Object != nil && delegation.TextAt(j.Object.Object, "spec", "nodeName") != ""
	}
	f := v.Facts(j.Context)
	return f != nil && (len(f.PodsOf(j)) > 0 || f.Gaps[inspect.PartPods] != nil)
}

// end describes how a Job has ended; "" if it has not.
func end(pair inspect.Pair) string {
	mirrors := mirrorsOf(pair)
	if len(mirrors) > 0 && len(unfinished(mirrors)) == 0 {
		return fmt.Sprintf("%s on %s", mirrors[0].Status, mirrors[0].Context)
	}
	if o := pair.Origin; o != nil && o.Status.IsFinished() {
		return string(o.Status)
	}
	return ""
}

// explain sets why a Job has no Pods.
func (p *Placement) explain(v *inspect.Inventory) {
	o := p.Pair.Origin
	switch {
	case o != nil && o.Row().Template:
		p.Why = "it is a template: name one of the objects that it created"
	case p.End == "":
		t := answer.Trace(v, p.Pair)
		p.Why = answer.Clause(t)
		p.IsUnread = t.Reason == inspect.ReasonUnread && t.State != inspect.StateWaiting
	default:
		p.Why = fmt.Sprintf("it has ended (%s); %s", p.End, whyGone(v, p.Pair))
	}
}

// whyGone returns why an ended Job has no Pods.
func whyGone(v *inspect.Inventory, pair inspect.Pair) string {
	o := pair.Origin
	gone := "its mirror is gone, and so are its logs"
	if unseen := v.UnreadContexts(); len(unseen) > 0 {
		gone = "no mirror found; not read: " + strings.Join(unseen, ", ")
	}
	mirrors := mirrorsOf(pair)
	switch {
	case len(mirrors) > 0:
		gone = fmt.Sprintf("its Pods on %s are gone, and so are their logs", mirrors[0].Context)
	case o.ManagedBy == delegation.MultiKueue:
		gone = "MultiKueue deletes a mirror as soon as it finishes, with its logs"
	case o.ManagedBy.IsBuiltIn():
		gone = "its Pods are gone, and so are their logs"
	}
	return gone
}

// AmbiguousError means that several Jobs have the requested name.
type AmbiguousError struct {
	// Name is the name that the user gave.
	Name string
	// Places are the contexts and namespaces of the Jobs.
	Places []string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%s names several unrelated Jobs: %s. Choose one with --context",
		e.Name, strings.Join(e.Places, ", "))
}

// Choose selects the requested Job in an inventory, which has at least one. If several have the
// name, it prefers those that run, and then those that have Pods. what is the name that the user
// gave. Choose returns an *AmbiguousError if several remain.
func Choose(v *inspect.Inventory, what string) (Placement, error) {
	var all []Placement
	for _, pair := range v.Subjects() {
		all = append(all, Place(v, pair))
	}
	for _, counts := range []func(Placement) bool{
		func(Placement) bool { return true },
		func(p Placement) bool { return len(p.Jobs) > 0 },
		func(p Placement) bool { return len(p.Jobs) > 0 && p.End == "" },
	} {
		matching := slices.DeleteFunc(slices.Clone(all), func(p Placement) bool { return !counts(p) })
		if len(matching) == 1 {
			return matching[0], nil
		}
	}
	err := &AmbiguousError{Name: what}
	for _, p := range all {
		j := p.subject()
		err.Places = append(err.Places, fmt.Sprintf("namespace %s in context %q", j.Namespace, j.Context))
	}
	return Placement{}, err
}

// subject returns the object that a placement is about.
func (p Placement) subject() *inspect.Job {
	if p.Pair.Origin != nil {
		return p.Pair.Origin
	}
	return p.Pair.Mirrors[0].Job
}

// Unread returns the contexts that could not be read.
func Unread(v *inspect.Inventory) []inspect.ContextError {
	var errs []inspect.ContextError
	for _, f := range v.Clusters {
		if f.Err != nil {
			errs = append(errs, inspect.NewContextError(kubecontext.InContext(f.Context, "", f.Err)))
		}
	}
	return errs
}

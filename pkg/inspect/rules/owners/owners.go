// Package owners has the rules that hold for every owner.
package owners

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// Rules returns JM014, JM101 to JM113, JM138, JM305 and JM306.
func Rules() []view.Rule {
	return []view.Rule{
		ownerIgnores(), ownerMistyped(), mirrorDelegated(), statusStale(), mirrorGone(), dispatchedOriginGone(), twoMirrors(),
		olderMirror(), podsOfOrigin(), ownerUnknown(), ownerRefused(), ownerWithoutDomain(),
		endNotCopied(), startRefused(), deletionHangs(), shortTTL(), clocksApart(),
	}
}

// servedOwners returns the owners that have picked up any object of the
// fleet, with the kinds of these objects.
func servedOwners(v *view.View) map[delegation.Owner]sets.Set[string] {
	served := map[delegation.Owner]sets.Set[string]{}
	for _, p := range v.Pairs() {
		o := p.Origin
		isPickedUp := o.Status != delegation.Unclaimed && o.Status != delegation.Terminating
		if !isPickedUp && len(p.Mirrors) == 0 {
			continue
		}
		if served[o.ManagedBy] == nil {
			served[o.ManagedBy] = sets.New[string]()
		}
		served[o.ManagedBy].Insert(o.Kind)
	}
	return served
}

// otherObjects names the other objects that an owner has picked up.
func otherObjects(kinds sets.Set[string], j *inspect.Job) string {
	if kinds.Has(j.Kind) {
		return "other " + quote.Plural(j)
	}
	return "others"
}

func ownerIgnores() view.Rule {
	return view.Rule{
		Code: "JM101", Severity: inspect.Error,
		Reads: []inspect.Part{inspect.PartJobs},
		Detect: func(v *view.View) {
			known, served := delegation.KnownOwners(), servedOwners(v)
			for _, p := range v.Pairs() {
				j := p.Origin
				isFree := j.Marks == nil || j.Marks.Mirror.IsZero() && j.Marks.BadMirror == ""
				if j.ManagedBy == delegation.MultiKueue || !view.IsWaiting(j) || len(p.Mirrors) > 0 || !isFree || isHeldBy(j) {
					continue
				}
				if known.Has(j.ManagedBy) || served[j.ManagedBy] != nil {
					v.Report(describeIgnored(v, j, known.Has(j.ManagedBy), served[j.ManagedBy]))
				}
			}
		},
	}
}

// isHeldBy reports whether a Job's owner has put a finalizer on it, which
// shows that the owner has picked it up.
func isHeldBy(j *inspect.Job) bool {
	domain, _, _ := strings.Cut(string(j.ManagedBy), "/")
	return slices.ContainsFunc(j.Finalizers, func(f string) bool { return strings.HasPrefix(f, domain+"/") })
}

func describeIgnored(v *view.View, j *inspect.Job, isKnown bool, served sets.Set[string]) view.Sighting {
	s := view.Sighting{
		Object: view.Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j}, Cause: string(j.ManagedBy) + " on " + j.Context,
		Message:  fmt.Sprintf("%s has not picked it up", j.ManagedBy),
		Evidence: []string{quote.NeverWritten(j)},
		Remedy:   command.Say("check that controller %s runs and watches namespace %s of %s; or %s", j.ManagedBy, j.Namespace, j.Context, advice.Disown(v, j)),
	}
	switch kinds := servesOnly(j.ManagedBy); {
	case j.ManagedBy == delegation.Dispatch && !advice.CanDispatch(j.Row()):
		s.Message = fmt.Sprintf("it waits to be dispatched, but dispatch does not support %s", quote.Plural(j))
		s.Remedy = advice.Disown(v, j)
	case j.ManagedBy == delegation.Dispatch:
		s.Message = "waits to be dispatched"
		s.Remedy = command.Say("dispatch it: %s; or %s", advice.DispatchTo(j, "CONTEXT", j.Namespace), advice.Disown(v, j))
	case kinds != "":
		s.Message = fmt.Sprintf("%s is the controller of %s, and ignores %s", j.ManagedBy, kinds, quote.Plural(j))
		s.Remedy = advice.Disown(v, j)
	case !isKnown:
		// The owner serves other Jobs, and may have its own queue.
		s.Severity = inspect.Warning
		s.Message = fmt.Sprintf("%s has picked up %s, but not this one", j.ManagedBy, otherObjects(served, j))
	}
	// Different kinds are different causes.
	s.Cause += " of " + j.Kind
	return s
}

// servesOnly returns the kinds that an owner serves as their own controller,
// which serves no other kinds. It returns "" for other owners.
func servesOnly(owner delegation.Owner) string {
	var kinds []string
	for _, row := range delegation.Kinds() {
		if row.Reserved == string(owner) && !row.Template && !slices.Contains(kinds, row.Kind+"s") {
			kinds = append(kinds, row.Kind+"s")
		}
	}
	switch {
	case len(kinds) == 0:
		return ""
	case len(kinds) > quote.MostNames:
		return kinds[0] + " and similar kinds"
	case len(kinds) == 1:
		return kinds[0]
	}
	return strings.Join(kinds[:len(kinds)-1], ", ") + " and " + kinds[len(kinds)-1]
}

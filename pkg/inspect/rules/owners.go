package rules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// owners are what holds for every owner, as far as it is about who runs a Job, and
// where (JM101 to JM109).
func owners() []Rule {
	return []Rule{
		notTakenUp(), ownerMistyped(), mirrorDelegated(), statusStale(), mirrorGone(), dispatchedOriginGone(), twoMirrors(),
		olderMirror(), podsOfOrigin(),
	}
}

const (
	// kepManagedBy is where the field is defined.
	kepManagedBy = "https://github.com/kubernetes/enhancements/tree/master/keps/sig-apps/4368-support-managed-by-for-batch-jobs"
	// docsJobs is what Kubernetes says of it.
	docsJobs = "https://kubernetes.io/docs/concepts/workloads/controllers/job/#delegation-of-managing-a-job-object-to-external-controller"
)

// servedOwners are the owners that have taken up any object of the fleet, each with
// the kinds of what it has taken up.
func servedOwners(v *View) map[delegation.Owner]sets.Set[string] {
	served := map[delegation.Owner]sets.Set[string]{}
	for _, p := range v.Pairs() {
		o := p.Origin
		isTaken := o.Status != delegation.Unclaimed && o.Status != delegation.Terminating
		if !isTaken && len(p.Mirrors) == 0 {
			continue
		}
		if served[o.ManagedBy] == nil {
			served[o.ManagedBy] = sets.New[string]()
		}
		served[o.ManagedBy].Insert(o.Kind)
	}
	return served
}

// others are what an owner has taken up beside an object.
func others(kinds sets.Set[string], j *inspect.Job) string {
	if kinds.Has(j.Kind) {
		return "other " + plural(j)
	}
	return "others"
}

func notTakenUp() Rule {
	return Rule{
		Code: "JM101", Title: "the owner has not picked it up", Severity: inspect.Error,
		Holds: "the owner of every Job has picked it up",
		Reads: []inspect.Part{inspect.PartJobs},
		Why: `managedBy names a controller that exists, and the built-in one therefore leaves the Job alone. But that
controller has not taken this Job up: it does not run, does not watch this cluster or namespace, does not care for
Jobs, or nobody has dispatched the Job yet. A Job's managedBy cannot be changed, nor can that of most other kinds.`,
		Shows: `Nobody ever wrote the Job's status, there is no mirror of it, and kubectl says Running.`,
		Remedy: `See that the controller runs and watches this cluster; what is managed by jobmanagedby.github.io/dispatch
waits for the command dispatch. Else take managedBy off, to have it run on this cluster: recreate deletes the Job and
creates it again without it.`,
		Link: docsJobs,
		Detect: func(v *View) {
			known, served := knownOwners(), servedOwners(v)
			for _, p := range v.Pairs() {
				j := p.Origin
				isFree := j.Marks == nil || j.Marks.Mirror.IsZero() && j.Marks.BadMirror == ""
				if j.ManagedBy == delegation.MultiKueue || !isWaiting(j) || len(p.Mirrors) > 0 || !isFree || isHeldBy(j) {
					continue
				}
				if known.Has(j.ManagedBy) || served[j.ManagedBy] != nil {
					v.Report(notTaken(j, known.Has(j.ManagedBy), served[j.ManagedBy]))
				}
			}
		},
	}
}

// isHeldBy says whether a Job's owner has put a finalizer on it, which is a way to
// take it up.
func isHeldBy(j *inspect.Job) bool {
	domain, _, _ := strings.Cut(string(j.ManagedBy), "/")
	return slices.ContainsFunc(j.Finalizers, func(f string) bool { return strings.HasPrefix(f, domain+"/") })
}

func notTaken(j *inspect.Job, isKnown bool, served sets.Set[string]) Sighting {
	s := Sighting{
		Object: Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j}, Cause: string(j.ManagedBy) + " on " + j.Context,
		Message:  fmt.Sprintf("%s has not picked it up", j.ManagedBy),
		Evidence: []string{notWritten(j)},
		Remedy:   command.Say("see that the controller %s runs and watches namespace %s of %s; or %s", j.ManagedBy, j.Namespace, j.Context, disown(j)),
	}
	switch kinds := servesOnly(j.ManagedBy); {
	case j.ManagedBy == delegation.Dispatch && !mayDispatch(j.Row()):
		s.Message = fmt.Sprintf("it waits to be dispatched, but dispatch takes no %s", plural(j))
		s.Remedy = disown(j)
	case j.ManagedBy == delegation.Dispatch:
		s.Message = "waits to be dispatched"
		s.Remedy = command.Say("%s; or %s", dispatchTo(j, "CONTEXT", j.Namespace), disown(j))
	case kinds != "":
		s.Message = fmt.Sprintf("%s is the controller of %s, and picks up no %s", j.ManagedBy, kinds, plural(j))
		s.Remedy = disown(j)
	case !isKnown:
		// It serves others, and may have a queue of its own.
		s.Severity = inspect.Warning
		s.Message = fmt.Sprintf("%s has picked up %s, but not this one", j.ManagedBy, others(served, j))
	}
	// Different kinds are different causes.
	s.Cause += " of " + j.Kind
	return s
}

// servesOnly are the kinds whose own controller an owner is, which serves no others;
// "" for any other owner.
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
	case len(kinds) > few:
		return kinds[0] + " and their like"
	case len(kinds) == 1:
		return kinds[0]
	}
	return strings.Join(kinds[:len(kinds)-1], ", ") + " and " + kinds[len(kinds)-1]
}

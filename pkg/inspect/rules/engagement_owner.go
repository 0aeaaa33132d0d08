package rules

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// knownOwners are the values of managedBy that some controller is known to answer
// to, of any kind.
func knownOwners() sets.Set[delegation.Owner] {
	known := sets.New(delegation.BuiltIn, delegation.MultiKueue, delegation.Dispatch)
	for _, row := range delegation.Kinds() {
		if row.Reserved != "" {
			known.Insert(delegation.Owner(row.Reserved))
		}
	}
	return known
}

func ownerUnknown() Rule {
	return Rule{
		Code: "JM014", Title: "unknown owner", Severity: inspect.Error,
		Holds: "every owner is known",
		Reads: []inspect.Part{inspect.PartJobs},
		Why: `managedBy names a controller, and the built-in one therefore leaves the Job alone. The API server takes any
name; nothing checks that there is such a controller. It is not installed, does not watch this cluster, or goes by
another name. A Job's managedBy cannot be changed, nor can that of most other kinds.`,
		Shows: `managedBy is none of the known values, nobody ever wrote the status of this Job or of any other with that
owner, and kubectl says Running.`,
		Remedy: `Install the controller, or take managedBy off: recreate deletes the Job and creates it again without it.`,
		Link:   "https://github.com/kubernetes/enhancements/tree/master/keps/sig-apps/4368-support-managed-by-for-batch-jobs",
		Detect: func(v *View) {
			known := knownOwners()
			for _, p := range v.Pairs() {
				// An owner that has taken up any Job at all exists.
				if s := p.Origin.Status; s != delegation.Unclaimed && s != delegation.Terminating || len(p.Mirrors) > 0 {
					known.Insert(p.Origin.ManagedBy)
				}
			}
			for _, p := range v.Pairs() {
				if !known.Has(p.Origin.ManagedBy) && isWaiting(p.Origin) && namesOwner(p.Origin) {
					reportUnknownOwner(v, p.Origin)
				}
			}
		},
	}
}

// isWaiting is whether a Job that nobody took up wants to be. One that was made
// suspended, and that no queue will resume, waits for its author.
func isWaiting(j *inspect.Job) bool {
	return j.Status == delegation.Unclaimed && (!j.Suspended || j.Queue() != "")
}

// namesOwner is whether an object's managedBy certainly names a controller. A kind
// that was found by its schema may use a field of that name for anything, such as
// the team that looks after it.
func namesOwner(j *inspect.Job) bool {
	return !j.Row().Discovered || len(validation.IsDomainPrefixedPath(nil, string(j.ManagedBy))) == 0
}

func reportUnknownOwner(v *View, j *inspect.Job) {
	s := Sighting{
		Object: Of(j), Since: j.CreationTimestamp.Time,
		Message:  fmt.Sprintf("no sign of controller %s", j.ManagedBy),
		Evidence: []string{notWritten(j)},
		Remedy:   command.Say("install the controller %s on %s; or %s", j.ManagedBy, j.Context, disown(j)),
		Jobs:     []*inspect.Job{j}, Cause: string(j.ManagedBy) + " on " + j.Context,
	}
	if j.Row().Discovered {
		// Its kind may have no status at all.
		s.Severity = inspect.Warning
	}
	v.Report(s)
}

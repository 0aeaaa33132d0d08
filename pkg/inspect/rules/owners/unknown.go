package owners

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

func ownerUnknown() view.Rule {
	return view.Rule{
		Code: "JM014", Severity: inspect.Error,
		Reads: []inspect.Part{inspect.PartJobs},
		Detect: func(v *view.View) {
			known := delegation.KnownOwners()
			for _, p := range v.Pairs() {
				// An owner that has picked up any Job exists.
				if s := p.Origin.Status; s != delegation.Unclaimed && s != delegation.Terminating || len(p.Mirrors) > 0 {
					known.Insert(p.Origin.ManagedBy)
				}
			}
			for _, p := range v.Pairs() {
				if !known.Has(p.Origin.ManagedBy) && view.IsWaiting(p.Origin) && namesOwner(p.Origin) {
					reportUnknownOwner(v, p.Origin)
				}
			}
		},
	}
}

// namesOwner reports whether an object's managedBy certainly names a
// controller. A kind that was discovered by its schema may use a field of
// that name for something else, such as the team that is responsible.
func namesOwner(j *inspect.Job) bool {
	return !j.Row().Discovered || len(validation.IsDomainPrefixedPath(nil, string(j.ManagedBy))) == 0
}

func reportUnknownOwner(v *view.View, j *inspect.Job) {
	s := view.Sighting{
		Object: view.Of(j), Since: j.CreationTimestamp.Time,
		Message:  fmt.Sprintf("no sign of controller %s", j.ManagedBy),
		Evidence: []string{quote.NeverWritten(j)},
		Remedy:   command.Say("install the controller %s on %s; or %s", j.ManagedBy, j.Context, advice.Disown(v, j)),
		Jobs:     []*inspect.Job{j}, Cause: string(j.ManagedBy) + " on " + j.Context,
	}
	if j.Row().Discovered {
		// The kind may have no status at all.
		s.Severity = inspect.Warning
	}
	v.Report(s)
}

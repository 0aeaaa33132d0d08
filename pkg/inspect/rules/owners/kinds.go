package owners

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

func ownerRefused() view.Rule {
	return view.Rule{
		Code: "JM305", Severity: inspect.Warning,
		Reads:  []inspect.Part{inspect.PartJobs},
		Covers: []string{"JM014", "JM101", "JM306"},
		Detect: func(v *view.View) {
			for _, p := range v.Pairs() {
				j := p.Origin
				if row := j.Row(); !j.ManagedBy.IsBuiltIn() && !row.Allows(j.ManagedBy) && j.IsOpen() {
					v.Report(refusedOwner(v, j, row))
				}
			}
		},
	}
}

func refusedOwner(v *view.View, j *inspect.Job, row delegation.Kind) view.Sighting {
	var allowed []string
	for _, owner := range row.Allowed {
		allowed = append(allowed, string(owner))
	}
	s := view.Sighting{
		Object: view.Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j},
		Message:  fmt.Sprintf("%s of a %s must be %s, but is %s", quote.OwnerField(row), j.Kind, strings.Join(allowed, " or "), j.ManagedBy),
		Evidence: []string{quote.Owner(j), quote.State(j)},
		Remedy: command.Say("%s; or %s; check that the webhook of %s is installed: %s",
			advice.GiveTo(v, j, delegation.MultiKueue), advice.Disown(v, j), quote.Plural(j), command.Kubectl(j.Context, "", "get", "validatingwebhookconfigurations")),
	}
	if j.Status == delegation.Unclaimed {
		s.Severity, s.Evidence = inspect.Error, []string{quote.NeverWritten(j)}
		s.Message += "; no controller has picked it up"
	}
	return s
}

func ownerWithoutDomain() view.Rule {
	return view.Rule{
		Code: "JM306", Severity: inspect.Info,
		Reads: []inspect.Part{inspect.PartJobs},
		Detect: func(v *view.View) {
			for _, p := range v.Pairs() {
				j := p.Origin
				if j.ManagedBy.IsBuiltIn() || strings.Contains(string(j.ManagedBy), "/") || !j.IsOpen() {
					continue
				}
				if !j.Row().Discovered {
					v.Report(noDomain(v, j))
				}
			}
		},
	}
}

// ownerByPart returns the known owner whose name without the domain is the
// object's owner, "" if there is none.
func ownerByPart(j *inspect.Job, known sets.Set[delegation.Owner]) delegation.Owner {
	for _, owner := range sets.List(known) {
		_, last, hasDomain := strings.Cut(string(owner), "/")
		if hasDomain && delegation.PlainName(delegation.Owner(last)) == delegation.PlainName(j.ManagedBy) && j.Row().Allows(owner) {
			return owner
		}
	}
	return ""
}

func noDomain(v *view.View, j *inspect.Job) view.Sighting {
	return view.Sighting{
		Object: view.Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j}, Cause: string(j.ManagedBy) + " of " + j.Kind + " on " + j.Context,
		Message:  fmt.Sprintf("owner %s is not a complete controller name (domain/name)", j.ManagedBy),
		Evidence: []string{quote.Owner(j), quote.State(j)},
		Remedy:   command.Say("use the complete owner name; or if no controller has the name %s, %s", j.ManagedBy, advice.Disown(v, j)),
	}
}

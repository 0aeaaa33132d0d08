package rules

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

func ownerRefused() Rule {
	return Rule{
		Code: "JM305", Title: "the kind does not allow this owner", Severity: inspect.Warning,
		Holds: "every kind allows the owners of its objects",
		Reads: []inspect.Part{inspect.PartJobs},
		Why: `Some kinds may have their own controller or MultiKueue as owner, and nobody else: TrainJobs, RayJobs and their
like, PyTorchJobs, TFJobs, XGBoostJobs and PaddleJobs. Of the last four, only a webhook of their operator sees to that.
It is not installed on this cluster, or did not answer at the time. The operator leaves the object alone nevertheless,
and so does everybody else who goes by what the kind allows. Once the webhook answers, it may refuse every change.`,
		Shows: `managedBy is neither the kind's own controller nor kueue.x-k8s.io/multikueue. Where nobody ever wrote the
status, nobody runs the object, and that is an error.`,
		Remedy: `Give the object to MultiKueue or to its own controller, and see that the webhook of its operator is
installed. A PyTorchJob's managedBy can be changed; of the other kinds, the object has to be created again,
as recreate does.`,
		Link:   "https://github.com/kubeflow/training-operator/blob/release-1.9/pkg/common/util/webhooks.go",
		Covers: []string{"JM014", "JM101", "JM306"},
		Detect: func(v *View) {
			for _, p := range v.Pairs() {
				j := p.Origin
				if row := j.Row(); !j.ManagedBy.IsBuiltIn() && !row.Allows(j.ManagedBy) && j.IsOpen() {
					v.Report(refusedOwner(j, row))
				}
			}
		},
	}
}

func refusedOwner(j *inspect.Job, row delegation.Kind) Sighting {
	var allowed []string
	for _, owner := range row.Allowed {
		allowed = append(allowed, string(owner))
	}
	s := Sighting{
		Object: Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j},
		Message:  fmt.Sprintf("%s of a %s must be %s, but is %s", fieldOf(row), j.Kind, strings.Join(allowed, " or "), j.ManagedBy),
		Evidence: []string{ownerOf(j), stateOf(j)},
		Remedy: command.Say("for MultiKueue: %s; for its own controller: %s; and see that the webhook of %s is installed: %s",
			giveTo(j, delegation.MultiKueue), disown(j), plural(j), command.Kubectl(j.Context, "", "get", "validatingwebhookconfigurations")),
	}
	if j.Status == delegation.Unclaimed {
		s.Severity, s.Evidence = inspect.Error, []string{notWritten(j)}
		s.Message += "; no controller has picked it up"
	}
	return s
}

func ownerWithoutDomain() Rule {
	return Rule{
		Code: "JM306", Title: "the owner's name has no domain", Severity: inspect.Info,
		Holds: "the name of every owner has a domain",
		Reads: []inspect.Part{inspect.PartJobs},
		Why: `The name of an owner is a domain and a path, such as kueue.x-k8s.io/multikueue, so that no two controllers
go by the same one. The API server and JobSet's webhook insist on that; AppWrapper, Tekton and others take any text. A
name without a slash is most often a mistake, and the kind's own controller leaves the object alone all the same.`,
		Shows: `managedBy has no slash. Of kinds that are found by their schemas alone this is not told, for they may use
the field for something else.`,
		Remedy: `Write the owner's whole name.`,
		Link:   "https://github.com/project-codeflare/appwrapper/blob/main/api/v1beta2/appwrapper_types.go",
		Detect: func(v *View) {
			for _, p := range v.Pairs() {
				j := p.Origin
				if j.ManagedBy.IsBuiltIn() || strings.Contains(string(j.ManagedBy), "/") || !j.IsOpen() {
					continue
				}
				if !j.Row().Discovered {
					v.Report(noDomain(j))
				}
			}
		},
	}
}

// ownerCalled is the known owner whose last part is an object's owner, "" if there
// is none.
func ownerCalled(j *inspect.Job, known sets.Set[delegation.Owner]) delegation.Owner {
	for _, owner := range sets.List(known) {
		_, last, hasDomain := strings.Cut(string(owner), "/")
		if hasDomain && plain(delegation.Owner(last)) == plain(j.ManagedBy) && j.Row().Allows(owner) {
			return owner
		}
	}
	return ""
}

func noDomain(j *inspect.Job) Sighting {
	return Sighting{
		Object: Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j}, Cause: string(j.ManagedBy) + " of " + j.Kind + " on " + j.Context,
		Message:  fmt.Sprintf("owner %s is not a complete controller name (domain/name)", j.ManagedBy),
		Evidence: []string{ownerOf(j), stateOf(j)},
		Remedy:   command.Say("unless a controller really goes by %s, %s; or the same with its whole name", j.ManagedBy, disown(j)),
	}
}

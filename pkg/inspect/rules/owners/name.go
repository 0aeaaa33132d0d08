package owners

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

func ownerMistyped() view.Rule {
	return view.Rule{
		Code: "JM102", Severity: inspect.Error,
		Reads:  []inspect.Part{inspect.PartJobs},
		Covers: []string{"JM014", "JM305", "JM306"},
		Detect: func(v *view.View) {
			served := servedOwners(v)
			known := delegation.KnownOwners().Union(sets.KeySet(served))
			for _, p := range v.Pairs() {
				j := p.Origin
				if known.Has(j.ManagedBy) || j.Status != delegation.Unclaimed {
					continue
				}
				meant, how := ownerByPart(j, known), "the last part of"
				if meant == "" && namesOwner(j) {
					meant, how = delegation.NearestOwner(j.ManagedBy, known), "similar to"
				}
				if meant == "" || !j.Row().Allows(meant) && meant != delegation.Owner(j.Row().Reserved) {
					continue
				}
				evidence := "a known owner"
				if served[meant] != nil {
					evidence = fmt.Sprintf("which has picked up %s here", otherObjects(served[meant], j))
				}
				var covers []string
				if !advice.CanChangeOwner(j) {
					// A recreated Job is one that MultiKueue does not reject.
					covers = []string{"JM012"}
				}
				v.Report(view.Sighting{
					Object: view.Of(j), Covers: covers, Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j}, Cause: string(j.ManagedBy),
					Message:  fmt.Sprintf("unknown owner %s; did you mean %s?", j.ManagedBy, meant),
					Evidence: []string{quote.NeverWritten(j), fmt.Sprintf("it is %s %s, %s", how, meant, evidence)},
					Remedy:   advice.GiveTo(v, j, meant),
				})
			}
		},
	}
}

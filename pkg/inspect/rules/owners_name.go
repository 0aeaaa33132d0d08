package rules

import (
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

func ownerMistyped() Rule {
	return Rule{
		Code: "JM102", Title: "the owner looks like a typo", Severity: inspect.Error,
		Holds: "every owner is spelled correctly",
		Reads: []inspect.Part{inspect.PartJobs},
		Why: `The API server takes any name in managedBy; nothing checks that there is such a controller. This one is
known to nobody, and one or two letters away from one that is, or it is the last part of one. A Job's managedBy cannot be changed, nor can that of most
other kinds.`,
		Shows: `managedBy is none of the known values, nobody ever wrote the status of a Job with that owner, and another
owner that is known, or that takes up other Jobs of the fleet, has nearly the same name.`,
		Remedy: `Delete the Job and create it again with the right name, as recreate does.`,
		Link:   docsJobs,
		Covers: []string{"JM014", "JM305", "JM306"},
		Detect: func(v *View) {
			served := servedOwners(v)
			known := knownOwners().Union(sets.KeySet(served))
			for _, p := range v.Pairs() {
				j := p.Origin
				if known.Has(j.ManagedBy) || j.Status != delegation.Unclaimed {
					continue
				}
				meant, how := ownerCalled(j, known), "the last part of"
				if meant == "" && namesOwner(j) {
					meant, how = nearestOwner(j.ManagedBy, known), "nearly"
				}
				if meant == "" || !j.Row().Allows(meant) && meant != delegation.Owner(j.Row().Reserved) {
					continue
				}
				whose := "which a controller is known to answer to"
				if served[meant] != nil {
					whose = fmt.Sprintf("which has taken up %s here", others(served[meant], j))
				}
				v.Report(Sighting{
					Object: Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j}, Cause: string(j.ManagedBy),
					Message:  fmt.Sprintf("unknown owner %s; did you mean %s?", j.ManagedBy, meant),
					Evidence: []string{notWritten(j), fmt.Sprintf("it is %s %s, %s", how, meant, whose)},
					Remedy:   giveTo(j, meant),
				})
			}
		},
	}
}

// MeantOwner returns the known owner whose name was probably mistyped, "" if none looks like it
// or the name is known.
func MeantOwner(typed delegation.Owner) delegation.Owner {
	known := knownOwners()
	if typed.IsBuiltIn() || known.Has(typed) {
		return ""
	}
	return nearestOwner(typed, known)
}

// nearestOwner is the one of the known owners that was probably meant, "" if none
// looks like it. Owners have long names with much in common, so that only a
// letter or two make a mistake; where the whole name has the letters of another
// one in another case, or other separators, it is one too.
func nearestOwner(typed delegation.Owner, known sets.Set[delegation.Owner]) delegation.Owner {
	const mistakes = 2
	var nearest delegation.Owner
	least := mistakes + 1
	for _, owner := range sets.List(known) {
		if owner.IsBuiltIn() {
			continue
		}
		distance := levenshtein.ComputeDistance(plain(typed), plain(owner))
		if distance < least {
			nearest, least = owner, distance
		}
	}
	return nearest
}

// plain is a name without what people do not remember of it.
func plain(o delegation.Owner) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(string(o)))
}

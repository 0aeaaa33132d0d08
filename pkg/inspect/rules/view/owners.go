package view

import (
	"strings"

	"github.com/agnivade/levenshtein"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// KnownOwners returns the values of managedBy that known controllers, of any kind, respond to.
func KnownOwners() sets.Set[delegation.Owner] {
	known := sets.New(delegation.BuiltIn, delegation.MultiKueue, delegation.Dispatch)
	for _, row := range delegation.Kinds() {
		if row.Reserved != "" {
			known.Insert(delegation.Owner(row.Reserved))
		}
	}
	return known
}

// NearestOwner returns the known owner that a mistyped name probably means, "" if none looks
// like it. Owners have long names with much in common, so the names may differ by two letters
// only. Case and separators do not count.
func NearestOwner(typed delegation.Owner, known sets.Set[delegation.Owner]) delegation.Owner {
	const mistakes = 2
	var nearest delegation.Owner
	least := mistakes + 1
	for _, owner := range sets.List(known) {
		if owner.IsBuiltIn() {
			continue
		}
		distance := levenshtein.ComputeDistance(PlainName(typed), PlainName(owner))
		if distance < least {
			nearest, least = owner, distance
		}
	}
	return nearest
}

// PlainName returns the name of an owner without its case and separators, which people
// confuse.
func PlainName(o delegation.Owner) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(string(o)))
}

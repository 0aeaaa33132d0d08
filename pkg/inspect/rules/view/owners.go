package view

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
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
// like it. Case and separators do not count.
func NearestOwner(typed delegation.Owner, known sets.Set[delegation.Owner]) delegation.Owner {
	var names, owners []string
	for _, owner := range sets.List(known) {
		if !owner.IsBuiltIn() {
			names, owners = append(names, PlainName(owner)), append(owners, string(owner))
		}
	}
	if at := slices.Index(names, inspect.NearestName(PlainName(typed), names)); at >= 0 {
		return delegation.Owner(owners[at])
	}
	return ""
}

// PlainName returns the name of an owner without its case and separators, which people
// confuse.
func PlainName(o delegation.Owner) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(string(o)))
}

package delegation

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"k8s.io/apimachinery/pkg/util/sets"
)

// KnownOwners returns the values of managedBy that known controllers, of any kind, respond to.
func KnownOwners() sets.Set[Owner] {
	known := sets.New(BuiltIn, MultiKueue, Dispatch)
	for _, row := range Kinds() {
		if row.Reserved != "" {
			known.Insert(Owner(row.Reserved))
		}
	}
	return known
}

// NearestOwner returns the known owner that a mistyped name probably means, "" if none looks
// like it. Case and separators do not count.
func NearestOwner(typed Owner, known sets.Set[Owner]) Owner {
	var names, owners []string
	for _, owner := range sets.List(known) {
		if !owner.IsBuiltIn() {
			names, owners = append(names, PlainName(owner)), append(owners, string(owner))
		}
	}
	if at := slices.Index(names, NearestName(PlainName(typed), names)); at >= 0 {
		return Owner(owners[at])
	}
	return ""
}

// PlainName returns the name of an owner without its case and separators, which people
// confuse.
func PlainName(o Owner) string {
	return strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(string(o)))
}

// SuggestOwner returns the known owner that a mistyped name resembles. It
// returns "" if the name is known, or resembles none.
func SuggestOwner(typed Owner) Owner {
	known := KnownOwners()
	if typed.IsBuiltIn() || known.Has(typed) {
		return ""
	}
	return NearestOwner(typed, known)
}

// NearestName returns the name that a mistyped one probably means, "" if none looks like it. Names
// are long and have much in common, so they may differ by two letters only.
func NearestName(typed string, names []string) string {
	const mistakes = 2
	found, least := "", mistakes+1
	for _, name := range names {
		// In a short name, two other letters are another name.
		if distance := levenshtein.ComputeDistance(typed, name); distance < least && distance < len(name) {
			found, least = name, distance
		}
	}
	return found
}

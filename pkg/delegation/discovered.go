package delegation

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// DiscoveredKind is a kind that no row of the table names, as its schema tells of
// it. Its status reads by the conditions that many kinds have in common
// (kubernetes community: https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md, "Typical status properties"; the
// kinds of the table), and is Unknown where none of these shows.
func DiscoveredKind(gvk schema.GroupVersionKind, plural string, shortNames, managedBy []string) Kind {
	return Kind{
		Name:       strings.ToLower(gvk.Kind),
		ShortNames: shortNames,
		Kind:       gvk.Kind,
		Resource:   gvk.GroupVersion().WithResource(plural),
		ManagedBy:  managedBy,
		// Nobody knows what guards it.
		Change: Always,
		Reading: Reading{
			Complete:  []Sign{condition("Complete"), condition("Completed"), condition("Succeeded")},
			Failed:    []Sign{condition("Failed"), {Condition: "Succeeded", Is: "False"}},
			Suspended: []Sign{condition("Suspended")},
			Running:   []Sign{condition("Running")},
			Strict:    true,
		},
		Discovered: true,
	}
}

// Fields are the paths of all fields that an object's owner and state are read
// from.
func (k Kind) Fields() [][]string {
	fields := [][]string{{"status", "conditions"}, k.ManagedBy, k.Reading.Start, k.Reading.End, k.PodValue, k.TTL()}
	if k.Template {
		fields = append(fields, Concurrency())
	}
	for _, signs := range [][]Sign{k.Reading.Held, k.Reading.Complete, k.Reading.Failed, k.Reading.Suspended, k.Reading.Running} {
		fields = append(fields, fieldsOf(signs)...)
	}
	return fields
}

// Concurrency is the path of the field of a template that says whether a run begins
// while an earlier one has not ended.
func Concurrency() []string { return []string{"spec", "concurrencyPolicy"} }

func fieldsOf(signs []Sign) [][]string {
	var fields [][]string
	for _, sign := range signs {
		fields = append(fields, sign.Path)
		fields = append(fields, fieldsOf(sign.With)...)
		fields = append(fields, fieldsOf(sign.Unless)...)
	}
	return fields
}

// TTL is the path of the field that says after how many seconds an object is
// deleted once it has finished: all kinds that have one have it beside managedBy.
func (k Kind) TTL() []string {
	if k.IsUnmanaged() || k.Template {
		return nil
	}
	last := len(k.ManagedBy) - 1
	return slices.Concat(k.ManagedBy[:last], []string{"ttlSecondsAfterFinished"})
}

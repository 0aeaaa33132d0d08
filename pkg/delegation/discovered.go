package delegation

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// DiscoveredKind returns a kind that is not in the table, as its schema describes it. Its status
// is derived from the conditions that many kinds share (kubernetes community:
// https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md,
// "Typical status properties"; the kinds of the table). Without any of these, it is Unknown.
func DiscoveredKind(gvk schema.GroupVersionKind, plural string, shortNames, managedBy []string) Kind {
	return Kind{
		Name:       strings.ToLower(gvk.Kind),
		ShortNames: shortNames,
		Kind:       gvk.Kind,
		Resource:   gvk.GroupVersion().WithResource(plural),
		ManagedBy:  managedBy,
		// It is unknown what validates the field.
		Change: Always,
		Indicators: Indicators{
			Complete:  []Indicator{condition("Complete"), condition("Completed"), condition("Succeeded")},
			Failed:    []Indicator{condition("Failed"), {Condition: "Succeeded", ConditionStatus: "False"}},
			Suspended: []Indicator{condition("Suspended")},
			Running:   []Indicator{condition("Running")},
			Strict:    true,
		},
		Discovered: true,
	}
}

// Fields returns the paths of all fields that determine an object's owner and state.
func (k Kind) Fields() [][]string {
	by, restarts := k.Indicators.Explanation, k.Indicators.Restarts
	fields := [][]string{{"status", "conditions"}, k.ManagedBy, k.Indicators.Start, k.Indicators.End, k.PodValue, k.TTL(), by.Reason, by.Message, restarts.Limit}
	fields = append(fields, restarts.Counts...)
	if k.Template {
		fields = append(fields, Concurrency(), k.QueueLabel)
	}
	for _, indicators := range [][]Indicator{k.Indicators.Suspend, k.Indicators.Complete, k.Indicators.Failed, k.Indicators.Suspended, k.Indicators.Running, k.Indicators.Invalid, by.Conditions, restarts.Now} {
		fields = append(fields, fieldsOf(indicators)...)
	}
	return fields
}

// Concurrency returns the path of the field of a template that says whether a run may start
// before an earlier one has ended.
func Concurrency() []string { return []string{"spec", "concurrencyPolicy"} }

// fieldsOf returns the paths in indicators.
func fieldsOf(indicators []Indicator) [][]string {
	var fields [][]string
	for _, indicator := range indicators {
		fields = append(fields, indicator.Path)
		fields = append(fields, fieldsOf(indicator.AllOf)...)
		fields = append(fields, fieldsOf(indicator.NoneOf)...)
	}
	return fields
}

// TTL returns the path of the field with the number of seconds after which a finished object is
// deleted. All kinds that have this field have it next to managedBy.
func (k Kind) TTL() []string {
	if k.IsUnmanaged() || k.Template {
		return nil
	}
	last := len(k.ManagedBy) - 1
	return slices.Concat(k.ManagedBy[:last], []string{"ttlSecondsAfterFinished"})
}

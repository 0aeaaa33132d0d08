package delegation

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of object that can be delegated. It is data: what differs
// from kind to kind stands in a value of this type, and nowhere else.
type Kind struct {
	// Name is the singular, lower-case name, as --kinds takes it.
	Name string
	// ShortNames are other names that --kinds takes, besides the plural.
	ShortNames []string
	// Kind is the name as it stands in an object's kind field.
	Kind string
	// Resource is where the API server serves it; its Resource is the plural.
	Resource schema.GroupVersionResource
	// ManagedBy is the path of the field that names the owner.
	ManagedBy []string
	// Reserved is the value of that field which means the same as no value.
	Reserved string
	// Conditions are the condition types that tell its state.
	Conditions Conditions
	// PodLabel is the label that its pods carry, with the object's name as
	// its value.
	PodLabel string
}

// Conditions are the types of those status conditions of a kind that decide
// its Status. An empty type is never met.
type Conditions struct {
	Complete, Failed, Suspended string
}

// jobKind is the built-in batch/v1 Job (reference: KEP-4368).
var jobKind = Kind{
	Name:       "job",
	Kind:       "Job",
	Resource:   schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"},
	ManagedBy:  []string{"spec", "managedBy"},
	Reserved:   "kubernetes.io/job-controller",
	Conditions: Conditions{Complete: "Complete", Failed: "Failed", Suspended: "Suspended"},
	PodLabel:   "batch.kubernetes.io/job-name",
}

// Job returns the row of the built-in batch/v1 Job.
func Job() Kind { return jobKind }

// Kinds returns the table of known kinds, in the order in which they are
// shown.
func Kinds() []Kind { return []Kind{jobKind} }

// KindNamed finds a known kind by what a user calls it: singular, plural,
// short name, or any of these with the group behind a dot ("jobs.batch").
func KindNamed(name string) (Kind, bool) {
	name = strings.ToLower(name)
	for _, k := range Kinds() {
		short := strings.TrimSuffix(name, "."+k.Resource.Group)
		if short == k.Name || short == k.Resource.Resource || slices.Contains(k.ShortNames, short) {
			return k, true
		}
	}
	return Kind{}, false
}

// KindOf finds the known kind that objects of that name are of, whatever their
// version.
func KindOf(gvk schema.GroupVersionKind) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Kind == gvk.Kind && k.Resource.Group == gvk.Group {
			return k, true
		}
	}
	return Kind{}, false
}

// GroupVersionKind is the kind as objects of it name themselves.
func (k Kind) GroupVersionKind() schema.GroupVersionKind {
	return k.Resource.GroupVersion().WithKind(k.Kind)
}

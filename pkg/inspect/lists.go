package inspect

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// KindList lists the kinds that clusters serve and that can be delegated.
type KindList struct {
	metav1.TypeMeta `json:",inline"`
	// Items are the kinds that can be delegated.
	Items []ServedKind `json:"items"`
	// Unchecked is what the list depends on and could not be read.
	Unchecked []Unchecked `json:"unchecked"`
	// Errors are the contexts that were not read completely.
	Errors []ContextError `json:"errors"`
}

// ServedKind is a kind as one cluster serves it.
type ServedKind struct {
	// Context is the context of the cluster that serves the kind.
	Context string `json:"context"`
	// ClusterUID identifies the cluster.
	ClusterUID string `json:"clusterUID"`
	// Kind is the name of the kind.
	Kind string `json:"kind"`
	// APIVersion is the version in which the kind is read.
	APIVersion string `json:"apiVersion"`
	// Resource is the plural and group of the kind, in the form that kubectl and --kinds use.
	Resource string `json:"resource"`
	// ManagedBy is the path of the field that names the owner, with dots; "" if the cluster serves
	// only versions without the field.
	ManagedBy string `json:"managedBy"`
	// Template is whether the field names the owner of objects that this object creates, and not
	// its own.
	Template bool `json:"template"`
	// Allowed are the values that the field may have; null means any.
	Allowed []delegation.Owner `json:"allowed"`
	// Reserved is the value that means the same as no owner; "" if unknown.
	Reserved string `json:"reserved"`
	// Defaulted is whether the API server writes Reserved if the field is not set.
	Defaulted bool `json:"defaulted"`
	// Change reports whether the field can be changed later.
	Change delegation.Change `json:"change"`
	// Discovered is whether the kind is known from its schema only, so that its status is read from
	// conditions that many kinds have in common.
	Discovered bool `json:"discovered"`
	// Since is the first version of the kind's controller that supports the field; "" if unknown.
	Since string `json:"since"`
	// Owners are the owners of objects of this kind, by name, the built-in one last; null if
	// objects were not counted.
	Owners []KindOwner `json:"owners"`
}

// KindOwner counts the objects of a kind that have one owner.
type KindOwner struct {
	// ManagedBy is the owner.
	ManagedBy delegation.Owner `json:"managedBy"`
	// BuiltIn is whether the owner is the built-in controller of the kind.
	BuiltIn bool `json:"builtIn"`
	// Count is how many objects the owner has.
	Count int `json:"count"`
}

// KindOwners returns counts of objects by owner, in the order of lists.
func KindOwners(counts map[delegation.Owner]int) []KindOwner {
	owners := []KindOwner{}
	for _, owner := range slices.SortedFunc(maps.Keys(counts), byOwner) {
		owners = append(owners, KindOwner{ManagedBy: owner, BuiltIn: owner.IsBuiltIn(), Count: counts[owner]})
	}
	return owners
}

// NewKindList returns an empty list.
func NewKindList() *KindList {
	return &KindList{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: "KindList"},
		Items:    []ServedKind{}, Unchecked: []Unchecked{}, Errors: []ContextError{},
	}
}

// DeepCopyObject returns a copy that shares no mutable part with l.
func (l *KindList) DeepCopyObject() runtime.Object {
	c := &KindList{TypeMeta: l.TypeMeta, Items: slices.Clone(l.Items), Unchecked: slices.Clone(l.Unchecked), Errors: slices.Clone(l.Errors)}
	for i := range c.Items {
		k := &c.Items[i]
		k.Allowed, k.Owners = slices.Clone(k.Allowed), slices.Clone(k.Owners)
	}
	return c
}

// CodeList describes the codes of findings.
type CodeList struct {
	metav1.TypeMeta `json:",inline"`
	// Items are the codes, in the order of their numbers.
	Items []CodeDescription `json:"items"`
}

// CodeDescription describes what a finding with one code means.
type CodeDescription struct {
	// Code is the code. A code is never reused for another problem.
	Code string `json:"code"`
	// Severity is the usual severity of its findings.
	Severity Severity `json:"severity"`
	// Title names the problem in a few words.
	Title string `json:"title"`
	// Why says what causes the problem.
	Why string `json:"why"`
	// Shows says what users see of the problem.
	Shows string `json:"shows"`
	// Remedy says what to do.
	Remedy string `json:"remedy"`
	// Docs is the address of the page about the code, as in a finding.
	Docs string `json:"docs"`
	// Link is the address of documentation or a discussion elsewhere.
	Link string `json:"link"`
}

// NewCodeList returns an empty list with its kind set.
func NewCodeList() *CodeList {
	return &CodeList{
		TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: "CodeList"},
		Items:    []CodeDescription{},
	}
}

// DeepCopyObject makes a CodeList a runtime.Object, for printers.
func (l *CodeList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = append([]CodeDescription(nil), l.Items...)
	return &c
}

package inspect

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// KindList is the kinds that clusters serve and that can be delegated.
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
	// Context is where the kind is served.
	Context string `json:"context"`
	// ClusterUID identifies the cluster.
	ClusterUID string `json:"clusterUID"`
	// Kind is the name of the kind.
	Kind string `json:"kind"`
	// APIVersion is the version in which it is read.
	APIVersion string `json:"apiVersion"`
	// Resource is its plural and group, as kubectl and --kinds take it.
	Resource string `json:"resource"`
	// ManagedBy is the path of the field that names the owner, with dots; "" where the
	// cluster serves the kind in versions that do not have it.
	ManagedBy string `json:"managedBy"`
	// Template says that the field names the owner of what is made of an object, and
	// not of itself.
	Template bool `json:"template"`
	// Allowed are the values that the field may have; null means any.
	Allowed []delegation.Owner `json:"allowed"`
	// Reserved is the value that means the same as none, "" where that is not known;
	// Defaulted says that it is written where there is none.
	Reserved string `json:"reserved"`
	// Defaulted is the owner that the schema sets by default; empty if none.
	Defaulted bool `json:"defaulted"`
	// Change says whether the field can be changed later.
	Change delegation.Change `json:"change"`
	// Discovered says that its schema alone tells of it, so that its status is read by
	// the conditions that many kinds have in common.
	Discovered bool `json:"discovered"`
	// Since is the first version of its controller that heeds the field, "" where that
	// is not known.
	Since string `json:"since"`
	// Owners are those that objects have, delegated ones by name, then the built-in
	// one; null where objects were not or could not be counted.
	Owners []KindOwner `json:"owners"`
}

// KindOwner is how many objects of a kind have an owner.
type KindOwner struct {
	// ManagedBy is the owner.
	ManagedBy delegation.Owner `json:"managedBy"`
	// BuiltIn is whether the reserved value of the kind is the owner.
	BuiltIn bool `json:"builtIn"`
	// Count is how many objects it has.
	Count int `json:"count"`
}

// KindOwners are counts of objects by their owners, in the order in which they are told.
func KindOwners(counts map[delegation.Owner]int) []KindOwner {
	owners := []KindOwner{}
	for _, owner := range slices.SortedFunc(maps.Keys(counts), byOwner) {
		owners = append(owners, KindOwner{ManagedBy: owner, BuiltIn: owner.IsBuiltIn(), Count: counts[owner]})
	}
	return owners
}

// NewKindList makes an empty list.
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

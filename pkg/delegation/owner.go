package delegation

// Owner is the controller that an object's managedBy field names: a
// domain-prefixed path such as "kueue.x-k8s.io/multikueue", or BuiltIn.
type Owner string

const (
	// BuiltIn is the owner of every object that is not delegated. A managedBy that is unset,
	// empty, or the kind's reserved value means this owner (KEP-4368, "Skip reconciliation").
	BuiltIn Owner = "built-in"

	// MultiKueue is the owner of objects that Kueue dispatches to worker
	// clusters (kueue: apis/kueue/v1beta2/multikueue_types.go).
	MultiKueue Owner = "kueue.x-k8s.io/multikueue"

	// Dispatch is our own owner value.
	Dispatch Owner = "jobmanagedby.github.io/dispatch"
)

// IsBuiltIn reports whether the kind's own controller reconciles the object.
func (o Owner) IsBuiltIn() bool { return o == BuiltIn }

// MustLeaveQueue reports whether an object in a queue, "" for none, must leave it to be created for an owner: MultiKueue
// rejects objects of other owners in its queues (kueue: pkg/controller/admissionchecks/multikueue, IsJobManagedByKueue),
// and an object that is dispatched by hand needs no queue.
func (o Owner) MustLeaveQueue(queue string, mayBeMultiKueue bool) bool {
	return queue != "" && o != MultiKueue && (o == Dispatch || mayBeMultiKueue)
}

// OwnerOf returns the owner for the value of an object's managedBy field, or "" if the field is
// unset.
func (k Kind) OwnerOf(managedBy string) Owner {
	if managedBy == "" || managedBy == k.Reserved {
		return BuiltIn
	}
	return Owner(managedBy)
}

// NamesBuiltIn reports whether the value of an object's managedBy field is the one that is reserved for
// the built-in controller.
func (k Kind) NamesBuiltIn(managedBy string) bool { return managedBy != "" && managedBy == k.Reserved }

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
	// ManagedBy is the path of the field that names the owner; nil where a kind has
	// no such field, and MultiKueue moves it all the same (Unmanaged).
	ManagedBy []string
	// Template says that the field stands in a template: it names the owner of the
	// objects that will be made of it, and says nothing of the object itself.
	Template bool
	// Reserved is the value of that field which means the same as no value.
	Reserved string
	// Defaulted says that the API server writes Reserved where the field is unset,
	// so that it is never empty.
	Defaulted bool
	// Allowed are the values that the API server, or the kind's own webhook, lets
	// the field have; none means that it may have any.
	Allowed []Owner
	// Change says whether the field can be changed later.
	Change Change
	// Since is the first version of its controller that heeds the field, such as
	// "KubeRay v1.3.0"; "" where that is not known.
	Since string
	// Ignored says which versions of its controller have the field and do not heed
	// it, so that both clusters run what is delegated; "" for none.
	Ignored string
	// Blind are versions of the API, served beside Resource's, that do not have the
	// field: what is written through them loses it.
	Blind []string
	// Reading is how its status tells its state.
	Reading Reading
	// PodLabel is the label that its pods carry; "" where they carry none.
	PodLabel string
	// PodValue is the path of the field that has the label's value; nil means the
	// object's name.
	PodValue []string
	// Loses are the paths of fields, besides ManagedBy, that a copy for another
	// cluster must not have.
	Loses [][]string
	// Claims is the path, through lists, of templates of PersistentVolumeClaims that its
	// controller makes; to pods that mount one by its name it adds the volume. Nil for
	// none.
	Claims []string
	// RayCluster is the path of the specification of a RayCluster, which Ray's own
	// autoscaler sizes where it is told to; nil where there is none.
	RayCluster []string
	// HeldAtOnce says that its controller takes an object that is held back from the moment
	// it is created on, whatever else its spec says: Kueue creates and queues the kind so.
	HeldAtOnce bool
	// PodCounts are the paths of the fields of its spec that say how many pods it wants; "*"
	// stands for every key. Kueue admits an object for as many as it had then.
	PodCounts [][]string
	// Selector is the label selector that picks those objects of a kind which can be
	// delegated at all; "" means all of them.
	Selector string
	// Unsynced says that MultiKueue never copies the status back, because the origin's
	// own controller would overwrite it.
	Unsynced bool
	// OtherTTL says that ttlSecondsAfterFinished does not delete the object, but what
	// it has made.
	OtherTTL bool
	// Discovered says that the kind is in no table: it was found by its schema.
	Discovered bool
	// WithoutField says that a cluster serves it without the field, as an old version of
	// its controller does: what is written there is dropped without a word. A mirror, which
	// has no owner, may well be there.
	WithoutField bool
}

// Change says whether a kind's managedBy can be changed once an object is there.
type Change string

const (
	// Never: the API server refuses it.
	Never Change = "never"
	// ByWebhook: a webhook of the kind's own refuses it, where it is installed.
	ByWebhook Change = "webhook"
	// WhileSet: one value cannot be replaced by another, but it can be removed, and
	// set anew after that: transition rules are skipped where a value is absent.
	WhileSet Change = "while-set"
	// Always: nothing refuses it.
	Always Change = "always"
)

// Changes returns all of them.
func Changes() []Change { return []Change{Never, ByWebhook, WhileSet, Always} }

// Job returns the row of the built-in batch/v1 Job.
func Job() Kind { return jobKind }

// Kinds returns the table of known kinds, in the order in which they are
// shown. Where a kind has several versions that differ, each has a row, the
// preferred one first.
func Kinds() []Kind { return slices.Clone(kinds) }

// kinds is the table.
var kinds = slices.Concat(batchKinds(), jobSetKinds(), kubeflowKinds(), rayKinds(), appWrapperKinds(), tektonKinds(), unmanagedKinds())

// KindNamed finds a known kind by what a user calls it: singular, plural,
// short name, or any of these with the group behind a dot ("jobs.batch").
func KindNamed(name string) (Kind, bool) {
	for _, k := range kinds {
		if k.IsNamed(name) {
			return k, true
		}
	}
	return Kind{}, false
}

// IsNamed says whether a user may mean the kind by a name, in any case: see
// KindNamed.
func (k Kind) IsNamed(name string) bool {
	short := strings.TrimSuffix(strings.ToLower(name), "."+k.Resource.Group)
	return short == k.Name || short == k.Resource.Resource || slices.Contains(k.ShortNames, short)
}

// KindOf finds the known kind that objects of that name are of: the row of their
// version, or else of any other.
func KindOf(gvk schema.GroupVersionKind) (Kind, bool) {
	var found Kind
	for _, k := range kinds {
		if k.Kind != gvk.Kind || k.Resource.Group != gvk.Group {
			continue
		}
		if k.Resource.Version == gvk.Version {
			return k, true
		}
		if found.Kind == "" {
			found = k
		}
	}
	return found, found.Kind != ""
}

// GroupVersionKind is the kind as objects of it name themselves.
func (k Kind) GroupVersionKind() schema.GroupVersionKind {
	return k.Resource.GroupVersion().WithKind(k.Kind)
}

// IsJob says whether it is the built-in batch/v1 Job, whose status the API server
// validates, and whose pods are counted in it.
func (k Kind) IsJob() bool { return k.Resource.GroupResource() == jobKind.Resource.GroupResource() }

// IsUnmanaged says whether the kind has no field that names an owner.
func (k Kind) IsUnmanaged() bool { return len(k.ManagedBy) == 0 }

// Allows says whether the field can have a value. That the kind's own webhook may
// not be installed is not considered.
func (k Kind) Allows(owner Owner) bool {
	switch {
	case k.IsUnmanaged():
		return false
	case owner.IsBuiltIn(), len(k.Allowed) == 0:
		return true
	}
	return slices.Contains(k.Allowed, owner)
}

// ResourceName is the kind's resource as kubectl writes it; of a Job, without the group.
func (k Kind) ResourceName() string {
	if k.IsJob() {
		return k.Resource.Resource
	}
	return k.Resource.GroupResource().String()
}

// String is the kind as kubectl writes it in the names of objects, such as
// "jobset.jobset.x-k8s.io".
func (k Kind) String() string {
	if k.Resource.Group == "" {
		return k.Name
	}
	return k.Name + "." + k.Resource.Group
}

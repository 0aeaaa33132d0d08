package delegation

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of object that can be delegated. It is data: all differences between kinds are
// values of this type.
type Kind struct {
	// Name is the singular, lower-case name, as for --kinds.
	Name string
	// ShortNames are other names for --kinds, besides the plural.
	ShortNames []string
	// Kind is the value of an object's kind field.
	Kind string
	// Resource is the resource in the API server. Its Resource is the plural.
	Resource schema.GroupVersionResource
	// ManagedBy is the path of the field that names the owner; nil for a kind without such a
	// field that MultiKueue moves anyway (Unmanaged).
	ManagedBy []string
	// Template is whether the field is inside a template: it names the owner of the objects
	// created from the template, and says nothing about the object itself.
	Template bool
	// QueueLabel is the path of the queue label that a template gives to the objects created from it; nil if it
	// gives them none.
	QueueLabel []string
	// Reserved is the value of that field that is equivalent to no value.
	Reserved string
	// Defaulted is whether the API server sets an unset field to Reserved, so that it is never
	// empty.
	Defaulted bool
	// Allowed are the values that the API server, or the kind's own webhook, allows for the
	// field; none means any value.
	Allowed []Owner
	// Change reports whether the field can change later.
	Change Change
	// Since is the first version of the controller that respects the field, such as "KubeRay
	// v1.3.0"; "" if unknown.
	Since string
	// Ignored are the versions of the controller that have the field and ignore it, so that both
	// clusters run a delegated object; "" for none.
	Ignored string
	// VersionsWithoutField are API versions, served besides that of Resource, that lack the
	// field: writing through them removes it.
	VersionsWithoutField []string
	// Indicators lists where an object of the kind shows its state.
	Indicators Indicators
	// CreatesJobs is whether its controller creates Jobs in its namespace, which a ResourceQuota may count.
	CreatesJobs bool
	// PodLabel is the label of its Pods; "" if they have none.
	PodLabel string
	// PodValue is the path of the field with the label's value; nil means the object's name.
	PodValue []string
	// HasSubmitter is whether a Job with the object's name may submit it. The Pods of that Job lack
	// PodLabel, and have the log of the submitted program (kuberay: rayjob_controller.go,
	// createNewK8sJob).
	HasSubmitter bool
	// Steps is the prefix of the names of containers that run one after the other in one of its
	// Pods, each with a part of the work; "" means that one container does the work.
	Steps string
	// LocalFields are the paths of fields, besides ManagedBy, that a copy for another cluster
	// must not have.
	LocalFields [][]string
	// References are the places in its spec that name other objects which its controller reads, in
	// addition to those in Pod templates.
	References []Reference
	// Claims is the path, through lists, of templates of PersistentVolumeClaims that its
	// controller creates. The controller adds the volume to Pods that mount a claim by name. Nil
	// means none.
	Claims []string
	// RayCluster is the path of the spec of a RayCluster, whose size Ray's own autoscaler may
	// change; nil if there is none.
	RayCluster []string
	// CanStartSuspended is whether its controller accepts any object that is created suspended,
	// as Kueue creates and queues them. Other kinds accept it only with some specs.
	CanStartSuspended bool
	// PodCounts are the paths of the spec fields with numbers of Pods. "*" matches every key.
	// Kueue admits an object for the numbers at that time.
	PodCounts [][]string
	// Selector is the label selector of the objects that can be delegated at all; "" means all.
	Selector string
	// NoStatusSync is whether MultiKueue never copies the status back, because the origin's own
	// controller would overwrite it.
	NoStatusSync bool
	// OtherTTL is whether ttlSecondsAfterFinished deletes what the object has created, instead of
	// the object.
	OtherTTL bool
	// Integration is the program that queues objects of the kind with Kueue, and resumes them; "" for Kueue itself, as far
	// as integrations.frameworks of its configuration enables the kind.
	Integration string
	// Discovered is whether the kind is not in the table, and was found by its schema.
	Discovered bool
	// WithoutField is whether a cluster serves the kind without the field, as an old version of
	// its controller does: the server silently drops it. A mirror has no owner, so it may exist
	// there.
	WithoutField bool
}

// Change reports whether a kind's managedBy can change after the object's creation.
type Change string

const (
	// Never: the API server refuses changes.
	Never Change = "never"
	// ByWebhook: the kind's own webhook, if installed, refuses changes.
	ByWebhook Change = "webhook"
	// WhileSet: a value cannot be replaced, but it can be removed and then set again, because
	// transition rules do not apply to absent values.
	WhileSet Change = "while-set"
	// Always: nothing refuses changes.
	Always Change = "always"
)

// Changes returns all values of Change.
func Changes() []Change { return []Change{Never, ByWebhook, WhileSet, Always} }

// Job returns the row of the built-in batch/v1 Job.
func Job() Kind { return jobKind }

// Kinds returns the table of known kinds, in the order of display. If versions of a kind differ,
// each has a row, the preferred one first.
func Kinds() []Kind { return slices.Clone(kinds) }

// kinds is the table.
var kinds = slices.Concat(batchKinds(), jobSetKinds(), kubeflowKinds(), rayKinds(), appWrapperKinds(), tektonKinds(), unmanagedKinds())

// KindNamed returns the known kind with a name: singular, plural, short name, or any of these
// with the group after a dot ("jobs.batch"), or with the version and the group ("jobs.v1.batch").
func KindNamed(name string) (Kind, bool) {
	for _, k := range kinds {
		if k.IsNamed(name) {
			return k, true
		}
	}
	return Kind{}, false
}

// IsNamed reports whether a name means the kind, ignoring case: see KindNamed.
func (k Kind) IsNamed(name string) bool {
	short, group := SplitKindName(name)
	return (group == "" || group == k.Resource.Group) && (short == k.Name || short == k.Resource.Resource || slices.Contains(k.ShortNames, short))
}

// SplitKindName splits the name of a kind into its first word and its group, which is "" if the name has
// none. It drops a version, because a server has the same objects in each version.
func SplitKindName(name string) (short, group string) {
	short, group, _ = strings.Cut(strings.ToLower(name), ".")
	if version, rest, hasVersion := strings.Cut(group, "."); hasVersion && isVersion.MatchString(version) {
		group = rest
	}
	return short, group
}

// isVersion matches a version of an API, such as v1beta2. The first word of a group is none, unless the
// group is named like a version.
var isVersion = regexp.MustCompile(`^v\d+((alpha|beta)\d+)?$`)

// KindOf returns the known kind of objects: the row of their version, otherwise of any other
// version.
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

// GroupVersionKind returns the kind as its objects name it.
func (k Kind) GroupVersionKind() schema.GroupVersionKind {
	return k.Resource.GroupVersion().WithKind(k.Kind)
}

// IsJob reports whether this is the built-in batch/v1 Job. The API server validates its status,
// which counts its Pods.
func (k Kind) IsJob() bool { return k.Resource.GroupResource() == jobKind.Resource.GroupResource() }

// IsUnmanaged reports whether the kind has no field that names an owner.
func (k Kind) IsUnmanaged() bool { return len(k.ManagedBy) == 0 }

// Allows reports whether the field can have a value. It assumes that the kind's own webhook is
// installed.
func (k Kind) Allows(owner Owner) bool {
	switch {
	case k.IsUnmanaged():
		return false
	case owner.IsBuiltIn(), len(k.Allowed) == 0:
		return true
	}
	return slices.Contains(k.Allowed, owner)
}

// ResourceName returns the kind's resource in kubectl's notation; for Jobs, without the group.
func (k Kind) ResourceName() string {
	if k.IsJob() {
		return k.Resource.Resource
	}
	return k.Resource.GroupResource().String()
}

// String returns the kind as in kubectl's names of objects, such as "jobset.jobset.x-k8s.io".
func (k Kind) String() string {
	if k.Resource.Group == "" {
		return k.Name
	}
	return k.Name + "." + k.Resource.Group
}

// TemplatePath returns the path of the template from which objects of the kind create others, like
// "spec.jobTemplate", "" if the kind has none.
func (k Kind) TemplatePath() string {
	const depth = 2
	if !k.Template || len(k.ManagedBy) <= depth {
		return ""
	}
	return strings.Join(k.ManagedBy[:depth], ".")
}

package delegation

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Labels and annotations that tie an object to its copy on another cluster.
const (
	// MultiKueueOriginLabel is on every object that MultiKueue makes on a worker
	// cluster; its value is the origin name in the manager's configuration
	// (kueue: apis/kueue/v1beta2/multikueue_types.go). Nothing but MultiKueue may
	// ever put it on anything.
	MultiKueueOriginLabel = "kueue.x-k8s.io/multikueue-origin"
	// PrebuiltWorkload names the Workload that a mirror of MultiKueue runs
	// under: an annotation from Kueue 0.18 on, a label before (kueue:
	// pkg/controller/jobframework/utils.go).
	PrebuiltWorkload = "kueue.x-k8s.io/prebuilt-workload-name"
	// JobUIDLabel is on the Workload that Kueue makes for an object: its uid (kueue:
	// pkg/controller/constants/constants.go).
	JobUIDLabel = "kueue.x-k8s.io/job-uid"
	// PriorityClassLabel names the WorkloadPriorityClass of an object (kueue:
	// pkg/controller/constants/constants.go).
	PriorityClassLabel = "kueue.x-k8s.io/priority-class"
	// QueueNameLabel names the LocalQueue that an object is submitted to.
	QueueNameLabel = "kueue.x-k8s.io/queue-name"
	// ElasticMark, an annotation, if "true" says that an object may change its size while
	// it runs, which makes a new Workload each time.
	ElasticMark = "kueue.x-k8s.io/elastic-job"
	// RayGenerationAnnotation is on elastic objects of Ray that their own autoscaler sizes:
	// the generation of the RayCluster, with its uid in front on a manager. It is in the names of their Workloads
	// (kueue: pkg/controller/jobs/raycluster/common.go, from 0.17 on).
	RayGenerationAnnotation = "kueue.x-k8s.io/raycluster-generation"

	// MultiKueueOriginUIDAnnotation is on the mirrors of kinds without managedBy: the
	// origin's uid (docs/reference/multikueue.md#markers).
	MultiKueueOriginUIDAnnotation = "kueue.x-k8s.io/multikueue-origin-uid"
	// PodGroupLabel names the group of pods that a pod is one of; their Workload has
	// the group's name.
	PodGroupLabel = "kueue.x-k8s.io/pod-group-name"

	// OriginUIDLabel is on the mirrors that dispatch makes: the origin's uid.
	OriginUIDLabel = "jobmanagedby.github.io/origin-uid"
	// OriginAnnotation is on the same: "<cluster>/<namespace>/<name>", as Place.String
	// writes it.
	OriginAnnotation = "jobmanagedby.github.io/origin"
	// MirrorAnnotation is on their origins: "<cluster>/<namespace>/<name>/<uid>". It says
	// where to look for the mirror. It is no proof that the object there is the mirror.
	MirrorAnnotation = "jobmanagedby.github.io/mirror"
	// TargetAnnotation is on Leases of dispatch: the Place of the mirror, without a uid,
	// written before the mirror is created.
	TargetAnnotation = "jobmanagedby.github.io/target"
	// CancelledAnnotation is on origins that cancel has ended where their status does not
	// say so: the origin's uid, with CancelledAbandoned behind it if the mirror was left.
	CancelledAnnotation = "jobmanagedby.github.io/cancelled"
)

// Marks are what an object's labels and annotations tell of its copies. Most
// objects have none.
type Marks struct {
	// MultiKueueOrigin, Prebuilt and Queue are the values of MultiKueueOriginLabel,
	// PrebuiltWorkload and QueueNameLabel.
	MultiKueueOrigin, Prebuilt, Queue string
	// MultiKueueOriginUID and PodGroup are those of MultiKueueOriginUIDAnnotation and
	// PodGroupLabel.
	MultiKueueOriginUID, PodGroup string
	// Elastic is whether ElasticMark is "true".
	Elastic bool
	// RayGeneration is the value of RayGenerationAnnotation.
	RayGeneration string
	// OriginUID is the value of OriginUIDLabel.
	OriginUID string
	// Origin is what OriginAnnotation names, without a uid; Mirror is what
	// MirrorAnnotation names. Both are zero where the annotation names no place.
	Origin, Mirror Place
	// BadOrigin and BadMirror are what these annotations say in that case. Anybody may
	// have written that, and anything may be in it.
	BadOrigin, BadMirror string
}

// MarksOf reads the marks off an object; nil if it has none.
func MarksOf(labels, annotations map[string]string) *Marks {
	m := Marks{
		MultiKueueOrigin: labels[MultiKueueOriginLabel],
		Prebuilt:         nameOf(cmp.Or(annotations[PrebuiltWorkload], labels[PrebuiltWorkload])),
		Queue:            labels[QueueNameLabel],
		PodGroup:         labels[PodGroupLabel],
		Elastic:          annotations[ElasticMark] == "true",
		RayGeneration:    annotations[RayGenerationAnnotation],
		OriginUID:        labels[OriginUIDLabel],

		MultiKueueOriginUID: uidOf(annotations[MultiKueueOriginUIDAnnotation]),
	}
	m.Origin, m.BadOrigin = markedPlace(annotations[OriginAnnotation], false)
	m.Mirror, m.BadMirror = markedPlace(annotations[MirrorAnnotation], true)
	if m == (Marks{}) {
		return nil
	}
	return &m
}

// IsMark says whether MarksOf looks at a label or annotation of that name.
func IsMark(key string) bool {
	switch key {
	case MultiKueueOriginLabel, MultiKueueOriginUIDAnnotation, PrebuiltWorkload, QueueNameLabel, PodGroupLabel, ElasticMark,
		RayGenerationAnnotation, OriginUIDLabel, OriginAnnotation, MirrorAnnotation:
		return true
	}
	return false
}

// nameOf is the name of an object that an annotation gives, "" for what is none.
func nameOf(value string) string {
	if len(validation.IsDNS1123Subdomain(value)) > 0 {
		return ""
	}
	return value
}

// uidOf is the uid that an annotation gives, "" for what is none. Uids are UUIDs to
// whoever makes them, and opaque to all others; they may be values of labels.
func uidOf(value string) string {
	if len(validation.IsValidLabelValue(value)) > 0 {
		return ""
	}
	return value
}

package delegation

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Labels and annotations that connect an object with its copy on another cluster.
const (
	// MultiKueueOriginLabel is on every object that MultiKueue creates on a worker cluster. Its
	// value is the origin name in the manager's configuration (kueue:
	// apis/kueue/v1beta2/multikueue_types.go). Only MultiKueue may set it.
	MultiKueueOriginLabel = "kueue.x-k8s.io/multikueue-origin"
	// PrebuiltWorkload names the Workload of a mirror of MultiKueue. It is an annotation since
	// Kueue 0.18, and was a label before (kueue: pkg/controller/jobframework/utils.go).
	PrebuiltWorkload = "kueue.x-k8s.io/prebuilt-workload-name"
	// JobUIDLabel is on the Workload that Kueue creates for an object: the object's UID (kueue:
	// pkg/controller/constants/constants.go).
	JobUIDLabel = "kueue.x-k8s.io/job-uid"
	// PriorityClassLabel names the WorkloadPriorityClass of an object (kueue:
	// pkg/controller/constants/constants.go).
	PriorityClassLabel = "kueue.x-k8s.io/priority-class"
	// QueueNameLabel names the LocalQueue that an object is submitted to.
	QueueNameLabel = "kueue.x-k8s.io/queue-name"
	// ElasticMark is an annotation. "true" means that an object may change its size while it
	// runs, which creates a new Workload each time.
	ElasticMark = "kueue.x-k8s.io/elastic-job"
	// StoppingAnnotation is on a Job that Kueue stops, until it has restored the Pod template. While it
	// is "true", Kueue counts the Job as not suspended (kueue: pkg/controller/jobs/job/job_controller.go).
	StoppingAnnotation = "kueue.x-k8s.io/stopping"
	// RayGenerationAnnotation is on elastic objects of Ray that Ray's own autoscaler scales. Its
	// value is the generation of the RayCluster, on a manager after its UID. It is in the names
	// of their Workloads (kueue: pkg/controller/jobs/raycluster/common.go, since 0.17).
	RayGenerationAnnotation = "kueue.x-k8s.io/raycluster-generation"

	// MultiKueueOriginUIDAnnotation is on the mirrors of kinds without managedBy: the origin's
	// UID (docs/reference/multikueue.md#markers).
	MultiKueueOriginUIDAnnotation = "kueue.x-k8s.io/multikueue-origin-uid"
	// PodGroupLabel names the group of a Pod. Its Workload has the group's name.
	PodGroupLabel = "kueue.x-k8s.io/pod-group-name"

	// OriginUIDLabel is on the mirrors that dispatch creates: the origin's UID.
	OriginUIDLabel = "jobmanagedby.github.io/origin-uid"
	// OriginAnnotation is on the same mirrors: "<cluster>/<namespace>/<name>", in the format of
	// Place.String.
	OriginAnnotation = "jobmanagedby.github.io/origin"
	// MirrorAnnotation is on their origins: "<cluster>/<namespace>/<name>/<uid>". It says where
	// to look for the mirror. It does not prove that the object there is the mirror.
	MirrorAnnotation = "jobmanagedby.github.io/mirror"
	// TargetAnnotation is on Leases of dispatch: the Place of the mirror without a UID, written
	// before the mirror is created.
	TargetAnnotation = "jobmanagedby.github.io/target"
	// CancelledAnnotation is on origins that cancel has ended, if their status cannot express
	// that, or if the mirror remains. Its value is that of CancelledMark.
	CancelledAnnotation = "jobmanagedby.github.io/cancelled"
	// abandonedSuffix follows the origin's UID in CancelledAnnotation if the mirror remains.
	abandonedSuffix = "/abandon-mirror"
)

// Marks are the facts about an object's copies in its labels and annotations. Most objects have
// none.
type Marks struct {
	// MultiKueueOrigin, Prebuilt and Queue are the values of MultiKueueOriginLabel,
	// PrebuiltWorkload and QueueNameLabel.
	MultiKueueOrigin, Prebuilt, Queue string
	// MultiKueueOriginUID and PodGroup are the values of MultiKueueOriginUIDAnnotation and
	// PodGroupLabel.
	MultiKueueOriginUID, PodGroup string
	// PriorityClass is the value of PriorityClassLabel.
	PriorityClass string
	// Elastic is whether ElasticMark is "true".
	Elastic bool
	// Stopping is whether StoppingAnnotation is "true".
	Stopping bool
	// RayGeneration is the value of RayGenerationAnnotation.
	RayGeneration string
	// OriginUID is the value of OriginUIDLabel.
	OriginUID string
	// Origin is the place in OriginAnnotation, without a UID. Mirror is the place in
	// MirrorAnnotation. Both are zero if the annotation is malformed.
	Origin, Mirror Place
	// Cancelled is the value of CancelledAnnotation, for ReadCancelledMark.
	Cancelled string
	// BadOrigin and BadMirror are the values of malformed annotations. Any user may have written
	// them, so they may contain anything.
	BadOrigin, BadMirror string
}

// MarksOf returns the marks of an object; nil if it has none.
func MarksOf(labels, annotations map[string]string) *Marks {
	m := Marks{
		MultiKueueOrigin: labels[MultiKueueOriginLabel],
		Prebuilt:         nameOf(cmp.Or(annotations[PrebuiltWorkload], labels[PrebuiltWorkload])),
		Queue:            labels[QueueNameLabel],
		PodGroup:         labels[PodGroupLabel],
		PriorityClass:    labels[PriorityClassLabel],
		Elastic:          annotations[ElasticMark] == "true",
		Stopping:         annotations[StoppingAnnotation] == "true",
		RayGeneration:    annotations[RayGenerationAnnotation],
		OriginUID:        labels[OriginUIDLabel],
		Cancelled:        annotations[CancelledAnnotation],

		MultiKueueOriginUID: uidOf(annotations[MultiKueueOriginUIDAnnotation]),
	}
	m.Origin, m.BadOrigin = markedPlace(annotations[OriginAnnotation], false)
	m.Mirror, m.BadMirror = markedPlace(annotations[MirrorAnnotation], true)
	if m == (Marks{}) {
		return nil
	}
	return &m
}

// IsMark reports whether MarksOf reads a label or annotation.
func IsMark(key string) bool {
	switch key {
	case MultiKueueOriginLabel, MultiKueueOriginUIDAnnotation, PrebuiltWorkload, QueueNameLabel, PriorityClassLabel, PodGroupLabel, ElasticMark,
		StoppingAnnotation, RayGenerationAnnotation, OriginUIDLabel, OriginAnnotation, MirrorAnnotation, CancelledAnnotation:
		return true
	}
	return false
}

// CancelledMark returns the value of CancelledAnnotation for an origin with a UID.
func CancelledMark(uid string, leavesMirror bool) string {
	if leavesMirror {
		return uid + abandonedSuffix
	}
	return uid
}

// ReadCancelledMark reports whether a value of CancelledAnnotation says that cancel has ended the origin with a
// UID, and whether cancel has left its mirror. A value that was copied from another origin does not count.
func ReadCancelledMark(value, uid string) (isCancelled, leavesMirror bool) {
	of, leavesMirror := strings.CutSuffix(value, abandonedSuffix)
	isCancelled = of != "" && of == uid
	return isCancelled, isCancelled && leavesMirror
}

// nameOf returns a value if it is a valid name of an object, otherwise "".
func nameOf(value string) string {
	if len(validation.IsDNS1123Subdomain(value)) > 0 {
		return ""
	}
	return value
}

// uidOf returns a value if it can be a UID, otherwise "". UIDs are UUIDs for their creator, and
// opaque for all others. They may be values of labels.
func uidOf(value string) string {
	if len(validation.IsValidLabelValue(value)) > 0 {
		return ""
	}
	return value
}

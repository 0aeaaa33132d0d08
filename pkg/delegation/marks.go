package delegation

import (
	"cmp"
	"strings"

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
	// origin's uid (reference: multikueue.md 0).
	MultiKueueOriginUIDAnnotation = "kueue.x-k8s.io/multikueue-origin-uid"
	// PodGroupLabel names the group of pods that a pod is one of; their Workload has
	// the group's name.
	PodGroupLabel = "kueue.x-k8s.io/pod-group-name"

	// OriginUIDLabel is on the mirrors that dispatch makes: the origin's uid.
	OriginUIDLabel = "jobmanagedby.github.io/origin-uid"
	// OriginAnnotation is on the same: "<cluster UID>/<namespace>/<name>".
	OriginAnnotation = "jobmanagedby.github.io/origin"
	// MirrorAnnotation is on their origins:
	// "<cluster UID>/<namespace>/<name>/<uid>".
	MirrorAnnotation = "jobmanagedby.github.io/mirror"
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

// Place is an object on a cluster that is known by its identity, or that is not known;
// a Cluster's String is what names it.
type Place struct{ ClusterUID, Namespace, Name, UID string }

// Cluster is what is known of which one a cluster is.
type Cluster struct {
	// UID is that of its Namespace kube-system, "" where that may not be read.
	UID string
	// Stamp is by what it may be known again without that, "" if there is nothing.
	Stamp string
}

// unknown stands in marks for the identity of a cluster that may not be read; with a
// dash and its stamp behind it, if it has one.
const unknown = "unknown"

// String is the cluster as marks write it.
func (c Cluster) String() string {
	switch {
	case c.UID != "":
		return c.UID
	case c.Stamp != "":
		return unknown + "-" + c.Stamp
	}
	return unknown
}

// Sameness says whether two things are one.
type Sameness int

const (
	// PerhapsSame: nobody can tell. What is not known is not the same as anything
	// else that is not known.
	PerhapsSame Sameness = iota
	// CertainlySame and CertainlyOther: it is known.
	CertainlySame
	CertainlyOther
)

// On says whether the place is on a cluster. Where a mark was written by somebody with
// more or fewer rights than there are now, it may well be. Then only the uid of what is
// found there tells.
func (p Place) On(c Cluster) Sameness {
	stamp, hasStamp := strings.CutPrefix(p.ClusterUID, unknown+"-")
	switch {
	case hasStamp && stamp != "" && stamp == c.Stamp:
		return CertainlySame
	case !p.KnowsCluster(), c.UID == "":
		return PerhapsSame
	case p.ClusterUID == c.UID:
		return CertainlySame
	}
	return CertainlyOther
}

// KnowsCluster says whether the place tells the identity of its cluster.
func (p Place) KnowsCluster() bool {
	return p.ClusterUID != "" && p.ClusterUID != unknown && !strings.HasPrefix(p.ClusterUID, unknown+"-")
}

// IsZero says whether it names nothing.
func (p Place) IsZero() bool { return p == Place{} }

// String is the place as the annotations write it.
func (p Place) String() string {
	parts := []string{p.ClusterUID, p.Namespace, p.Name}
	if p.UID != "" {
		parts = append(parts, p.UID)
	}
	return strings.Join(parts, "/")
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
	m.Origin, m.BadOrigin = parsePlace(annotations[OriginAnnotation], 3)
	m.Mirror, m.BadMirror = parsePlace(annotations[MirrorAnnotation], 4)
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

// parsePlace reads the form that Place.String writes, of so many parts. Whoever may
// write the object may write anything there, so what cannot be the name of an object is
// none; bad is then what stands in place of one.
func parsePlace(value string, parts int) (p Place, bad string) {
	if value == "" {
		return Place{}, ""
	}
	fields := strings.Split(value, "/")
	if len(fields) != parts {
		return Place{}, value
	}
	p = Place{ClusterUID: uidOf(fields[0]), Namespace: fields[1], Name: nameOf(fields[2])}
	isPlace := p.ClusterUID != "" && p.Name != "" && len(validation.IsDNS1123Label(p.Namespace)) == 0
	if parts > 3 {
		p.UID = uidOf(fields[3])
		isPlace = isPlace && p.UID != ""
	}
	if !isPlace {
		return Place{}, value
	}
	return p, ""
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

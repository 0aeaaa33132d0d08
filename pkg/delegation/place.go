package delegation

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Cluster is the identity of a cluster: UIDs that it serves. Server address, server name and
// certificate authority do not belong to it, because proxies share them between clusters and
// select the cluster by the credentials.
type Cluster struct {
	// UID is the UID of its Namespace kube-system; "" if that is not readable.
	UID string
	// Namespaces are the UIDs of namespaces that were read, by name. The ClusterRoles view and
	// edit allow users to read their own namespace.
	Namespaces map[string]string
}

// IsUnknown reports whether nothing identifies the cluster in a namespace.
func (c Cluster) IsUnknown(namespace string) bool {
	return c.UID == "" && c.Namespaces[namespace] == ""
}

// Place returns the place of an object on this cluster.
func (c Cluster) Place(namespace, name, uid string) Place {
	return Place{ClusterUID: c.UID, NamespaceUID: c.Namespaces[namespace], Namespace: namespace, Name: name, UID: uid}
}

// Compare compares two identities that were read at the same time.
func (c Cluster) Compare(other Cluster) Sameness {
	if c.UID != "" && other.UID != "" {
		return sameIf(c.UID == other.UID)
	}
	result := PerhapsSame
	for namespace, uid := range c.Namespaces {
		switch there := other.Namespaces[namespace]; {
		case uid == "" || there == "":
		case uid == there:
			return CertainlySame
		default:
			// Or it was created again between the two readings.
			result = CertainlyOther
		}
	}
	return result
}

func sameIf(isEqual bool) Sameness {
	if isEqual {
		return CertainlySame
	}
	return CertainlyOther
}

// Sameness reports whether two clusters are the same.
type Sameness int

const (
	// PerhapsSame: unknown. It proves nothing.
	PerhapsSame Sameness = iota
	// CertainlySame and CertainlyOther: UIDs prove it.
	CertainlySame
	CertainlyOther
)

// Place is the place of an object on a cluster. ClusterUID is the UID of the cluster's Namespace
// kube-system, and NamespaceUID that of the object's namespace. Each is "" if its writer had no
// right to read it.
type Place struct{ ClusterUID, NamespaceUID, Namespace, Name, UID string }

// unknown replaces the identity of a cluster in annotations if its kube-system was not readable.
const unknown = "unknown"

// On reports whether the place is on a cluster. Different UIDs of the namespace prove nothing: it
// may have been deleted and created again since the place was written.
func (p Place) On(c Cluster) Sameness {
	switch {
	case p.ClusterUID != "" && c.UID != "":
		return sameIf(p.ClusterUID == c.UID)
	case p.NamespaceUID != "" && p.NamespaceUID == c.Namespaces[p.Namespace]:
		return CertainlySame
	}
	return PerhapsSame
}

// KnowsCluster reports whether the place identifies its cluster.
func (p Place) KnowsCluster() bool { return p.ClusterUID != "" || p.NamespaceUID != "" }

// Cluster describes the cluster of the place, for people.
func (p Place) Cluster() string {
	switch {
	case p.ClusterUID != "":
		return "cluster " + p.ClusterUID
	case p.NamespaceUID != "":
		return "the cluster whose namespace " + p.Namespace + " has the UID " + p.NamespaceUID
	}
	return "an unidentified cluster"
}

// IsZero reports whether the place names nothing.
func (p Place) IsZero() bool { return p == Place{} }

// String returns the place in the format of annotations: "<cluster>/<namespace>/<name>", followed
// by "/<uid>" if there is one. The cluster is the UID of kube-system, or "unknown", followed by
// "+<UID of the namespace>" if that is known.
func (p Place) String() string {
	cluster := p.ClusterUID
	if cluster == "" {
		cluster = unknown
	}
	if p.NamespaceUID != "" {
		cluster += "+" + p.NamespaceUID
	}
	parts := []string{cluster, p.Namespace, p.Name}
	if p.UID != "" {
		parts = append(parts, p.UID)
	}
	return strings.Join(parts, "/")
}

// ParsePlace parses the result of Place.String, with or without a UID. Every user with write
// access can write anything into annotations, so ok is false for malformed text.
func ParsePlace(value string) (p Place, ok bool) {
	fields := strings.Split(value, "/")
	if len(fields) != 3 && len(fields) != 4 {
		return Place{}, false
	}
	cluster, namespaceUID, hasNamespace := strings.Cut(fields[0], "+")
	p = Place{ClusterUID: uidOf(cluster), NamespaceUID: uidOf(namespaceUID), Namespace: fields[1], Name: nameOf(fields[2])}
	ok = p.ClusterUID != "" && p.Name != "" && len(validation.IsDNS1123Label(p.Namespace)) == 0 && hasNamespace == (p.NamespaceUID != "")
	if len(fields) == 4 {
		p.UID = uidOf(fields[3])
		ok = ok && p.UID != ""
	}
	if !ok {
		return Place{}, false
	}
	// In an older version, a dash and a fingerprint of the server's address followed.
	if p.ClusterUID == unknown || strings.HasPrefix(p.ClusterUID, unknown+"-") {
		p.ClusterUID = ""
	}
	return p, true
}

// TargetIn returns the place in the TargetAnnotation of a Lease; zero if it names none.
func TargetIn(annotations map[string]string) Place {
	target, _ := markedPlace(annotations[TargetAnnotation], false)
	return target
}

// markedPlace returns the place in an annotation, which has to have a UID or not. If it is
// malformed, bad is its value.
func markedPlace(value string, hasUID bool) (p Place, bad string) {
	p, ok := ParsePlace(value)
	if !ok || hasUID != (p.UID != "") {
		return Place{}, value
	}
	return p, ""
}

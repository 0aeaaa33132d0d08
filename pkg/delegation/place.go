package delegation

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Cluster is the identity of a cluster: UIDs that it serves. Server address, server name
// and certificate authority are no part of it, because proxies share them between clusters
// and choose the cluster by the credentials.
type Cluster struct {
	// UID is that of its Namespace kube-system, "" where that may not be read.
	UID string
	// Namespaces are the UIDs of namespaces that were read, by name. The ClusterRoles view
	// and edit allow users to get their own namespace.
	Namespaces map[string]string
}

// IsUnknown reports whether nothing identifies the cluster in a namespace.
func (c Cluster) IsUnknown(namespace string) bool {
	return c.UID == "" && c.Namespaces[namespace] == ""
}

// Place is the place of an object on this cluster.
func (c Cluster) Place(namespace, name, uid string) Place {
	return Place{ClusterUID: c.UID, NamespaceUID: c.Namespaces[namespace], Namespace: namespace, Name: name, UID: uid}
}

// Compare compares two identities that were read at the same time.
func (c Cluster) Compare(other Cluster) Sameness {
	if c.UID != "" && other.UID != "" {
		return sameIf(c.UID == other.UID)
	}
	for namespace, uid := range c.Namespaces {
		if there := other.Namespaces[namespace]; uid != "" && there != "" {
			return sameIf(uid == there)
		}
	}
	return PerhapsSame
}

func sameIf(is bool) Sameness {
	if is {
		return CertainlySame
	}
	return CertainlyOther
}

// Sameness says whether two clusters are the same.
type Sameness int

const (
	// PerhapsSame: unknown. It proves nothing.
	PerhapsSame Sameness = iota
	// CertainlySame and CertainlyOther: UIDs prove it.
	CertainlySame
	CertainlyOther
)

// Place is an object on a cluster. ClusterUID is the UID of the cluster's Namespace
// kube-system, NamespaceUID that of the object's namespace; each is "" where the writer was
// not allowed to read it.
type Place struct{ ClusterUID, NamespaceUID, Namespace, Name, UID string }

// unknown stands in annotations for the identity of a cluster whose kube-system could not
// be read.
const unknown = "unknown"

// On says whether the place is on a cluster. Different UIDs of the namespace prove nothing:
// it may have been deleted and created again since the place was written.
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

// IsZero reports whether it names nothing.
func (p Place) IsZero() bool { return p == Place{} }

// String is the place as annotations hold it: "<cluster>/<namespace>/<name>", with "/<uid>"
// behind it if there is one. The cluster is the UID of kube-system, or "unknown", with
// "+<UID of the namespace>" behind it if that is known.
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

// ParsePlace reads what Place.String writes, with or without a uid. Anybody who may write
// the object may write anything into its annotations, so text that is no place is refused:
// ok is false.
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
	// A dash and a fingerprint of the server's address behind it is of an older version.
	if p.ClusterUID == unknown || strings.HasPrefix(p.ClusterUID, unknown+"-") {
		p.ClusterUID = ""
	}
	return p, true
}

// markedPlace is the place that an annotation names, which has a uid or not. Where it names
// none, bad is what it says.
func markedPlace(value string, hasUID bool) (p Place, bad string) {
	p, ok := ParsePlace(value)
	if !ok || hasUID != (p.UID != "") {
		return Place{}, value
	}
	return p, ""
}

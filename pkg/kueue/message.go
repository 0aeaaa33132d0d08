package kueue

import (
	"cmp"
	"regexp"
	"slices"
)

// LackKind is what a flavor or a queue lacks for a Workload.
type LackKind int

// The kinds of lacks, in the order in which Lacks has them.
const (
	// TooMuch is more than a flavor can ever give, with what may be borrowed.
	TooMuch LackKind = iota
	// MoreNeeded is quota that others have at the moment.
	MoreNeeded
	// NoSuchLabel is a flavor whose labels the pods' node selector or affinity does not match.
	NoSuchLabel
	// Untolerated is a taint of a flavor.
	Untolerated
	// NoSuchResource is a resource that no flavor of the ClusterQueue has.
	NoSuchResource
	// NoSuchFlavor is a ResourceFlavor that does not exist.
	NoSuchFlavor
	// NoTopology is a flavor without a topology, for which pods ask.
	NoTopology
	// NoPlaceNear is a topology without a place for all pods near to each other.
	NoPlaceNear
)

// Lack is one reason for which Kueue takes a flavor not for a Workload. What is in its
// fields is the author's of queues and flavors; those that its kind does not have are "".
type Lack struct {
	Kind                       LackKind
	Flavor, Resource, Topology string
	// Asked is how much its podset asks for, and Before what its other podsets have asked for
	// before it, both quantities; of TooMuch. Old Kueues tell no Before.
	Asked, Before string
	// Most is the most that the flavor can give; of TooMuch.
	Most string
	// More is how much more is needed; of MoreNeeded.
	More string
	// Taint is KEY=VALUE:EFFECT, or KEY:EFFECT; of Untolerated.
	Taint string
	// Fit is how many of Pods pods have a place; of NoPlaceNear.
	Fit, Pods string
}

// AfterOthers says whether another order of a Workload's podsets might do, because those
// before this one have taken some of what it asks for.
func (l *Lack) AfterOthers() bool { return l.Before != "" && l.Before != "0" }

// The messages of Kueue's flavor assigner (kueue: flavorassigner.go, tas_flavor_snapshot.go;
// reference: capacity.md 5).
var (
	tooMuch     = regexp.MustCompile(`insufficient quota for (\S+) in flavor (\S+), (?:previously considered podsets requests \((\S+)\) \+ current podset request \((\S+)\) > maximum capacity \((\S+)\)|request > maximum capacity \((\S+) > (\S+)\))`)
	moreNeeded  = regexp.MustCompile(`insufficient unused quota for (\S+) in flavor (\S+), (\S+) more needed`)
	untolerated = regexp.MustCompile(`untolerated taint \{(\S+) (\S*) ?(NoSchedule|NoExecute|PreferNoSchedule) [^}]*\} in flavor ([^\s,;]+)`)
	noSuchLabel = regexp.MustCompile(`flavor (\S+) doesn't match node affinity`)
	noSuchKind  = regexp.MustCompile(`resource (\S+) unavailable in ClusterQueue`)
	noFlavor    = regexp.MustCompile(`flavor (\S+) not found`)
	noTopology  = regexp.MustCompile(`Flavor "([^"]+)" does not support TopologyAwareScheduling`)
	noPlaceNear = regexp.MustCompile(`topology "([^"]+)" (?:allows to fit only (\d+) out of (\d+)|doesn't allow to fit any of (\d+)) pod\(s\)`)
)

// Lacks reads why Kueue takes none of the flavors for a Workload, from the message of its
// condition QuotaReserved, ordered by kind; none where the message says something else.
func Lacks(message string) []Lack {
	var found []Lack
	each := func(pattern *regexp.Regexp, lack func(m []string) Lack) {
		for _, m := range pattern.FindAllStringSubmatch(message, -1) {
			found = append(found, lack(m))
		}
	}
	each(tooMuch, func(m []string) Lack {
		return Lack{Kind: TooMuch, Resource: m[1], Flavor: m[2], Before: m[3], Asked: cmp.Or(m[4], m[6]), Most: cmp.Or(m[5], m[7])}
	})
	each(moreNeeded, func(m []string) Lack { return Lack{Kind: MoreNeeded, Resource: m[1], Flavor: m[2], More: m[3]} })
	each(noSuchLabel, func(m []string) Lack { return Lack{Kind: NoSuchLabel, Flavor: m[1]} })
	each(untolerated, func(m []string) Lack {
		taint := m[1]
		if m[2] != "" {
			taint += "=" + m[2]
		}
		return Lack{Kind: Untolerated, Taint: taint + ":" + m[3], Flavor: m[4]}
	})
	each(noSuchKind, func(m []string) Lack { return Lack{Kind: NoSuchResource, Resource: m[1]} })
	each(noFlavor, func(m []string) Lack { return Lack{Kind: NoSuchFlavor, Flavor: m[1]} })
	each(noTopology, func(m []string) Lack { return Lack{Kind: NoTopology, Flavor: m[1]} })
	each(noPlaceNear, func(m []string) Lack {
		return Lack{Kind: NoPlaceNear, Topology: m[1], Fit: cmp.Or(m[2], "0"), Pods: cmp.Or(m[3], m[4])}
	})
	return found
}

// Lacking says whether one of these is of one of the kinds.
func Lacking(lacks []Lack, kinds ...LackKind) bool {
	return slices.ContainsFunc(lacks, func(l Lack) bool { return slices.Contains(kinds, l.Kind) })
}

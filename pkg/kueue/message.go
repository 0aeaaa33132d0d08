package kueue

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// podSetPrefix is the beginning of Kueue's message about each podset that no
// flavor takes.
const podSetPrefix = "couldn't assign flavors to pod set "

// The messages of Kueue's flavor assigner (kueue: pkg/scheduler/flavorassigner,
// pkg/cache/scheduler/tas_flavor_snapshot.go; docs/reference/scheduling.md#messages). Each pattern begins
// with a literal text, so that a message without that text is searched fast: thousands wait at once.
var (
	overLimit     = regexp.MustCompile(`insufficient quota for (\S+) in flavor (\S+), (?:previously considered podsets requests \((\S+)\) \+ current podset request \((\S+)\) > maximum capacity \((\S+)\)|request > maximum capacity \((\S+) > (\S+)\))`)
	quotaInUse    = regexp.MustCompile(`insufficient unused quota for (\S+) in flavor (\S+), (\S+) more needed`)
	taint         = regexp.MustCompile(`untolerated taint \{(\S+) (\S*) ?(NoSchedule|NoExecute|PreferNoSchedule) [^}]*\} in flavor ([^\s,;]+)`)
	labelMismatch = regexp.MustCompile(`flavor (\S+) doesn't match node affinity`)
	notCovered    = regexp.MustCompile(`resource (\S+) unavailable in ClusterQueue`)
	noFlavor      = regexp.MustCompile(`flavor (\S+) not found`)
	topologyFault = regexp.MustCompile(`Flavor "([^"]+)" (does not support|supports only|does not contain the requested level)`)
	noDomain      = regexp.MustCompile(`topology "([^"]+)" (?:allows to fit only (\d+) out of (\d+)|doesn't allow to fit any of (\d+)) (?:pod|slice)\(s\)`)
	fitsNowhere   = regexp.MustCompile(`topology "([^"]+)" doesn't allow to fit(?:[;.]|$)`)
	noDomains     = regexp.MustCompile(`no topology domains at level: (\S+)`)
)

// Lacks reads why Kueue rejects flavors for a Workload, from the message of its condition
// QuotaReserved. It returns none if the message says something else.
func Lacks(message string) []Lack {
	var found []Lack
	each := func(pattern *regexp.Regexp, lack func(m []string) Lack) {
		for _, m := range pattern.FindAllStringSubmatch(message, -1) {
			found = append(found, lack(m))
		}
	}
	each(overLimit, func(m []string) Lack {
		return Lack{Reason: ReasonOverLimit, Resource: m[1], Flavor: m[2], Before: m[3], Requested: cmp.Or(m[4], m[6]), Limit: cmp.Or(m[5], m[7])}
	})
	each(quotaInUse, func(m []string) Lack {
		return Lack{Reason: ReasonQuotaInUse, Resource: m[1], Flavor: m[2], Missing: m[3]}
	})
	each(labelMismatch, func(m []string) Lack { return Lack{Reason: ReasonFlavorLabels, Flavor: m[1]} })
	each(taint, func(m []string) Lack {
		key := m[1]
		if m[2] != "" {
			key += "=" + m[2]
		}
		return Lack{Reason: ReasonTaint, Taint: key + ":" + m[3], Flavor: m[4]}
	})
	each(notCovered, func(m []string) Lack { return Lack{Reason: ReasonResourceNotCovered, Resource: m[1]} })
	each(noFlavor, func(m []string) Lack { return Lack{Reason: ReasonFlavorMissing, Flavor: m[1]} })
	each(topologyFault, func(m []string) Lack { return Lack{Reason: topologyReasons()[m[2]], Flavor: m[1]} })
	each(noDomain, func(m []string) Lack {
		return Lack{Reason: ReasonNoTopologyDomain, Topology: m[1], Fit: cmp.Or(m[2], "0"), Pods: cmp.Or(m[3], m[4])}
	})
	each(fitsNowhere, func(m []string) Lack { return Lack{Reason: ReasonNoTopologyDomain, Topology: m[1]} })
	each(noDomains, func(m []string) Lack { return Lack{Reason: ReasonNoTopologyDomain, Level: m[1]} })
	return ofLastPodSets(found)
}

// ofLastPodSets keeps one lack of quota per flavor and resource: that of the last podset. Its
// amount is the lack of the whole Workload, because Kueue adds the earlier podsets to it (kueue:
// flavorassigner.go, assignmentUsage).
func ofLastPodSets(lacks []Lack) []Lack {
	return slices.DeleteFunc(slices.Clone(lacks), func(l Lack) bool {
		isForQuota := l.Reason == ReasonOverLimit || l.Reason == ReasonQuotaInUse
		return isForQuota && slices.ContainsFunc(lacks, func(other Lack) bool {
			isSame := other.Reason == l.Reason && other.Flavor == l.Flavor && other.Resource == l.Resource
			return isSame && compareQuantities(l.Excess(), other.Excess()) < 0
		})
	})
}

// topologyReasons returns what Kueue's words about a flavor's topology mean.
func topologyReasons() map[string]WaitReason {
	return map[string]WaitReason{
		"does not support": ReasonNoTopology, "supports only": ReasonTopologyRequired, "does not contain the requested level": ReasonNoTopologyLevel,
	}
}

// Lacking reports whether one of the lacks has one of the reasons.
func Lacking(lacks []Lack, reasons ...WaitReason) bool {
	return slices.ContainsFunc(lacks, func(l Lack) bool { return slices.Contains(reasons, l.Reason) })
}

// severities returns the reasons of flavors, the mildest first. Kueue names the mildest
// reason among the flavors of a podset, and the worst among podsets (kueue:
// flavorassigner.go; docs/reference/scheduling.md#messages).
func severities() []WaitReason {
	return slices.Concat([]WaitReason{ReasonQuotaInUse, ReasonNoTopologyDomain, ReasonOverLimit}, flavorReasons())
}

// reasonOfLacks returns the reason that a message comes to if only some reasons are
// possible, "" if it has none of them.
func reasonOfLacks(message string, possible []WaitReason) WaitReason {
	worst := -1
	for podSet := range strings.SplitSeq(message, podSetPrefix) {
		lacks := Lacks(podSet)
		mildest := slices.IndexFunc(severities(), func(r WaitReason) bool { return slices.Contains(possible, r) && Lacking(lacks, r) })
		if Lacking(lacks, ReasonResourceNotCovered) && slices.Contains(possible, ReasonResourceNotCovered) {
			// No other flavor makes up for a resource that the whole ClusterQueue lacks.
			mildest = slices.Index(severities(), ReasonResourceNotCovered)
		}
		worst = max(worst, mildest)
	}
	if worst < 0 {
		return ""
	}
	return severities()[worst]
}

// queueFaults returns the ends of messages about queues, and what they mean for a
// LocalQueue and a ClusterQueue (kueue: workload_controller.go, scheduler.go).
func queueFaults() map[string][2]WaitReason {
	missing, inactive := [2]WaitReason{ReasonLocalQueueMissing, ReasonClusterQueueMissing}, [2]WaitReason{ReasonLocalQueueStopped, ReasonClusterQueueInactive}
	return map[string][2]WaitReason{
		"doesn't exist": missing, "is terminating or missing": missing, "not found": missing, "is inactive": inactive, "is stopped": inactive,
	}
}

// queueFault reads a message about a queue. The reason is "" if it is about something else.
func queueFault(message string) (reason WaitReason, queue string) {
	for i, kind := range []string{"LocalQueue ", "ClusterQueue "} {
		if rest, ok := strings.CutPrefix(message, kind); ok {
			name, fault, _ := strings.Cut(rest, " ")
			if reasons, ok := queueFaults()[fault]; ok {
				return reasons[i], name
			}
		}
	}
	if strings.Contains(message, "namespace doesn't match ClusterQueue selector") {
		return ReasonNamespaceExcluded, ""
	}
	return "", ""
}

// phrases returns parts of messages that have one meaning in every version of
// Kueue, most specific first. Kueue up to 0.18, and later versions without
// the feature gate UnadmittedWorkloadsObservability, explain a wait only by
// them.
func phrases() []struct {
	part   string
	reason WaitReason
} {
	return []struct {
		part   string
		reason WaitReason
	}{
		{"waiting for all admitted workloads to be in PodsReady condition", ReasonPodsNotReady},
		{"Pending the preemption of", ReasonPreempting},
		{"Pending the migration of", ReasonPreempting},
		{" workload(s) failed, will retry", ReasonPreempting},
		{"will fit after these preemptions complete", ReasonPreempting},
		{"no longer fits after processing another workload", ReasonQuotaInUse},
		{"overlapping preemption targets", ReasonQuotaInUse},
		{"resources validation failed", ReasonMisconfigured},
		{"resources didn't satisfy LimitRange constraints", ReasonMisconfigured},
		{"DynamicResourceAllocation feature does not support", ReasonDevicesUnresolved},
		{"KueueDRAIntegration feature does not support", ReasonDevicesUnresolved},
		{"The workload has failed admission checks", ReasonCheckRetry},
		{"Admission is gated by: ", ReasonAdmissionGated},
		{"requires preemption, but it's gated", ReasonAdmissionGated},
	}
}

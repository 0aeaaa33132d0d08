package kueue

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helper "k8s.io/component-helpers/resource"
)

// CountingRules is how a version of Kueue adds up what a Pod requests.
type CountingRules struct {
	// LimitsFirst is whether limits become requests before the defaults of
	// LimitRanges do: since 0.20, and in patched older versions (kueue issues
	// 15020, 15023).
	LimitsFirst bool
	// Containers is whether Pod-level requests count at least as much as the
	// requests of the containers: since 0.20 (kueue pull request 16047).
	Containers bool
}

// SchedulerRules returns how the API server and the scheduler count
// requests: limits become requests before LimitRanges add theirs.
func SchedulerRules() CountingRules { return CountingRules{LimitsFirst: true} }

// Requests returns what one Pod counts for, as Kueue adds it up: defaults of
// the namespace's LimitRanges for missing requests, limits if there are no
// requests, the maximum of init containers and containers, and the overhead
// in the Pod spec (kueue: pkg/workload/resources.go;
// docs/reference/scheduling.md#requests).
func Requests(spec *corev1.PodSpec, limits []corev1.LimitRange, by CountingRules) corev1.ResourceList {
	pod := withLimits(spec, limits, by)
	total := helper.PodRequests(pod, helper.PodResourcesOptions{})
	if by.Containers && pod.Spec.Resources != nil {
		for name, quantity := range helper.PodRequests(pod, helper.PodResourcesOptions{SkipPodLevelResources: true}) {
			if least := total[name]; quantity.Cmp(least) > 0 {
				total[name] = quantity
			}
		}
	}
	return total
}

// AdmittedPod returns a Pod as the API server admits it: with the defaults of the namespace's LimitRanges
// (kubernetes: plugin/pkg/admission/limitranger).
func AdmittedPod(spec *corev1.PodSpec, limits []corev1.LimitRange) *corev1.Pod {
	return withLimits(spec, limits, SchedulerRules())
}

// withLimits returns a Pod with the requests and limits that its spec lacks.
func withLimits(spec *corev1.PodSpec, limits []corev1.LimitRange, by CountingRules) *corev1.Pod {
	pod := &corev1.Pod{Spec: *spec.DeepCopy()}
	defaults := containerDefaults(limits)
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			fill(&containers[i].Resources, defaults, by)
		}
	}
	if pod.Spec.Resources != nil {
		fill(pod.Spec.Resources, corev1.LimitRangeItem{}, by)
	}
	return pod
}

// containerDefaults returns the container defaults of all LimitRanges of a
// namespace. The first LimitRange with a default wins.
func containerDefaults(limits []corev1.LimitRange) corev1.LimitRangeItem {
	all := corev1.LimitRangeItem{Default: corev1.ResourceList{}, DefaultRequest: corev1.ResourceList{}}
	for i := range limits {
		for _, item := range limits[i].Spec.Limits {
			if item.Type == corev1.LimitTypeContainer {
				all.Default = withDefaults(all.Default, item.Default)
				all.DefaultRequest = withDefaults(all.DefaultRequest, item.DefaultRequest)
			}
		}
	}
	return all
}

// fill fills in missing requests and limits.
func fill(r *corev1.ResourceRequirements, defaults corev1.LimitRangeItem, by CountingRules) {
	if by.LimitsFirst {
		r.Requests = withDefaults(r.Requests, r.Limits)
	}
	r.Limits = withDefaults(r.Limits, defaults.Default)
	r.Requests = withDefaults(withDefaults(r.Requests, defaults.DefaultRequest), r.Limits)
}

// withDefaults returns resources with those of defaults that they lack.
func withDefaults(resources, defaults corev1.ResourceList) corev1.ResourceList {
	if len(defaults) == 0 {
		return resources
	}
	all := maps.Clone(defaults)
	maps.Copy(all, resources)
	return all
}

// ReclaimablePods are the Pods of a podset that have ended and need no quota any longer.
type ReclaimablePods struct {
	Name  string `json:"name"`
	Count int32  `json:"count"`
}

// remaining returns how many Pods of a podset still need quota (kueue: pkg/workload,
// podSetsCountsAfterReclaim).
func remaining(set string, count int32, reclaimable []ReclaimablePods) int32 {
	for _, r := range reclaimable {
		if r.Name == set {
			return max(0, count-r.Count)
		}
	}
	return count
}

// Remaining returns the podsets with the Pods that still need quota.
func Remaining(sets []PodTemplate, reclaimable []ReclaimablePods) []PodTemplate {
	if len(reclaimable) == 0 {
		return sets
	}
	left := slices.Clone(sets)
	for i := range left {
		left[i].Count = remaining(left[i].Name, left[i].Count, reclaimable)
	}
	return left
}

// RequestsOf returns what the Pods of podsets request, with the LimitRanges of their namespace.
func RequestsOf(sets []PodTemplate, limits []corev1.LimitRange, by CountingRules) []PodSetRequests {
	all := make([]PodSetRequests, 0, len(sets))
	for i := range sets {
		one := Requests(&sets[i].Template.Spec, limits, by)
		all = append(all, PodSetRequests{Name: sets[i].Name, Resources: times(one, int64(sets[i].Count))})
	}
	return all
}

// times returns what a number of Pods count for. Each Pod is rounded up
// separately, CPU to a thousandth and other resources to whole units (kueue:
// pkg/resources/requests.go).
func times(one corev1.ResourceList, count int64) corev1.ResourceList {
	all := corev1.ResourceList{}
	for name, quantity := range one {
		quantity := quantity.DeepCopy()
		if name == corev1.ResourceCPU {
			quantity.RoundUp(resource.Milli)
		} else {
			quantity.RoundUp(0)
		}
		quantity.Mul(count)
		all[name] = quantity
	}
	return all
}

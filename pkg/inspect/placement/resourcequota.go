package placement

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helper "k8s.io/component-helpers/resource"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// counted returns the kinds of objects that a request creates and a ResourceQuota may count: its own, if it is known,
// and then the Jobs that its controller creates.
func (r *Request) counted() (kinds []delegation.Kind) {
	if r.Kind.Kind != "" {
		kinds = append(kinds, r.Kind)
	}
	if r.Kind.CreatesJobs {
		kinds = append(kinds, delegation.Job())
	}
	return kinds
}

// countOf returns the resource by which a ResourceQuota counts objects of a kind.
func countOf(k *delegation.Kind) corev1.ResourceName {
	return corev1.ResourceName("count/" + k.Resource.GroupResource().String())
}

// keepResourceQuotas decides whether the ResourceQuotas of the namespace allow the mirror and its Pods.
// Kueue does not check them.
func (s *site) keepResourceQuotas() {
	if s.role.isGiven {
		return
	}
	quotas := s.request.on(s.Context).Quotas
	for i := range quotas {
		if s.Verdict == inspect.Never {
			return
		}
		q := &quotas[i]
		if len(q.Spec.Scopes) > 0 || q.Spec.ScopeSelector != nil {
			// Whether a scope covers the Pods may depend on their priority class and their deadline.
			s.Message += fmt.Sprintf("; ResourceQuota %s has scopes and was not checked", q.Name)
			continue
		}
		s.keepResourceQuota(q)
	}
}

// keepResourceQuota decides whether a ResourceQuota without scopes allows the mirror and its Pods.
func (s *site) keepResourceQuota(q *corev1.ResourceQuota) {
	free, lessPerPod := freeOf(q), s.again(inspect.PlacementChange{Message: "request less per Pod"})
	for i, kind := range s.request.counted() {
		count := countOf(&kind)
		if left, isLimited := free[count]; isLimited && left.Sign() <= 0 {
			s.exceed(inspect.Waits, q, inspect.PlacementChange{
				Message: fmt.Sprintf("wait until another %s in namespace %s on %s is deleted", kind.Kind, s.request.Namespace, s.Context),
			}, "ResourceQuota %s allows no further %s (%s)", q.Name, kind.Kind, count)
			s.RefusesMirror = i == 0
			return
		}
	}
	for i := range s.request.PodSets {
		set := &s.request.PodSets[i]
		spec, _ := s.admitted(set)
		pod := kueue.AdmittedPod(spec, s.limits())
		if missing := unspecified(pod, q.Status.Hard); missing != "" {
			s.exceed(inspect.Never, q, s.again(inspect.PlacementChange{Message: "set " + missing + " in each container"}), "ResourceQuota %s refuses Pods with a container that does not set %s", q.Name, missing)
			return
		}
		needed := s.startsWith(set)
		usage := quotaUsage(pod)
		for _, name := range slices.Sorted(maps.Keys(usage)) {
			requested, limit := usage[name], q.Status.Hard[name]
			left, isLimited := free[name]
			if !isLimited || requested.IsZero() || needed == 0 {
				continue
			}
			if requested.Cmp(limit) > 0 {
				s.exceed(inspect.Never, q, lessPerPod, "ResourceQuota %s allows %s %s, one Pod needs %s", q.Name, limit.String(), name, requested.String())
				return
			}
			switch most := podfit.Quotient(left, requested); {
			case most == 0:
				s.exceed(inspect.Waits, q, lessPerPod, "ResourceQuota %s is used up: one Pod needs %s %s, free %s of %s", q.Name, requested.String(), name, left.String(), limit.String())
				return
			case most < needed:
				s.limitPods(&inspect.PodsAtOnce{Pods: most, Of: needed, ResourceQuota: q.Name})
			}
		}
	}
}

// exceed decides that a ResourceQuota keeps the Job from running, unless it waits for something
// that comes before. otherwise is what helps if the ResourceQuota remains.
func (s *site) exceed(v inspect.Verdict, q *corev1.ResourceQuota, otherwise inspect.PlacementChange, format string, arguments ...any) {
	if v == inspect.Waits && s.Verdict != inspect.Fits {
		s.Message += "; " + fmt.Sprintf(format, arguments...)
		return
	}
	s.decide(v, inspect.NamespaceQuota, format, arguments...)
	raise := inspect.PlacementChange{
		Message: fmt.Sprintf("raise ResourceQuota %s in namespace %s on %s", q.Name, s.request.Namespace, s.Context),
		Command: command.Kubectl(s.Context, s.request.Namespace, "describe", "resourcequota", q.Name).Shell(),
	}
	s.Changes = []inspect.PlacementChange{raise, otherwise}
}

// freeOf returns how much of each limited resource a ResourceQuota has left.
func freeOf(q *corev1.ResourceQuota) corev1.ResourceList {
	free := corev1.ResourceList{}
	for name, limit := range q.Status.Hard {
		left := limit.DeepCopy()
		left.Sub(q.Status.Used[name])
		if left.Sign() < 0 {
			left = resource.Quantity{}
		}
		free[name] = left
	}
	return free
}

// quotaUsage returns what a Pod counts for in a ResourceQuota (kubernetes:
// pkg/quota/v1/evaluator/core/pods.go).
func quotaUsage(pod *corev1.Pod) corev1.ResourceList {
	usage := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1"), "count/pods": resource.MustParse("1")}
	for name, quantity := range helper.PodRequests(pod, helper.PodResourcesOptions{}) {
		usage[corev1.DefaultResourceRequestsPrefix+name] = quantity
		if !strings.Contains(string(name), "/") {
			usage[name] = quantity
		}
	}
	for name, quantity := range helper.PodLimits(pod, helper.PodResourcesOptions{}) {
		usage["limits."+name] = quantity
	}
	return usage
}

// unspecified returns a resource that a ResourceQuota limits and that some container does not set, ""
// if there is none. Only for CPU and memory must every container set it.
func unspecified(pod *corev1.Pod, hard corev1.ResourceList) string {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		_, isPlain := hard[name]
		_, isRequest := hard[corev1.DefaultResourceRequestsPrefix+name]
		_, isLimit := hard["limits."+name]
		switch {
		case (isPlain || isRequest) && lacks(pod, name, func(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Requests }):
			return "requests." + string(name)
		case isLimit && lacks(pod, name, func(r *corev1.ResourceRequirements) corev1.ResourceList { return r.Limits }):
			return "limits." + string(name)
		}
	}
	return ""
}

// lacks reports whether neither a Pod nor all of its containers set a resource.
func lacks(pod *corev1.Pod, name corev1.ResourceName, of func(*corev1.ResourceRequirements) corev1.ResourceList) bool {
	has := func(r *corev1.ResourceRequirements) bool { _, is := of(r)[name]; return is }
	if pod.Spec.Resources != nil && has(pod.Spec.Resources) {
		return false
	}
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool { return !has(&c.Resources) })
}

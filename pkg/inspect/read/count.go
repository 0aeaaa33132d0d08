package read

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// manyNamespaces is from how many namespaces on the LimitRanges of all are read in one list.
const manyNamespaces = 4

// countRequests computes what the claims request of which Kueue has not reported that, with the LimitRanges of
// their namespaces. Without these, it is unknown, unless all containers request the same resources.
func (r *factReader) countRequests(ctx context.Context) {
	c := r.facts.Kueue.Capacity
	if c == nil {
		return
	}
	claims := map[string][]*kueue.Claim{}
	for _, claim := range slices.Concat(c.Claims, c.ClaimsWithin) {
		if claim.Templates != nil {
			claims[claim.Namespace] = append(claims[claim.Namespace], claim)
		}
	}
	r.readLimitRangesOf(ctx, c, slices.Sorted(maps.Keys(claims)))
	for namespace, uncounted := range claims {
		r.countWithin(c, namespace, uncounted)
	}
}

// readLimitRangesOf reads the LimitRanges of namespaces: in one list if there are many, and it is allowed.
func (r *factReader) readLimitRangesOf(ctx context.Context, c *inspect.Capacity, namespaces []string) {
	if len(namespaces) >= manyNamespaces && !r.cluster.IsPartial {
		var all []*corev1.LimitRange
		resource := corev1.SchemeGroupVersion.WithResource("limitranges")
		err := listObjects(ctx, r.cluster, resource, "", metav1.ListOptions{}, func(o *corev1.LimitRange) { all = append(all, o) })
		if err == nil {
			c.LimitRanges = all
			c.LimitRangesRead.Insert(namespaces...)
			return
		}
	}
	for _, namespace := range namespaces {
		r.readLimitRanges(ctx, c, namespace)
	}
	r.wg.Wait()
}

// countWithin computes what the claims of a namespace request. Equal claims share the result.
func (r *factReader) countWithin(c *inspect.Capacity, namespace string, claims []*kueue.Claim) {
	limits, isUnread := c.LimitsOf(namespace), c.UnreadLimitRanges(namespace) != nil
	counted := map[*kueue.PodTemplate][]kueue.PodSetRequests{}
	for _, claim := range claims {
		switch templates := claim.Templates; {
		case isUnread && needsLimitRanges(templates):
			claim.Requests = nil
		case isUnread:
		case len(templates) == 0:
		default:
			same, ok := counted[&templates[0]]
			if !ok {
				claim.Count(limits, r.facts.Kueue.CountingRules()[0])
				same = claim.Requests
				counted[&templates[0]] = same
			}
			claim.Requests = same
		}
		claim.Templates = nil
	}
}

// needsLimitRanges reports whether LimitRanges may add a resource to some containers that others request, or to
// containers that request nothing.
func needsLimitRanges(templates []kueue.PodTemplate) bool {
	var named []corev1.ResourceName
	for i := range templates {
		spec := &templates[i].Template.Spec
		for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
			names := slices.Sorted(maps.Keys(c.Resources.Requests))
			if len(names) == 0 || named != nil && !slices.Equal(named, names) {
				return true
			}
			named = names
		}
	}
	return false
}

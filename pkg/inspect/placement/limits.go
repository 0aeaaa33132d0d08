package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	helper "k8s.io/component-helpers/resource"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// outsideLimits is a bound that an amount of a container or Pod violates.
type outsideLimits struct {
	// container is its name, "" for the Pod as a whole.
	container string
	resource  corev1.ResourceName
	// isLimit is whether the amount is a limit of the container or Pod, and not a request.
	isLimit bool
	amount  resource.Quantity
	// isMin is whether the bound is a minimum, and not a maximum.
	isMin bool
	bound resource.Quantity
	// request is what the container or Pod requests, if the bound is how often that fits into the limit.
	request *resource.Quantity
	// lacksLimit is whether the container or Pod has no limit, and the LimitRange requires one.
	lacksLimit bool
	// limitRange is the LimitRange with the bound; empty if it is the container's own limit.
	limitRange string
}

// String says which bound is violated.
func (o *outsideLimits) String() string {
	who, each := "container "+o.container, ""
	if o.container == "" {
		who, each = "a Pod", " per Pod"
	}
	what := fmt.Sprintf("%s requests %s %s", who, o.amount.String(), o.resource)
	switch {
	case o.isLimit && o.lacksLimit:
		return fmt.Sprintf("%s has no %s limit; LimitRange %s requires one of at most %s", who, o.resource, o.limitRange, o.most(each))
	case o.request != nil:
		return fmt.Sprintf("%s has a limit of %s %s and requests %s; LimitRange %s allows at most %s", who, o.amount.String(), o.resource, o.request.String(), o.limitRange, o.most(each))
	case o.isLimit:
		return fmt.Sprintf("%s has a limit of %s %s; LimitRange %s allows at most %s%s", who, o.amount.String(), o.resource, o.limitRange, o.bound.String(), each)
	case o.limitRange == "":
		return fmt.Sprintf("%s, above its own limit of %s", what, o.bound.String())
	case o.isMin:
		return fmt.Sprintf("%s; LimitRange %s demands at least %s%s", what, o.limitRange, o.bound.String(), each)
	}
	return fmt.Sprintf("%s; LimitRange %s allows at most %s%s", what, o.limitRange, o.bound.String(), each)
}

// most returns the largest limit in words. each says whose it is.
func (o *outsideLimits) most(each string) string {
	if o.request != nil {
		return o.bound.String() + " times its request"
	}
	return o.bound.String() + each
}

// fix returns how to change the Pods.
func (o *outsideLimits) fix() string {
	who := "each Pod"
	if o.container != "" {
		who = "container " + o.container
	}
	if o.request != nil {
		return fmt.Sprintf("limit %s to at most %s times its %s request", who, o.bound.String(), o.resource)
	}
	edge := "most"
	if o.isMin {
		edge = "least"
	}
	switch amount := o.bound.String() + " " + string(o.resource); {
	case o.isLimit && o.lacksLimit && o.isExtended():
		return fmt.Sprintf("limit %s to 0 %s", who, o.resource)
	case o.isLimit:
		return fmt.Sprintf("limit %s to at most %s", who, amount)
	case o.container == "" && o.lacksLimit:
		return fmt.Sprintf("request at most %s per Pod, and limit each Pod to that", amount)
	case o.container == "":
		return fmt.Sprintf("request at %s %s per Pod", edge, amount)
	default:
		return fmt.Sprintf("request at %s %s in container %s", edge, amount, o.container)
	}
}

// isNeedless reports whether the Pod requests nothing of a resource of which it lacks a limit, and may have a limit and
// request nothing. By default, it requests as much as its limit.
func (o *outsideLimits) isNeedless() bool {
	return o.lacksLimit && o.isLimit && o.request == nil && o.amount.IsZero() && !o.isExtended()
}

// isExtended reports whether nothing can request less of the resource than its limit.
func (o *outsideLimits) isExtended() bool { return strings.Contains(string(o.resource), "/") }

// ease returns how to change the LimitRange, without its name.
func (o *outsideLimits) ease() string {
	switch {
	case o.isLimit && o.lacksLimit:
		return fmt.Sprintf("set a default %s limit of containers in", o.resource)
	case o.isMin:
		return "lower"
	}
	return "raise"
}

// refuseByLimits decides that the namespace refuses the Pods.
func (s *site) refuseByLimits(o *outsideLimits) bool {
	change, ease := o.fix(), o.ease()
	if s.queue != nil && o.isNeedless() && !slices.Contains(s.queue.Queue.Covered(), string(o.resource)) {
		ease = fmt.Sprintf("set a default %s limit and defaultRequest 0 of containers in", o.resource)
		change = fmt.Sprintf("%s, and request 0 (ClusterQueue %s has no %s quota)", change, s.queue.Name, o.resource)
	}
	if o.limitRange == "" {
		s.change(s.again(inspect.PlacementChange{Message: change + ", or raise its limit"}))
	} else {
		s.change(s.again(s.changeJob("%s, for ", change)))
		s.change(inspect.PlacementChange{
			Message: fmt.Sprintf("%s LimitRange %s in namespace %s of %s", ease, o.limitRange, s.request.Namespace, s.Context),
			Command: command.Kubectl(s.Context, s.request.Namespace, "edit", "limitrange", o.limitRange).Shell(),
		})
	}
	return s.decide(inspect.Never, inspect.OutsideLimits, "%s", o.String())
}

// refusedByLimits returns the bound because of which the namespace refuses the Pods, nil if it does not. ways are
// the ways in which Kueue may count what they request.
func (s *site) refusedByLimits(all []podSetDemand, ways []kueue.CountingRules) *outsideLimits {
	limits := s.capacity.LimitsOf(s.request.Namespace)
	for i := range all {
		spec := &all[i].set.Template.Spec
		for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
			for c := range containers {
				if o := cmp.Or(aboveMaximum(&containers[c], limits), refused(&containers[c], limits)); o != nil {
					return o
				}
			}
		}
		if o := cmp.Or(refusedAsWhole(spec, limits, ways), overcommittedContainer(spec, limits)); o != nil {
			return o
		}
	}
	return nil
}

// refusedAsWhole returns the bound for whole Pods that a Pod violates, nil if it violates none. Kueue compares
// what it requests (kueue: pkg/util/limitrange), and the API server its limits too (kubernetes:
// plugin/pkg/admission/limitranger).
func refusedAsWhole(spec *corev1.PodSpec, limits []corev1.LimitRange, ways []kueue.CountingRules) *outsideLimits {
	pod, options := kueue.AdmittedPod(spec, limits), helper.PodResourcesOptions{ExcludeOverhead: true}
	requests, allowed := helper.PodRequests(pod, options), helper.PodLimits(pod, options)
	for i := range limits {
		for _, item := range limits[i].Spec.Limits {
			if item.Type != corev1.LimitTypePod {
				continue
			}
			o := cmp.Or(outsideAnyway(spec, limits, item, ways), aboveAsWhole(requests, allowed, item), overcommitted(requests, allowed, item))
			if o != nil {
				_, hasLimit := allowed[o.resource]
				o.limitRange, o.lacksLimit = limits[i].Name, o.lacksLimit || !o.isMin && !hasLimit
				return o
			}
		}
	}
	return nil
}

// outsideAnyway returns the bound that a Pod violates in whichever way Kueue counts, nil if it violates none.
func outsideAnyway(spec *corev1.PodSpec, limits []corev1.LimitRange, item corev1.LimitRangeItem, ways []kueue.CountingRules) (o *outsideLimits) {
	for _, by := range ways {
		if o = outside(kueue.Requests(spec, limits, by), item); o == nil {
			return nil
		}
	}
	return o
}

// aboveAsWhole returns the maximum that the limit of a Pod violates, nil if it violates none. A Pod without a limit
// violates it (kubernetes: plugin/pkg/admission/limitranger, maxConstraint). A container always has one: by default, a
// maximum for containers is their limit (kubernetes: pkg/apis/core/v1, SetDefaults_LimitRangeItem).
func aboveAsWhole(requests, allowed corev1.ResourceList, item corev1.LimitRangeItem) *outsideLimits {
	for _, name := range slices.Sorted(maps.Keys(item.Max)) {
		limit, ok := allowed[name]
		if !ok {
			return &outsideLimits{resource: name, isLimit: true, lacksLimit: true, amount: requests[name], bound: item.Max[name]}
		}
		if limit.Cmp(item.Max[name]) > 0 {
			return &outsideLimits{resource: name, isLimit: true, amount: limit, bound: item.Max[name]}
		}
	}
	return nil
}

// overcommitted returns the ratio of limit and request that a container or Pod violates, nil if it violates none.
// Without one of both, it violates any (kubernetes: plugin/pkg/admission/limitranger, limitRequestRatioConstraint).
func overcommitted(requests, allowed corev1.ResourceList, item corev1.LimitRangeItem) *outsideLimits {
	for _, name := range slices.Sorted(maps.Keys(item.MaxLimitRequestRatio)) {
		request, limit, most := requests[name], allowed[name], item.MaxLimitRequestRatio[name]
		ratio := float64(limit.MilliValue()) / float64(request.MilliValue())
		if request.IsZero() || limit.IsZero() || ratio*1000 > float64(most.MilliValue()) {
			return &outsideLimits{resource: name, isLimit: true, lacksLimit: limit.IsZero(), amount: limit, request: &request, bound: most}
		}
	}
	return nil
}

// outside returns the bound of a LimitRange that amounts violate, nil if they violate none. A missing amount
// is 0.
func outside(amounts corev1.ResourceList, item corev1.LimitRangeItem) *outsideLimits {
	for _, name := range slices.Sorted(maps.Keys(item.Max)) {
		if amount := amounts[name]; amount.Cmp(item.Max[name]) > 0 {
			return &outsideLimits{resource: name, amount: amount, bound: item.Max[name]}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(item.Min)) {
		if amount := amounts[name]; amount.Cmp(item.Min[name]) < 0 {
			return &outsideLimits{resource: name, amount: amount, bound: item.Min[name], isMin: true}
		}
	}
	return nil
}

// aboveMaximum returns the LimitRange that does not allow a limit of a container, nil if all are allowed. Kueue
// and the API server compare limits with the maximum, like requests.
func aboveMaximum(c *corev1.Container, limits []corev1.LimitRange) *outsideLimits {
	for _, name := range slices.Sorted(maps.Keys(c.Resources.Limits)) {
		limit := c.Resources.Limits[name]
		for i := range limits {
			for _, item := range limits[i].Spec.Limits {
				if most, ok := item.Max[name]; ok && item.Type == corev1.LimitTypeContainer && limit.Cmp(most) > 0 {
					return &outsideLimits{container: c.Name, resource: name, isLimit: true, amount: limit, bound: most, limitRange: limits[i].Name}
				}
			}
		}
	}
	return nil
}

// refused returns the bound that a request of a container violates, nil if it violates none.
func refused(c *corev1.Container, limits []corev1.LimitRange) *outsideLimits {
	for _, name := range slices.Sorted(maps.Keys(c.Resources.Requests)) {
		o := outsideLimits{container: c.Name, resource: name, amount: c.Resources.Requests[name]}
		if limit, ok := c.Resources.Limits[name]; ok && o.amount.Cmp(limit) > 0 {
			o.bound = limit
			return &o
		}
		for i := range limits {
			o.limitRange = limits[i].Name
			for _, item := range limits[i].Spec.Limits {
				if item.Type != corev1.LimitTypeContainer {
					continue
				}
				if most, ok := item.Max[name]; ok && o.amount.Cmp(most) > 0 {
					o.bound = most
					return &o
				}
				if least, ok := item.Min[name]; ok && o.amount.Cmp(least) < 0 {
					o.isMin, o.bound = true, least
					return &o
				}
			}
		}
	}
	return nil
}

// overcommittedContainer returns the ratio of limit and request that a container of a Pod violates, nil if none does.
func overcommittedContainer(spec *corev1.PodSpec, limits []corev1.LimitRange) *outsideLimits {
	admitted := kueue.AdmittedPod(spec, limits).Spec
	for _, c := range slices.Concat(admitted.InitContainers, admitted.Containers) {
		for i := range limits {
			for _, item := range limits[i].Spec.Limits {
				if item.Type != corev1.LimitTypeContainer {
					continue
				}
				if o := overcommitted(c.Resources.Requests, c.Resources.Limits, item); o != nil {
					o.container, o.limitRange = c.Name, limits[i].Name
					return o
				}
			}
		}
	}
	return nil
}

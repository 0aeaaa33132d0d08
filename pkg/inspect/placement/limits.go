package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

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
	case o.isLimit:
		return fmt.Sprintf("%s has a limit of %s %s; LimitRange %s allows at most %s%s", who, o.amount.String(), o.resource, o.limitRange, o.bound.String(), each)
	case o.limitRange == "":
		return fmt.Sprintf("%s, above its own limit of %s", what, o.bound.String())
	case o.isMin:
		return fmt.Sprintf("%s; LimitRange %s demands at least %s%s", what, o.limitRange, o.bound.String(), each)
	}
	return fmt.Sprintf("%s; LimitRange %s allows at most %s%s", what, o.limitRange, o.bound.String(), each)
}

// fix returns how to change the Pods.
func (o *outsideLimits) fix() string {
	edge := "most"
	if o.isMin {
		edge = "least"
	}
	switch amount := o.bound.String() + " " + string(o.resource); {
	case o.container == "" && o.isLimit:
		return fmt.Sprintf("limit each Pod to at most %s", amount)
	case o.container == "":
		return fmt.Sprintf("request at %s %s per Pod", edge, amount)
	case o.isLimit:
		return fmt.Sprintf("limit container %s to at most %s", o.container, amount)
	default:
		return fmt.Sprintf("request at %s %s in container %s", edge, amount, o.container)
	}
}

// refuseByLimits decides that the namespace refuses the Pods.
func (s *site) refuseByLimits(o *outsideLimits) bool {
	direction, change := "raise", o.fix()
	if o.isMin {
		direction = "lower"
	}
	if o.limitRange == "" {
		s.change(s.again(inspect.PlacementChange{Message: change + ", or raise its limit"}))
	} else {
		s.change(s.again(s.changeJob("%s, for ", change)))
		s.change(inspect.PlacementChange{
			Message: fmt.Sprintf("%s LimitRange %s in namespace %s of %s", direction, o.limitRange, s.request.Namespace, s.Context),
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
		if o := refusedAsWhole(spec, limits, ways); o != nil {
			return o
		}
	}
	return nil
}

// refusedAsWhole returns the bound for whole Pods that a Pod violates, nil if it violates none. Kueue compares
// what it requests (kueue: pkg/util/limitrange), and the API server its limits too (kubernetes:
// plugin/pkg/admission/limitranger).
func refusedAsWhole(spec *corev1.PodSpec, limits []corev1.LimitRange, ways []kueue.CountingRules) *outsideLimits {
	allowed := helper.PodLimits(kueue.AdmittedPod(spec, limits), helper.PodResourcesOptions{})
	for i := range limits {
		for _, item := range limits[i].Spec.Limits {
			if item.Type != corev1.LimitTypePod {
				continue
			}
			var o *outsideLimits
			for _, by := range ways {
				if o = outside(kueue.Requests(spec, limits, by), item); o == nil {
					break
				}
			}
			if o == nil {
				item.Min = nil
				if o = outside(allowed, item); o != nil {
					o.isLimit = true
				}
			}
			if o != nil {
				o.limitRange = limits[i].Name
				return o
			}
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

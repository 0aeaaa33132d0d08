package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// outsideLimits is a bound that an amount of a container violates.
type outsideLimits struct {
	container string
	resource  corev1.ResourceName
	// isLimit is whether the amount is a limit of the container, and not a request.
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
	what := fmt.Sprintf("container %s requests %s %s", o.container, o.amount.String(), o.resource)
	switch {
	case o.isLimit:
		return fmt.Sprintf("container %s has a limit of %s %s; LimitRange %s allows at most %s", o.container, o.amount.String(), o.resource, o.limitRange, o.bound.String())
	case o.limitRange == "":
		return fmt.Sprintf("%s, above its own limit of %s", what, o.bound.String())
	case o.isMin:
		return fmt.Sprintf("%s; LimitRange %s demands at least %s", what, o.limitRange, o.bound.String())
	}
	return fmt.Sprintf("%s; LimitRange %s allows at most %s", what, o.limitRange, o.bound.String())
}

// refuseByLimits decides that the namespace refuses the Pods.
func (s *site) refuseByLimits(o *outsideLimits) bool {
	edge, direction := "most", "raise"
	if o.isMin {
		edge, direction = "least", "lower"
	}
	change := fmt.Sprintf("request at %s %s %s in container %s", edge, o.bound.String(), o.resource, o.container)
	if o.isLimit {
		change = fmt.Sprintf("limit container %s to at most %s %s", o.container, o.bound.String(), o.resource)
	}
	if o.limitRange == "" {
		s.change(inspect.PlacementChange{Message: change + ", or raise its limit"})
	} else {
		s.change(s.changeJob("%s, for ", change))
		s.change(inspect.PlacementChange{
			Message: fmt.Sprintf("%s LimitRange %s in namespace %s of %s", direction, o.limitRange, s.request.Namespace, s.Context),
			Command: command.Kubectl(s.Context, s.request.Namespace, "edit", "limitrange", o.limitRange).Shell(),
		})
	}
	return s.decide(inspect.Never, inspect.OutsideLimits, "%s", o.String())
}

// refusedByLimits returns the bound because of which the namespace refuses the Pods, nil if it does not.
func (s *site) refusedByLimits(all []podSetDemand) *outsideLimits {
	limits := limitsOf(s.capacity, s.request.Namespace)
	for i := range all {
		spec := &all[i].set.Template.Spec
		for _, containers := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
			for c := range containers {
				if o := cmp.Or(aboveMaximum(&containers[c], limits), refused(&containers[c], limits)); o != nil {
					return o
				}
			}
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

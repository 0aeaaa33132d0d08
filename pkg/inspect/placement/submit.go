package placement

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Submit returns where a request that is not submitted yet could run: through
// each cluster of Entries.
func Submit(v *inspect.Inventory, request *Request) []inspect.Placement {
	around := Around(v)
	var all []inspect.Placement
	for _, f := range Entries(v, request) {
		checked := request.on(f.Context)
		here := request.at(f.Context).defaulted(f, checked.As != nil && !request.createsQueueOn(f))
		if checked.Refused != "" {
			p := inspect.NewPlacement(f.Context)
			p.Manager, p.Verdict, p.Reason, p.Message = isManager(f, here), inspect.Never, inspect.RefusedByServer, "its API server rejects it: "+checked.Refused
			if checked.RefusedFix != "" {
				p.Changes = append(p.Changes, inspect.PlacementChange{Message: checked.RefusedFix})
			}
			all = append(all, *p)
			continue
		}
		if !hasCapacity(f) {
			entry := role{isNew: true, isGiven: here.Owner == delegation.MultiKueue}
			all = append(all, *newSite(f, here.classed(f.Context), around, entry, nil).judge())
			continue
		}
		all = append(all, around.through(f, here, nil, true)...)
	}
	return all
}

// Entries returns the clusters that a request would be submitted to: the
// management clusters that have its queue, also if they lack what shows that it
// dispatches. If there are none, these are all management clusters for Jobs of MultiKueue and those whose
// queue exists nowhere, and all clusters for others.
func Entries(v *inspect.Inventory, r *Request) []*inspect.Facts {
	var managers, broken, possible []*inspect.Facts
	for _, f := range v.Clusters {
		with := r.defaulted(f, false)
		switch {
		case isManager(f, with):
			managers = append(managers, f)
		case isBrokenManager(f, with):
			managers, broken = append(managers, f), append(broken, f)
		}
		if hasCapacity(f) && (len(f.Kueue.Clusters) > 0 || f.Kueue.MultiKueueCheck() != nil) {
			possible = append(possible, f)
		}
	}
	switch {
	case len(managers) > len(broken), len(managers) > 0 && r.Owner == delegation.MultiKueue:
		return managers
	case len(possible) > 0 && (r.Owner == delegation.MultiKueue || r.Owner.IsBuiltIn() && lacksQueue(v, r)):
		return possible
	}
	// A worker of a broken manager is no place to submit Jobs to; other clusters are. Where a worker is unknown, each
	// cluster may be it.
	return slices.DeleteFunc(slices.Clone(v.Clusters), func(f *inspect.Facts) bool {
		return !slices.Contains(broken, f) && slices.ContainsFunc(broken, func(manager *inspect.Facts) bool {
			return slices.ContainsFunc(manager.Kueue.ClusterNames(), func(name string) bool {
				context := v.ContextOf(manager, name)
				return context == f.Context || context == ""
			})
		})
	})
}

// lacksQueue reports whether a request names a LocalQueue that no cluster has. It is false if a cluster
// that may have Kueue was not read.
func lacksQueue(v *inspect.Inventory, r *Request) bool {
	return r.Queue != "" && !slices.ContainsFunc(v.Clusters, func(f *inspect.Facts) bool {
		return !f.NoKueue && (!hasCapacity(f) || !misses(r.lookup(f), r))
	})
}

func isManager(f *inspect.Facts, r *Request) bool {
	return hasCapacity(f) && len(candidatesOf(f, r, nil)) > 0
}

// isBrokenManager reports whether a cluster with workers has the LocalQueue of a request, but lacks its ClusterQueue or
// one of the AdmissionChecks of that: whether the queue dispatches is then unknown, and it admits nothing.
func isBrokenManager(f *inspect.Facts, r *Request) bool {
	if !hasCapacity(f) || len(f.Kueue.Clusters) == 0 {
		return false
	}
	route := r.lookup(f).Route(r.Namespace, r.Queue)
	return route.Local.Object != nil && route.Cluster.IsMissing() || lacksCheck(f, route.Cluster.Object)
}

// lacksCheck reports whether an AdmissionCheck of a ClusterQueue does not exist, and none of the others is
// MultiKueue's. The queue is nil if it is unknown.
func lacksCheck(f *inspect.Facts, q *kueue.ClusterQueue) bool {
	var missing *kueue.MissingError
	return q != nil && errors.As(f.LookupAll().MultiKueue(q).Unread, &missing)
}

// isUndefaulted reports whether Kueue's webhook on a cluster does not make MultiKueue the owner of a request although
// its queue gives, or may give, Jobs to MultiKueue: the webhook knows neither a missing or stopped LocalQueue, nor a
// missing ClusterQueue, nor the controller of a missing AdmissionCheck (kueue: pkg/cache/queue/manager.go,
// ClusterQueueFromLocalQueue). MultiKueue then rejects the Job later.
func (r *Request) isUndefaulted(f *inspect.Facts) bool {
	if !hasCapacity(f) || !r.isDefaultable() {
		return false
	}
	route, hasWorkers := r.lookup(f).Route(r.Namespace, r.Queue), len(f.Kueue.Clusters) > 0
	q := route.Cluster.Object
	if q == nil {
		return hasWorkers && (route.Local.IsMissing() || route.Cluster.IsMissing())
	}
	return kueue.IsStopped(route.Local.Object.Spec.StopPolicy) && f.LookupAll().MultiKueue(q).Object != nil || hasWorkers && lacksCheck(f, q)
}

// isDefaultable reports whether Kueue's webhook may set the owner of a request. Of the kinds without known Pods, some
// have none.
func (r *Request) isDefaultable() bool {
	return r.Owner.IsBuiltIn() && (r.PodSets != nil || r.OwnerField != "")
}

// submitAfter returns the step that submits a request after the fix of its queue, none if it may be submitted before.
func (r *Request) submitAfter(f *inspect.Facts) []command.Step {
	if !r.isUndefaulted(f) {
		return nil
	}
	field := ""
	if q := queueOf(f, r); q != nil && f.LookupAll().MultiKueue(q).Object != nil {
		field = cmp.Or(r.OwnerField, "spec.managedBy")
	}
	return []command.Step{kueue.SubmitAfter(field)}
}

// defaulted returns the request with what Kueue's webhook on a cluster sets when it is created: a queue, if it
// has no queue label, and MultiKueue as its owner, if it names no other one and its queue, which is not stopped,
// has a check of MultiKueue (kueue: pkg/controller/jobframework/defaults.go). isTried is whether the cluster itself has
// shown that, in a dry run. Of the kinds without known Pods, some have no owner.
func (r *Request) defaulted(f *inspect.Facts, isTried bool) *Request {
	if isTried || !hasCapacity(f) {
		return r
	}
	with := *r
	if r.Queue == "" && hasDefaultQueue(f, r) {
		with.Queue = DefaultQueue
	}
	if r.Owner.IsBuiltIn() && r.PodSets != nil && with.Queue != "" {
		if q := queueOf(f, &with); q != nil && f.LookupAll().MultiKueue(q).Object != nil && !with.isUndefaulted(f) {
			with.Owner = delegation.MultiKueue
		}
	}
	return &with
}

// hasDefaultQueue reports whether objects without a queue label get the
// default queue in the namespace of a request.
func hasDefaultQueue(f *inspect.Facts, r *Request) bool {
	if !hasCapacity(f) {
		return false
	}
	local, _ := r.lookup(f).LocalQueue(r.Namespace, DefaultQueue)
	return local != nil
}

// refuseOwner decides that no controller would run a request where it is submitted, if that is so:
// MultiKueue runs only its own Jobs (kueue: pkg/controller/admissionchecks/multikueue/workload.go), and they
// run only through a queue that it checks, with a flavor of that queue. queue is nil if it is unknown.
func refuseOwner(own *inspect.Placement, manager *inspect.Facts, queue *kueue.ClusterQueue, r *Request, isNew bool) {
	if queue == nil || r.Owner.IsBuiltIn() {
		return
	}
	check := manager.LookupAll().MultiKueue(queue)
	isDispatched := check.Object != nil
	isWithout := check.IsMissing() && r.Owner == delegation.MultiKueue
	if isFinal(own, isWithout) {
		return
	}
	var missing *kueue.MissingError
	switch {
	case isDispatched && r.Owner != delegation.MultiKueue:
		own.Verdict, own.Reason = inspect.Never, inspect.OwnerRefused
		own.Message = fmt.Sprintf("MultiKueue rejects Jobs of owner %s", r.Owner)
		own.Changes = nil
		if isNew {
			// Later, the field cannot be changed.
			field := cmp.Or(r.OwnerField, "spec.managedBy")
			own.Changes = []inspect.PlacementChange{{Message: fmt.Sprintf("set %s to %s, or use a queue without a MultiKueue check", field, delegation.MultiKueue)}}
		}
	case isWithout:
		own.Verdict, own.Reason = inspect.Never, inspect.NotDispatched
		own.Message = fmt.Sprintf("ClusterQueue %s has no MultiKueue check: Kueue would admit it here, where no controller runs it", queue.Name)
		own.Changes, own.Closed = nil, ""
	case r.Owner == delegation.MultiKueue && errors.As(check.Unread, &missing):
		// Kueue deactivates the queue, with reason AdmissionCheckNotFound.
		own.Verdict, own.Reason = inspect.Never, inspect.QueueInactive
		own.Message = fmt.Sprintf("ClusterQueue %s admits nothing: %s", queue.Name, missing)
		own.Changes = []inspect.PlacementChange{{Message: fmt.Sprintf("create AdmissionCheck %s on %s, or remove it from ClusterQueue %s", missing.Name, own.Context, queue.Name)}}
	case isDispatched && startsWithoutFlavor(own, r):
		// Kueue applies checks to the flavors that a Workload gets (kueue: pkg/workload,
		// AdmissionChecksForWorkload).
		covered := queue.Covered()
		own.Verdict, own.Reason = inspect.Never, inspect.NothingRequested
		own.Message = fmt.Sprintf("requests nothing that ClusterQueue %s covers (%s), so Kueue would admit it without MultiKueue, and no controller would run it", queue.Name, strings.Join(covered, ", "))
		own.Changes = nil
		if isNew {
			own.Changes = []inspect.PlacementChange{{Message: requestAny(covered)}}
		}
	}
}

// isFinal reports whether a request can never run for a reason that comes before the lack of a MultiKueue check, if it
// lacks one.
func isFinal(own *inspect.Placement, lacksCheck bool) bool {
	return own.Verdict == inspect.Never && (!lacksCheck || !isOfQueue(own.Reason))
}

// isOfQueue reports whether a ClusterQueue or its quota is the reason. To change that does not help a request of MultiKueue
// in a ClusterQueue without its check.
func isOfQueue(reason inspect.PlacementReason) bool {
	return slices.Contains([]inspect.PlacementReason{
		inspect.OverLimit, inspect.NoSuchResource, inspect.FlavorMismatch, inspect.SaidByKueue, inspect.QueueStopped, inspect.NamespaceNotSelected,
	}, reason)
}

// startsWithoutFlavor reports whether a request starts Pods that need no flavor.
func startsWithoutFlavor(own *inspect.Placement, r *Request) bool {
	return own.Reason == inspect.HasRoom && len(own.Flavors) == 0 && slices.ContainsFunc(r.PodSets, func(s kueue.PodTemplate) bool { return s.Count > 0 })
}

// suggestQueue adds the LocalQueue that a request should name, if it names none that works: one whose name is like
// it or, without such a name, the one with the best verdict. If the request would run in none of them only because
// it requests nothing that they cover, the change includes that. It suggests a queue only if the request would
// still be submitted to this cluster: a queue that managers have, too, is theirs.
func (a *Surroundings) suggestQueue(own *inspect.Placement, manager *inspect.Facts, r *Request) {
	isMissing := own.Reason == inspect.QueueMissing && own.Verdict == inspect.Never
	if !isMissing && own.Reason != inspect.NoQueueLabel && own.Reason != inspect.NotDispatched {
		return
	}
	works, covers, queues := map[string]inspect.Verdict{}, map[string][]string{}, sets.New[string]()
	for _, q := range slices.Concat(manager.Kueue.Capacity.LocalQueues, manager.Kueue.LocalQueues) {
		if q.Namespace == r.Namespace {
			queues.Insert(q.Name)
		}
	}
	for name := range queues.Delete(r.Queue) {
		other := *r
		other.Queue = name
		if !slices.Contains(Entries(a.inventory, &other), manager) {
			continue
		}
		verdict, reason := a.tried(manager, &other)
		switch {
		case verdict != inspect.Never:
			works[name] = verdict
		case reason == inspect.NothingRequested:
			if resources := a.helpful(manager, &other); len(resources) > 0 {
				covers[name] = resources
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(works), func(a, b string) int {
		return cmp.Or(rank(works[a])-rank(works[b]), cmp.Compare(a, b))
	})
	and := ""
	if len(names) == 0 {
		names = slices.Sorted(maps.Keys(covers))
	}
	if len(names) == 0 {
		return
	}
	name := cmp.Or(delegation.NearestName(r.Queue, names), names[0])
	if resources := covers[name]; len(resources) > 0 {
		and = ", and " + requestAny(resources)
	}
	own.Changes = append([]inspect.PlacementChange{{Message: fmt.Sprintf("use LocalQueue %s: %s%s", name, r.setQueue(name), and)}}, own.Changes...)
}

// tried returns the verdict for a request that is submitted to a cluster, and the reason of the cluster itself.
func (a *Surroundings) tried(manager *inspect.Facts, r *Request) (inspect.Verdict, inspect.PlacementReason) {
	all := a.through(manager, r.defaulted(manager, false), nil, false)
	return Overall(all), all[0].Reason
}

// helpful returns the resources that the queue of a request covers, one of which lets the request run if its Pods
// request it, too.
func (a *Surroundings) helpful(manager *inspect.Facts, r *Request) (resources []string) {
	for _, name := range queueOf(manager, r).Covered() {
		if verdict, _ := a.tried(manager, r.requesting(corev1.ResourceName(name))); verdict != inspect.Never {
			resources = append(resources, name)
		}
	}
	return resources
}

// requesting returns the request with Pods whose first container also requests one of a resource.
func (r *Request) requesting(name corev1.ResourceName) *Request {
	with := *r
	with.PodSets = slices.Clone(r.PodSets)
	for i := range with.PodSets {
		template := with.PodSets[i].Template.DeepCopy()
		if len(template.Spec.Containers) > 0 {
			requests := &template.Spec.Containers[0].Resources.Requests
			if *requests == nil {
				*requests = corev1.ResourceList{}
			}
			(*requests)[name] = resource.MustParse("1")
		}
		with.PodSets[i].Template = *template
	}
	return &with
}

// requestAny says to request one of some resources.
func requestAny(resources []string) string { return "request " + strings.Join(resources, " or ") }

// setQueue returns how to give a request that is not submitted another queue.
func (r *Request) setQueue(name string) string {
	if r.QueueFlag != "" && r.Label == name {
		return "omit " + r.QueueFlag
	}
	text := fmt.Sprintf("set label %s=%s", delegation.QueueNameLabel, name)
	if r.LabelsField != "" {
		text += " in " + r.LabelsField
	}
	if r.QueueFlag != "" {
		text += ", and omit " + r.QueueFlag
	}
	return text
}

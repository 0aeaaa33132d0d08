package placement

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Class has the effects of the classes that a request names, on one cluster.
type Class struct {
	// Priority is that of a WorkloadPriorityClass or, without one, of a
	// PriorityClass. PriorityUnread says why it is unknown. IsNamed is whether the request names the class.
	Priority       int32
	PriorityUnread string
	IsNamed        bool
	// Runtime is the RuntimeClass, nil if the request names none or it was not read. RuntimeUnread says
	// why it was not read.
	Runtime       *nodev1.RuntimeClass
	RuntimeUnread string
	// Missing is the class that does not exist and without which Kueue creates no Workload.
	// MissingForPods is the class without which the API server refuses the Pods. Unread and UnreadForPods say
	// why it is unknown whether such a class exists, "" if the request names none.
	Missing, MissingForPods inspect.ClassName
	Unread, UnreadForPods   string
}

// hasClasses ends the judgment if a class does not exist that the request names.
func (s *site) hasClasses() bool {
	class, missing := s.request.classOn(s.Context), inspect.ClassName{}
	if s.role.isEntry {
		missing = class.Missing
	}
	if !s.role.isGiven {
		missing = cmp.Or(missing, class.MissingForPods)
	}
	if missing == (inspect.ClassName{}) {
		return s.suitsRuntime()
	}
	s.change(inspect.PlacementChange{
		Message: fmt.Sprintf("create it, or name a %s that exists on %s", missing.Kind, s.Context),
		Command: command.Kubectl(s.Context, "", "get", missing.Resource).Shell(),
	})
	return s.decide(inspect.Never, inspect.ClassMissing, "%s %s does not exist", missing.Kind, missing.Name)
}

// awaitWorkload decides that a request waits if it names a Workload that does not exist where it is submitted: Kueue
// creates none for it then, and tries again (kueue: pkg/controller/jobframework/reconciler.go, handleJobWithNoWorkload).
func (s *site) awaitWorkload() {
	namespace, name := s.request.Namespace, s.request.on(s.Context).MissingWorkload
	if name == "" || !s.role.isEntry || s.Verdict == inspect.Never || s.Reason == inspect.NoQueueLabel || s.capacity == nil {
		return
	}
	known := s.Conditions
	*s.Placement = *inspect.NewPlacement(s.Context)
	s.Conditions = known
	s.change(inspect.PlacementChange{Message: fmt.Sprintf("create Workload %s/%s on %s, or remove label %s", namespace, name, s.Context, delegation.PrebuiltWorkload)})
	s.decide(inspect.Waits, inspect.DependencyMissing, "the Job names Workload %s/%s, which does not exist on %s; Kueue keeps it suspended until that exists", namespace, name, s.Context)
}

// needDependencies decides that the Pods of a request never start on a cluster that lacks an object
// that they need, unless the request never gets there.
func (s *site) needDependencies() {
	r, lacking := s.request, s.request.on(s.Context).Lacking
	if s.role.isGiven || len(lacking) == 0 || s.Verdict == inspect.Never || s.Reason == inspect.NamespaceMissing {
		return
	}
	s.decide(inspect.Never, inspect.DependencyMissing, "lacks what the Pods need in namespace %s: %s", r.Namespace, strings.Join(lacking, ", "))
	c := inspect.PlacementChange{Message: fmt.Sprintf("create in namespace %s on %s: %s", r.Namespace, s.Context, strings.Join(lacking, ", "))}
	if name, isAccount := strings.CutPrefix(lacking[0], "ServiceAccount "); isAccount && len(lacking) == 1 {
		c.Command = command.Kubectl(s.Context, r.Namespace, "create", "serviceaccount", name).Shell()
	}
	s.Changes = []inspect.PlacementChange{c}
}

// classed returns the request with the priority that it has where it is submitted: MultiKueue
// gives copies on workers the same one.
func (r *Request) classed(context string) *Request {
	class := r.on(context).Class
	if class == nil {
		return r
	}
	with := *r
	with.Rank.Priority, with.priorityUnread = class.Priority, class.PriorityUnread
	return &with
}

// hasUnreadClass reports whether a request names a class that decides its priority, and that was not read.
func (r *Request) hasUnreadClass() bool {
	return r.priorityUnread != "" && slices.ContainsFunc(slices.Collect(maps.Values(r.Checked)), func(c *Checked) bool {
		return c.Class != nil && c.Class.IsNamed
	})
}

// withOverhead returns the request with the overhead of RuntimeClasses on a cluster, which
// Kueue adds to the Pods that say nothing of it (kueue: pkg/workload/resources.go).
func (r *Request) withOverhead(context string) *Request {
	class := r.classOn(context).Runtime
	if class == nil || class.Overhead == nil {
		return r
	}
	with := *r
	with.PodSets = make([]kueue.PodTemplate, len(r.PodSets))
	for i, set := range r.PodSets {
		if lacksOverhead(&set) {
			set.Template.Spec.Overhead = class.Overhead.PodFixed
		}
		with.PodSets[i] = set
	}
	return &with
}

// lacksOverhead reports whether the overhead of the Pods of a podset is that of their RuntimeClass.
func lacksOverhead(set *kueue.PodTemplate) bool {
	return set.Template.Spec.RuntimeClassName != nil && set.Template.Spec.Overhead == nil
}

// admitted returns the spec of the Pods of a podset with what their RuntimeClass adds to it: overhead,
// node selector and tolerations (kubernetes: plugin/pkg/admission/runtimeclass). isKnown is false if
// that was not read.
func (s *site) admitted(set *kueue.PodTemplate) (spec *corev1.PodSpec, isKnown bool) {
	spec = &set.Template.Spec
	if spec.RuntimeClassName == nil {
		return spec, true
	}
	class := s.request.classOn(s.Context).Runtime
	if class == nil {
		return spec, false
	}
	with := *spec
	if class.Overhead != nil && lacksOverhead(set) {
		with.Overhead = class.Overhead.PodFixed
	}
	if class.Scheduling != nil {
		with.NodeSelector = maps.Clone(class.Scheduling.NodeSelector)
		if with.NodeSelector == nil {
			with.NodeSelector = map[string]string{}
		}
		maps.Copy(with.NodeSelector, spec.NodeSelector)
		with.Tolerations = slices.Concat(spec.Tolerations, class.Scheduling.Tolerations)
	}
	return &with, true
}

// suitsRuntime ends the judgment if the Pods select another value of a label than their RuntimeClass:
// the API server refuses them.
func (s *site) suitsRuntime() bool {
	class := s.request.classOn(s.Context).Runtime
	if class == nil || class.Scheduling == nil || s.role.isGiven {
		return true
	}
	for i := range s.request.PodSets {
		spec := &s.request.PodSets[i].Template.Spec
		for _, key := range slices.Sorted(maps.Keys(class.Scheduling.NodeSelector)) {
			wanted, selected := class.Scheduling.NodeSelector[key], spec.NodeSelector[key]
			if spec.RuntimeClassName == nil || selected == "" || selected == wanted {
				continue
			}
			s.change(s.again(inspect.PlacementChange{Message: fmt.Sprintf("select %s=%s, or name another RuntimeClass", key, wanted)}))
			return s.decide(inspect.Never, inspect.RefusedByServer, "its Pods select %s=%s, and RuntimeClass %s selects %s=%s", key, selected, class.Name, key, wanted)
		}
	}
	return true
}

// namedUnread returns which object that the request names decides a verdict and could not be read, "" if none: a class, or
// its Workload.
func (s *site) namedUnread(v inspect.Verdict) string {
	class, unreadWorkload := s.request.classOn(s.Context), s.request.on(s.Context).UnreadWorkload
	lacks := func(set kueue.PodTemplate) bool { return lacksOverhead(&set) }
	switch {
	case s.own != nil || v == inspect.Never:
	case class.RuntimeUnread != "" && slices.ContainsFunc(s.request.PodSets, lacks):
		return class.RuntimeUnread
	case s.role.isEntry && cmp.Or(unreadWorkload, class.Unread) != "":
		return cmp.Or(unreadWorkload, class.Unread)
	case !s.role.isGiven && class.UnreadForPods != "":
		return class.UnreadForPods
	case s.request.priorityUnread != "" && s.priorityDecides(v):
		return s.request.priorityUnread
	}
	return ""
}

// priorityDecides returns whether another priority may change a verdict: who comes first in
// the queue, and who may be preempted.
func (s *site) priorityDecides(v inspect.Verdict) bool {
	spec := &s.queue.Queue.Spec
	if spec.QueueingStrategy == kueue.StrictFIFO && len(s.queue.Pending) > 0 {
		return true
	}
	within, reclaim := spec.Preemption.WithinClusterQueue, spec.Preemption.ReclaimWithinCohort
	return v == inspect.Waits && (within == kueue.LowerPriority || within == kueue.LowerOrNewer || reclaim == kueue.LowerPriority)
}

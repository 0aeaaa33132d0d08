package placement

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/capacity"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// site judges a request on one cluster.
type site struct {
	facts    *inspect.Facts
	capacity *inspect.Capacity
	request  *Request
	around   *Surroundings
	role     role
	// own is the Workload of the request there, nil if it has none.
	own *kueue.Workload
	// versions says why the verdict depends on the version of Kueue, "" if it does not.
	versions string
	// isUntolerated is whether the scheduler says that its Pods do not tolerate taints, so that admission
	// has added no tolerations.
	isUntolerated bool
	// isStep is whether a fix of the queue is a step of a change that has others.
	isStep bool
	*inspect.Placement
	// origins caches managerOrigins.
	origins sets.Set[string]
	// claim caches ownClaim: nil before the first lookup, without a name if the lookup found none.
	claim *kueue.Claim

	tree  *capacity.Tree
	local *kueue.LocalQueue
	queue *capacity.Node
}

// newSite returns the site of a request on a cluster, of which nothing was judged yet. own is its
// Workload there, nil if it has none. f is nil if nothing was read.
func newSite(f *inspect.Facts, r *Request, around *Surroundings, part role, own *kueue.Workload) *site {
	s := &site{facts: f, request: r, around: around, role: part, own: own, Placement: inspect.NewPlacement("")}
	if f != nil {
		s.Context = f.Context
	}
	return s
}

// judge returns whether the request could run on the cluster.
func (s *site) judge() *inspect.Placement {
	s.quote()
	s.follow([]func(*site) bool{
		(*site).isReached, (*site).isHeld, (*site).hasNamespace, (*site).hasQuota, (*site).hasClasses, (*site).startsPods, (*site).hasQueue, (*site).isPermitted,
		(*site).judgeQuota,
	})
	return s.Placement
}

// follow judges by steps, up to the first one that decides, and by what holds after any of them.
func (s *site) follow(steps []func(*site) bool) {
	for _, step := range steps {
		if !step(s) {
			break
		}
	}
	s.placeByKueue()
	s.countNodes()
	s.needDependencies()
	s.keepResourceQuotas()
	s.keepPodSecurity()
	s.needNamespace()
	s.awaitWorkload()
	if limit := s.PodsAtOnce; limit != nil {
		s.Message += "; " + limit.Text("its")
	}
}

// decide ends the judgment. It returns false, so that steps can return its
// result.
func (s *site) decide(v inspect.Verdict, reason inspect.PlacementReason, format string, arguments ...any) bool {
	s.Verdict, s.Reason, s.Message = v, reason, fmt.Sprintf(format, arguments...)
	return false
}

func (s *site) condition(name string, state inspect.State, format string, arguments ...any) {
	c := inspect.PlacementCondition{Name: name, State: state, Text: fmt.Sprintf(format, arguments...)}
	if i := slices.IndexFunc(s.Conditions, func(known inspect.PlacementCondition) bool { return known.Name == name }); i >= 0 {
		s.Conditions[i] = c
		return
	}
	s.Conditions = append(s.Conditions, c)
}

// because describes why a part could not be read.
func (s *site) because(err error) string {
	if kubecontext.IsRefused(err) {
		// The command says once for all clusters which rights to ask for.
		return kubecontext.InContext(s.Context, "", err).Cause()
	}
	if missing, isSnapshot := kubecontext.NotRecorded(err); isSnapshot {
		return "the snapshot lacks " + missing + "; record a new snapshot"
	}
	return kubecontext.InContext(s.Context, "", err).Message()
}

func (s *site) isReached() bool {
	const name = inspect.ConditionReached
	switch {
	case s.facts == nil:
		s.condition(name, inspect.NotKnown, "?")
		return s.decide(inspect.Unknown, inspect.NoContext, inspect.NoContextReachesIt)
	case s.facts.Err != nil:
		s.condition(name, inspect.No, "no")
		return s.decide(inspect.Unknown, inspect.Unreadable, "%s", s.because(s.facts.Err))
	case s.facts.Gaps[inspect.PartKueue] != nil:
		s.condition(name, inspect.NotKnown, "?")
		return s.decide(inspect.Unknown, inspect.Unreadable, "unknown whether it has Kueue: %s", s.because(s.facts.Gaps[inspect.PartKueue]))
	case s.facts.NoKueue && s.role.isNew && s.request.Queue == "" && s.request.Owner.IsBuiltIn():
		s.condition(name, inspect.Yes, "yes")
		s.condition(inspect.ConditionQueue, inspect.NotKnown, "none")
		return s.decide(inspect.Unknown, inspect.NoQueueLabel, "no Kueue and no queue label, so Kueue does not decide")
	case s.facts.NoKueue:
		s.condition(name, inspect.Yes, "yes")
		s.condition(inspect.ConditionQueue, inspect.No, "no Kueue")
		return s.decide(inspect.Never, inspect.NoKueue, "does not serve Kueue's API")
	case s.facts.Kueue == nil || s.facts.Kueue.Capacity == nil:
		s.condition(name, inspect.Yes, "yes")
		return s.decide(inspect.Unknown, inspect.Unreadable, "its quota was not read")
	}
	s.condition(name, inspect.Yes, "yes")
	s.capacity = s.facts.Kueue.Capacity
	s.tree = s.capacity.Tree()
	return true
}

// hasQuota ends the judgment if quota is already reserved. An evicted Workload is about to lose it.
func (s *site) hasQuota() bool {
	if s.own == nil || !s.own.Is(kueue.QuotaReserved) {
		return true
	}
	isEvicted := s.own.Is(kueue.Evicted)
	if isEvicted && s.own.HadPods() {
		return s.evicted("releases its quota when its Pods are gone")
	}
	if s.awaitsCheck() {
		return false
	}
	if isEvicted {
		return s.evicted("Kueue has not released its quota yet")
	}
	s.condition(inspect.ConditionQuota, inspect.Yes, "reserved")
	return s.decide(inspect.Fits, inspect.HasQuota, "has quota")
}

// evicted decides for an evicted Workload that still has quota.
func (s *site) evicted(until string) bool {
	wait := s.own.Waiting()
	s.condition(inspect.ConditionQuota, inspect.No, "evicted")
	return s.decide(inspect.Waits, inspect.OnHold, "%s; %s", wait.Text(), until)
}

// awaitsCheck decides for a Workload with quota that an AdmissionCheck keeps from running, and reports whether
// one does.
func (s *site) awaitsCheck() bool {
	for _, c := range s.own.Status.AdmissionChecks {
		check := s.facts.Kueue.CheckNamed(c.Name)
		isUnread := check == nil && s.facts.Gaps[inspect.PartChecks] != nil
		switch {
		case check != nil && check.IsMultiKueue(), c.State == kueue.CheckReady:
		case isUnread && len(s.own.Status.Nominated) > 0:
			// MultiKueue nominates clusters only when all other checks are ready.
		case isUnread:
			s.condition(inspect.ConditionQuota, inspect.Yes, "reserved")
			s.condition(inspect.ConditionChecks, inspect.NotKnown, "%s?", c.Name)
			s.decide(inspect.Unknown, inspect.CheckPending, "has quota; AdmissionCheck %s is %s, and cannot be read", c.Name, c.State)
			return true
		default:
			s.condition(inspect.ConditionQuota, inspect.Yes, "reserved")
			s.condition(inspect.ConditionChecks, inspect.No, "%s", c.Name)
			s.decide(inspect.Waits, inspect.CheckPending, "has quota; AdmissionCheck %s %s", c.Name, s.own.Answer(c))
			return true
		}
	}
	return false
}

// isHeld ends the judgment if the Workload itself keeps the request from
// running.
func (s *site) isHeld() bool {
	if s.own == nil {
		return true
	}
	wait := s.own.Waiting()
	if wait.Reason == kueue.ReasonFinished {
		return s.decide(inspect.Never, inspect.OnHold, "Kueue ended its Workload there (%s)", wait.Condition.Reason)
	}
	verdict, reason := inspect.Never, inspect.OnHold
	switch {
	case wait.IsDeactivation():
		reason = inspect.Deactivated
		if wait.IsTransient() {
			verdict = inspect.Waits
		}
	case wait.Reason == kueue.ReasonCheckRejected:
		reason = inspect.CheckRejected
		for _, c := range wait.Checks {
			s.condition(inspect.ConditionChecks, inspect.No, "%s", c.Name)
		}
	case wait.Reason == kueue.ReasonDevicesUnresolved:
		reason = inspect.DevicesUnresolved
	case wait.Reason == kueue.ReasonOnHold:
	case wait.Reason == kueue.ReasonAdmissionGated, wait.Reason == kueue.ReasonPreemptionGated, wait.Reason == kueue.ReasonPodsNotReady:
		verdict = inspect.Waits
	default:
		return true
	}
	s.Changes = append(s.Changes, changesBy(wait.Fixes(s.facts.FixTargetOf(s.request.origin, s.own, s.around.flavors)))...)
	return s.decide(verdict, reason, "%s", wait.Text())
}

// hasNamespace ends the judgment if the namespace of the request was read and takes no new objects.
func (s *site) hasNamespace() bool {
	if s.role.namespace != nil {
		return true
	}
	known, isRead := s.capacity.Namespaces[s.request.Namespace]
	takesObjects := s.takesObjects(known, isRead)
	if isRead && known == nil && !s.role.isEntry && s.request.Queue != "" {
		s.openNamespace()
	}
	return takesObjects
}

// namespaceOf returns the namespace of the request, nil if it does not exist or was not read.
func (s *site) namespaceOf() *inspect.Namespace {
	return cmp.Or(s.role.namespace, s.capacity.Namespaces[s.request.Namespace])
}

// takesObjects ends the judgment if a namespace was read and takes no new objects: nil if it does not
// exist.
func (s *site) takesObjects(namespace *inspect.Namespace, isRead bool) bool {
	const name = inspect.ConditionNamespace
	switch {
	case !isRead:
		s.condition(name, inspect.NotKnown, "?")
	case namespace == nil && s.request.on(s.Context).CreatesNamespace:
		// What else it will have, such as a LocalQueue and ServiceAccounts, is unknown.
		s.condition(name, inspect.NotKnown, "?")
		s.change(createFirst("Namespace", s.request.Namespace))
		return s.decide(inspect.Unknown, inspect.NamespaceMissing, "namespace %s does not exist yet; the input creates it", s.request.Namespace)
	case namespace == nil:
		s.condition(name, inspect.No, "absent")
		s.change(createNamespace(s.Context, s.request.Namespace))
		return s.decide(inspect.Never, inspect.NamespaceMissing, "namespace %s does not exist", s.request.Namespace)
	case namespace.IsTerminating:
		s.condition(name, inspect.No, "terminating")
		return s.decide(inspect.Waits, inspect.NamespaceMissing, "namespace %s is being deleted", s.request.Namespace)
	default:
		s.condition(name, inspect.Yes, "yes")
	}
	return true
}

// needNamespace decides that it is unknown whether a request fits if its namespace could not be read:
// the namespace may not exist, or may refuse the Pods.
func (s *site) needNamespace() {
	r := s.request
	if s.Verdict != inspect.Fits || s.own != nil || s.capacity == nil || s.role.isGiven && r.isIn(s.Context) {
		return
	}
	if err := s.capacity.UnreadNamespace(r.Namespace); err != nil {
		s.decide(inspect.Unknown, inspect.Unreadable, "quota is free; cannot read namespace %s: %s", r.Namespace, s.because(err))
	}
}

// startsPods ends the judgment of a Job that starts no Pods.
func (s *site) startsPods() bool {
	if !s.request.isPaused {
		return true
	}
	c := inspect.PlacementChange{Message: "set spec.parallelism to 1 or more", Command: s.patchParallelism(1)}
	if s.request.origin != nil && isFromTemplate(s.request.origin) {
		c = s.again(c)
	}
	s.change(c)
	return s.decide(inspect.Never, inspect.NoPods, "spec.parallelism is 0, so it starts no Pods")
}

func (s *site) hasQueue() bool {
	const name = inspect.ConditionQueue
	r := s.request
	if r.Queue == "" && r.Owner != delegation.MultiKueue {
		s.condition(name, inspect.NotKnown, "none")
		return s.decide(inspect.Unknown, inspect.NoQueueLabel, "no queue label, so Kueue does not decide")
	}
	if r.Queue == "" {
		s.condition(name, inspect.No, "none")
		return s.decide(inspect.Never, inspect.NoQueueLabel, "no queue label (%s)", delegation.QueueNameLabel)
	}
	local, err := s.findLocal()
	switch {
	case err != nil:
		s.condition(name, inspect.NotKnown, "?")
		return s.decideByMessage("cannot read LocalQueue %s/%s: %s", r.Namespace, r.Queue, s.because(err))
	case local == nil && s.role.isNew && s.role.isEntry:
		// Its manager and workers may all lack the LocalQueue: see openQueue.
		s.condition(name, inspect.No, "absent")
		return s.decide(inspect.Never, inspect.QueueMissing, "LocalQueue %s/%s does not exist", r.Namespace, r.Queue)
	case local == nil:
		return s.lacksLocalQueue()
	}
	s.local = local
	if kueue.IsStopped(local.Spec.StopPolicy) {
		resumed := *local
		resumed.Spec.StopPolicy = ""
		stopped := closure{reason: inspect.QueueStopped, wait: kueue.Wait{Reason: kueue.ReasonLocalQueueStopped}, state: "stopped", opened: through(&resumed)}
		return s.close(&stopped, nil, "LocalQueue %s/%s is stopped (%s)", local.Namespace, local.Name, local.Spec.StopPolicy)
	}
	return s.hasClusterQueue(local.Spec.ClusterQueue)
}

func (s *site) hasClusterQueue(queue string) bool {
	const name = inspect.ConditionQueue
	s.queue = s.tree.Queue(queue)
	if s.queue == nil {
		if err := s.capacity.Gaps[inspect.PartClusterQueues]; err != nil {
			s.condition(name, inspect.NotKnown, "?")
			return s.decideByMessage("%s", s.because(err))
		}
		if s.role.isEntry && slices.Contains(s.request.ClusterQueues, queue) {
			s.condition(name, inspect.NotKnown, "?")
			s.change(createFirst("ClusterQueue", queue))
			return s.decide(inspect.Unknown, inspect.QueueMissing, "ClusterQueue %s does not exist yet; the input creates it", queue)
		}
		s.condition(name, inspect.No, "absent")
		s.fix(kueue.Wait{Reason: kueue.ReasonClusterQueueMissing, Queue: queue}, nil)
		return s.decide(inspect.Never, inspect.QueueMissing, "ClusterQueue %s of LocalQueue %s/%s does not exist", queue, s.local.Namespace, s.local.Name)
	}
	q, inactive := s.queue.Queue, kueue.Wait{Reason: kueue.ReasonClusterQueueInactive, Queue: queue}
	_, isLoop := s.queue.Path()
	switch outage := q.Outage(); {
	case outage != nil && outage.StopPolicy != "":
		stopped := closure{reason: inspect.QueueStopped, wait: inactive, state: "stopped", opened: []func(*site) bool{(*site).isPermitted, (*site).judgeQuota}}
		return s.close(&stopped, q, "ClusterQueue %s is stopped (%s)", q.Name, outage.StopPolicy)
	case outage != nil:
		s.condition(name, inspect.No, "inactive")
		s.fix(inactive, q)
		return s.decide(inspect.Never, inspect.QueueInactive, "ClusterQueue %s is inactive: %s", q.Name, outage.Why())
	case isLoop:
		s.condition(name, inspect.No, "cohort loop")
		s.fix(inactive, q)
		return s.decide(inspect.Never, inspect.QueueInactive, "the cohorts of ClusterQueue %s form a loop", q.Name)
	case meta.FindStatusCondition(q.Status.Conditions, kueue.Active) == nil:
		s.condition(name, inspect.NotKnown, "no status")
	default:
		s.condition(name, inspect.Yes, "active")
	}
	return true
}

// isPermitted reports whether the ClusterQueue accepts Workloads of the
// namespace.
func (s *site) isPermitted() bool {
	q := s.queue.Queue
	excluded := closure{
		reason: inspect.NamespaceNotSelected, wait: kueue.Wait{Reason: kueue.ReasonNamespaceExcluded, Queue: q.Name},
		state: "selects no namespace", opened: []func(*site) bool{(*site).judgeQuota},
	}
	if q.Spec.NamespaceSelector == nil {
		return s.close(&excluded, q, "ClusterQueue %s selects no namespace (no namespaceSelector)", q.Name)
	}
	selector, err := metav1.LabelSelectorAsSelector(q.Spec.NamespaceSelector)
	if err != nil {
		return s.decide(inspect.Unknown, inspect.NamespaceNotSelected, "invalid namespaceSelector of ClusterQueue %s: %v", q.Name, err)
	}
	if selector.Empty() {
		return true
	}
	namespace := s.namespaceOf()
	if namespace == nil {
		return s.decideByMessage("ClusterQueue %s selects namespaces by labels; cannot read those of %s", q.Name, s.request.Namespace)
	}
	if !selector.Matches(labelsOf(namespace)) {
		excluded.state = "not for it"
		return s.close(&excluded, q, "ClusterQueue %s does not select namespace %s (selector %s)", q.Name, namespace.Name, selector)
	}
	return true
}

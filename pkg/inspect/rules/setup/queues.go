package setup

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func queueClosed() view.Rule {
	return view.Rule{
		Code: "JM403", Severity: inspect.Error,
		Reads: view.ReadsOfLinks(inspect.PartQueues),
		Detect: func(v *view.View) {
			links := v.Links()
			for _, manager := range v.Managers() {
				found := queuesToNowhere(v, manager)
				k, _ := v.Kueue(manager, inspect.PartQueues)
				for _, q := range k.MultiKueueQueues() {
					found = append(found, closedFor(v, manager, q, links)...)
				}
				for _, s := range found {
					v.Report(s)
				}
			}
		},
	}
}

// queuesToNowhere describes the LocalQueues of a manager whose ClusterQueue does not exist. Whether
// they were meant for workers is unknown.
func queuesToNowhere(v *view.View, manager *inspect.Facts) (found []view.Sighting) {
	k, ok := v.Kueue(manager, inspect.PartQueues)
	if !ok {
		return nil
	}
	for _, local := range k.LocalQueues {
		if local.DeletionTimestamp == nil && k.ClusterQueueNamed(local.Spec.ClusterQueue) == nil {
			found = append(found, queueToNowhere(manager, local))
		}
	}
	return found
}

// closedFor describes what keeps the queues of one LocalQueue of a manager from admitting Jobs, on
// the manager and on its workers. It is an error if no worker is left.
func closedFor(v *view.View, manager *inspect.Facts, q inspect.QueueOf, links []view.Link) (found []view.Sighting) {
	if !slices.ContainsFunc(links, func(l view.Link) bool { return l.Manager == manager && slices.Contains(q.Workers, l.Cluster.Name) }) {
		return nil
	}
	if s, isClosed := closed(v, manager, q.Local); isClosed {
		found = append(found, s)
	}
	var there []view.Sighting
	without := 0
	for _, l := range links {
		if l.Manager != manager || !slices.Contains(q.Workers, l.Cluster.Name) {
			continue
		}
		local, known := v.LocalQueue(l.Worker, q.Local.Namespace, q.Local.Name)
		if local == nil {
			if known {
				without++ // JM401 or JM402
			}
		} else if s, isClosed := closed(v, l.Worker, local); isClosed {
			there = append(there, s)
		}
	}
	if len(there)+without == len(q.Workers) {
		for i := range there {
			there[i].Severity = inspect.Error
			there[i].Evidence = append(there[i].Evidence, fmt.Sprintf("%s: no worker of LocalQueue %s/%s can admit Jobs", manager.Context, q.Local.Namespace, q.Local.Name))
		}
	}
	return append(found, there...)
}

func queueToNowhere(f *inspect.Facts, local *kueue.LocalQueue) view.Sighting {
	object := view.OfKueue(f, "LocalQueue", local.Namespace, local.Name)
	return view.Sighting{
		Object: object, Cause: object.Context + " " + object.String(), Severity: inspect.Error,
		Message:  fmt.Sprintf("LocalQueue %s/%s names ClusterQueue %s, which does not exist", local.Namespace, local.Name, local.Spec.ClusterQueue),
		Evidence: []string{fmt.Sprintf("%s: spec.clusterQueue of %s is %s", f.Context, object.String(), local.Spec.ClusterQueue)},
		Remedy: command.Say("create ClusterQueue %s, or recreate the LocalQueue for an existing one: %s", local.Spec.ClusterQueue,
			command.Kubectl(f.Context, "", "get", kueue.Resource("ClusterQueue"))),
	}
}

// closed describes why a LocalQueue, or the ClusterQueue behind it, admits nothing: by the nearest
// cause, which counts only once, however many queues and links it affects.
func closed(v *view.View, f *inspect.Facts, local *kueue.LocalQueue) (s view.Sighting, isClosed bool) {
	queue, ok := v.ClusterQueue(f, local.Spec.ClusterQueue)
	object := view.OfKueue(f, "ClusterQueue", "", local.Spec.ClusterQueue)
	switch {
	case kueue.IsStopped(local.Spec.StopPolicy):
		object = view.OfKueue(f, "LocalQueue", local.Namespace, local.Name)
		s = stoppedQueue(object, local.Spec.StopPolicy)
		s.Remedy = kueue.ResumeLocalQueue(f.Context, local.Namespace, local.Name).Prose()
	case queue == nil && !ok:
		return s, false
	case queue == nil:
		return queueToNowhere(f, local), true
	case kueue.IsStopped(queue.Spec.StopPolicy):
		s = stoppedQueue(object, queue.Spec.StopPolicy)
		s.Remedy = advice.ActivateQueue(v, f, queue)
	default:
		active := meta.FindStatusCondition(queue.Status.Conditions, kueue.Active)
		if !view.IsFalse(active) || isReportedElsewhere(v, f, active) {
			return s, false
		}
		s.Severity = inspect.Error
		s.Since, s.Message = active.LastTransitionTime.Time, fmt.Sprintf("ClusterQueue %s is not active: %s", queue.Name, quote.Reason(active))
		s.Evidence = []string{quote.Condition(object, active)}
		s.Remedy = advice.ActivateQueue(v, f, queue)
	}
	s.Object, s.Cause = object, object.Context+" "+object.String()
	return s, true
}

// isReportedElsewhere reports whether other rules report an inactive
// ClusterQueue. On a manager, JM128 does.
func isReportedElsewhere(v *view.View, f *inspect.Facts, active *metav1.Condition) bool {
	return slices.Contains(view.ChainReasons(), active.Reason) || v.IsManager(f)
}

func stoppedQueue(o view.Object, policy string) view.Sighting {
	return view.Sighting{
		Severity: inspect.Warning, Message: fmt.Sprintf("%s is stopped", o.String()),
		Evidence: []string{fmt.Sprintf("%s: spec.stopPolicy of %s is %s", o.Context, o.String(), policy)},
	}
}

func namespaceSelectedOut() view.Rule {
	return view.Rule{
		Code: "JM404", Severity: inspect.Error,
		Reads: view.ReadsOfLinks(inspect.PartQueues, inspect.PartNamespaces),
		Detect: func(v *view.View) {
			for _, l := range v.Links() {
				all := v.DispatchedQueues(l)
				for _, q := range all {
					reportExcluded(v, l.Manager, q.Local)
					if there, _ := v.LocalQueue(l.Worker, q.Local.Namespace, q.Local.Name); there != nil {
						reportExcluded(v, l.Worker, there)
					}
				}
			}
		},
	}
}

func reportExcluded(v *view.View, f *inspect.Facts, local *kueue.LocalQueue) {
	queue, _ := v.ClusterQueue(f, local.Spec.ClusterQueue)
	namespace, ok := v.Namespace(f, local.Namespace)
	if queue == nil || !ok || namespace == nil || view.IsSelected(queue.Spec.NamespaceSelector, namespace) {
		return
	}
	object := view.OfKueue(f, "ClusterQueue", "", queue.Name)
	selector := "unset, which selects none"
	if queue.Spec.NamespaceSelector != nil {
		selector = metav1.FormatLabelSelector(queue.Spec.NamespaceSelector)
	}
	wait := kueue.Wait{Reason: kueue.ReasonNamespaceExcluded, Queue: queue.Name}
	site := v.FixTarget(f)
	site.ClusterQueue, site.LocalQueue, site.Workload = queue, local, &kueue.Workload{}
	site.Workload.Namespace = local.Namespace
	v.Report(view.Sighting{
		Object: object, Cause: object.Context + " " + object.String() + " " + local.Namespace,
		Message:  fmt.Sprintf("ClusterQueue %s excludes namespace %s", queue.Name, local.Namespace),
		Evidence: []string{fmt.Sprintf("%s: spec.namespaceSelector of %s is %s", f.Context, object.String(), selector)},
		Remedy:   command.Alternatives(wait.Fixes(site)),
	})
}

func quotaBeyondWorkers() view.Rule {
	return view.Rule{
		Code: "JM406", Severity: inspect.Warning,
		Reads: view.ReadsOfLinks(inspect.PartQueues),
		Detect: func(v *view.View) {
			finder, isKnown := v.Quotas(), map[string]bool{}
			for _, l := range v.Links() {
				v.CanRead(l.Worker, inspect.PartQueues)
				all := v.DispatchedQueues(l)
				for _, q := range all {
					for _, s := range finder.Shortfalls(l.Manager, q.Local.Namespace, q.Local.Name) {
						key := view.QuotaKey(l.Manager, s.Queue.Name, s.Resource)
						if !isKnown[key] && s.Nominal > s.Total {
							isKnown[key] = true
							reportExcess(v, l.Manager, &s)
						}
					}
				}
			}
		},
	}
}

func reportExcess(v *view.View, manager *inspect.Facts, s *queues.Shortfall) {
	has, total := s.Nominal.Text(s.Resource)+" "+s.Resource, s.Total.Text(s.Resource)
	object := view.OfKueue(manager, "ClusterQueue", "", s.Queue.Name)
	sighting := view.Sighting{
		Object: object, Severity: inspect.Info,
		Message: fmt.Sprintf("ClusterQueue %s has %s; its workers have %s together", s.Queue.Name, has, total),
		Evidence: []string{
			fmt.Sprintf("%s: %s has a nominal quota of %s", manager.Context, object.String(), has),
			fmt.Sprintf("behind it are %s", strings.Join(s.Behind, ", ")),
		},
		Remedy: command.Say("lower nominalQuota of %s to %s, or raise it on workers: %s", s.Resource, goalOf(s), advice.KubectlObject(object, "edit")),
	}
	if s.IsUncovered {
		sighting.Severity = inspect.Warning
		sighting.Message = fmt.Sprintf("ClusterQueue %s has %s; no worker has a quota of it", s.Queue.Name, has)
		sighting.Remedy = command.Say("add %s to %s, or remove it from the manager's ClusterQueue: %s", s.Resource, strings.Join(s.Behind, " or "), advice.KubectlObject(object, "edit"))
	}
	v.Report(sighting)
}

// goalOf returns the quota that a ClusterQueue should have at most. Each flavor has a nominalQuota of its own, so it
// names them if there are several.
func goalOf(s *queues.Shortfall) string {
	total := s.Total.Text(s.Resource)
	if len(s.Flavors) < 2 {
		return total
	}
	return fmt.Sprintf("%s in all flavors together (now %s)", total, strings.Join(s.Flavors, ", "))
}

func nothingDispatched() view.Rule {
	return view.Rule{
		Code: "JM417", Severity: inspect.Warning,
		Reads: view.ReadsOfLinks(inspect.PartQueues),
		Detect: func(v *view.View) {
			links := v.Links()
			for _, f := range v.Managers() {
				reportNothingDispatched(v, f, links)
			}
		},
	}
}

// reportNamespaceNotDispatched reports that none of the LocalQueues of the one namespace that was
// read uses MultiKueue. That may be on purpose, unless workers have the same LocalQueue.
func reportNamespaceNotDispatched(v *view.View, f *inspect.Facts, links []view.Link, locals []*kueue.LocalQueue) {
	if len(locals) == 0 {
		return
	}
	local := locals[0]
	q, _ := v.ClusterQueue(f, local.Spec.ClusterQueue)
	if q == nil {
		// JM401 reports it.
		return
	}
	if _, known := v.QueueDispatches(f, q); !known {
		return
	}
	s := view.Sighting{
		Object: view.OfKueue(f, "LocalQueue", local.Namespace, local.Name), Severity: inspect.Info,
		Message:  fmt.Sprintf("no LocalQueue of namespace %s uses MultiKueue, so no worker gets its Jobs", f.Namespace),
		Evidence: []string{fmt.Sprintf("%s: ClusterQueue %s of LocalQueue %s/%s names no AdmissionCheck of MultiKueue", f.Context, q.Name, local.Namespace, local.Name)},
		Remedy:   command.Say("if workers should run its Jobs, %s", advice.AddMultiKueueCheck(v, f, q)),
	}
	for _, l := range links {
		if there, _ := v.LocalQueue(l.Worker, local.Namespace, local.Name); there != nil && l.Manager == f {
			s.Severity = inspect.Warning
			s.Evidence = append(s.Evidence, fmt.Sprintf("%s: LocalQueue %s/%s exists there too", l.Worker.Context, local.Namespace, local.Name))
		}
	}
	v.Report(s)
}

func reportNothingDispatched(v *view.View, f *inspect.Facts, links []view.Link) {
	checks, isKnown := v.Checks(f)
	k, ok := v.Kueue(f, inspect.PartQueues)
	clusters, _ := v.MultiKueueClusters(f)
	if !ok || !isKnown || len(clusters) == 0 || len(k.MultiKueueQueues()) > 0 {
		return
	}
	if slices.ContainsFunc(checks, func(c *kueue.AdmissionCheck) bool {
		return c.IsMeantForMultiKueue() && slices.ContainsFunc(k.ClusterQueues, func(q *kueue.ClusterQueue) bool { return slices.Contains(q.Checks(), c.Name) })
	}) {
		// JM008 reports that its controllerName is not MultiKueue's.
		return
	}
	if f.Namespace != "" {
		reportNamespaceNotDispatched(v, f, links, k.LocalQueues)
		return
	}
	v.Report(view.Sighting{
		Object:   view.OfKueue(f, "MultiKueueCluster", "", clusters[0].Name),
		Message:  "no LocalQueue uses MultiKueue, so no worker gets Jobs",
		Evidence: []string{fmt.Sprintf("%s: no ClusterQueue with a LocalQueue names an AdmissionCheck of MultiKueue; there are %s", f.Context, inspect.Count(len(clusters), "MultiKueueCluster"))},
		Remedy: command.Say("name the AdmissionCheck in spec.admissionChecksStrategy of a ClusterQueue that has a LocalQueue: %s",
			command.Kubectl(f.Context, "", "get", kueue.Resource("ClusterQueue")+","+kueue.Resource("LocalQueue"), "-A")),
	})
}

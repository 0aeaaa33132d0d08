package rules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/queues"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func queueClosed() Rule {
	return Rule{
		Code: "JM403", Title: "a queue admits nothing", Severity: inspect.Error,
		Holds: "every queue on the way to workers admits Workloads",
		Reads: readsOfLinks(inspect.PartQueues),
		Why: `The queues on both sides have to be open: the LocalQueue and ClusterQueue of the manager, and those of the
same LocalQueue on the worker. One that is stopped, that lacks something it names, or whose ClusterQueue does not exist
admits nothing. That a queue is stopped may be meant, so that is a warning.`,
		Shows: `spec.stopPolicy of the queue is Hold or HoldAndDrain, its condition Active is False, or the LocalQueue
names a ClusterQueue that does not exist. What only waits for its AdmissionChecks is reported by JM008 and JM009.`,
		Remedy: `Resume the queue, or create what its condition says is missing.`,
		Link:   "https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/#stoppolicy",
		Detect: func(v *View) {
			for _, l := range v.links() {
				all := v.dispatchedQueues(l)
				for _, q := range all {
					reportClosed(v, l.manager, q.Local)
					if there, _ := v.LocalQueue(l.worker, q.Local.Namespace, q.Local.Name); there != nil {
						reportClosed(v, l.worker, there)
					}
				}
			}
		},
	}
}

// reportClosed reports that a LocalQueue, or the ClusterQueue behind it, admits nothing: the
// nearest cause, once however many queues and links lead there.
func reportClosed(v *View, f *inspect.Facts, local *kueue.LocalQueue) {
	queue, ok := v.ClusterQueue(f, local.Spec.ClusterQueue)
	object := OfKueue(f, "ClusterQueue", "", local.Spec.ClusterQueue)
	s := Sighting{}
	switch {
	case kueue.IsStopped(local.Spec.StopPolicy):
		object = OfKueue(f, "LocalQueue", local.Namespace, local.Name)
		s = stoppedQueue(object, local.Spec.StopPolicy)
		s.Remedy = kueue.Resume(f.Context, "LocalQueue", local.Namespace, local.Name).Prose()
	case queue == nil && !ok:
		return
	case queue == nil:
		object = OfKueue(f, "LocalQueue", local.Namespace, local.Name)
		s.Message = fmt.Sprintf("LocalQueue %s/%s names ClusterQueue %s, which does not exist", local.Namespace, local.Name, local.Spec.ClusterQueue)
		s.Evidence = []string{fmt.Sprintf("%s: spec.clusterQueue of %s is %s", f.Context, named(object), local.Spec.ClusterQueue)}
		s.Remedy = command.Say("create ClusterQueue %s, or recreate the LocalQueue for one of those that exist: %s", local.Spec.ClusterQueue,
			command.Kubectl(f.Context, "", "get", kueue.Resource("ClusterQueue")))
	case kueue.IsStopped(queue.Spec.StopPolicy):
		s = stoppedQueue(object, queue.Spec.StopPolicy)
		s.Remedy = kueue.Resume(f.Context, "ClusterQueue", "", queue.Name).Prose()
	default:
		active := meta.FindStatusCondition(queue.Status.Conditions, kueue.Active)
		if !isFalse(active) || isReportedElsewhere(v, f, active) {
			return
		}
		s.Since, s.Message = active.LastTransitionTime.Time, fmt.Sprintf("ClusterQueue %s is not active: %s", queue.Name, reasonOf(active))
		s.Evidence = []string{conditionText(object, active)}
		s.Remedy = kueue.Site{Context: f.Context, ClusterQueue: queue}.ActivateQueue(queue.Name).Prose()
	}
	s.Object, s.Cause = object, object.Context+" "+named(object)
	v.Report(s)
}

// isReportedElsewhere is whether other rules report that a ClusterQueue is inactive: on a
// manager, JM128 does.
func isReportedElsewhere(v *View, f *inspect.Facts, active *metav1.Condition) bool {
	return slices.Contains(toldOfQueues(), active.Reason) || isManager(v, f)
}

func stoppedQueue(o Object, policy string) Sighting {
	return Sighting{
		Severity: inspect.Warning, Message: fmt.Sprintf("%s is stopped", named(o)),
		Evidence: []string{fmt.Sprintf("%s: spec.stopPolicy of %s is %s", o.Context, named(o), policy)},
	}
}

func namespaceSelectedOut() Rule {
	return Rule{
		Code: "JM404", Title: "a ClusterQueue excludes a namespace that submits to it", Severity: inspect.Error,
		Holds: "every ClusterQueue selects the namespaces that submit to it",
		Reads: readsOfLinks(inspect.PartQueues, inspect.PartNamespaces),
		Why: `A ClusterQueue admits Workloads of those namespaces only that its namespaceSelector selects. It goes by the
labels of the Namespace on its own cluster, and namespaces that were created on workers often lack the labels that they
have on the manager.`,
		Shows: `spec.namespaceSelector of the ClusterQueue behind a LocalQueue does not match the labels of the
LocalQueue's Namespace.`,
		Remedy: `Label the Namespace as the selector wants, or widen the selector.`,
		Link:   "https://kueue.sigs.k8s.io/docs/concepts/cluster_queue/#namespace-selector",
		Detect: func(v *View) {
			for _, l := range v.links() {
				all := v.dispatchedQueues(l)
				for _, q := range all {
					reportExcluded(v, l.manager, q.Local)
					if there, _ := v.LocalQueue(l.worker, q.Local.Namespace, q.Local.Name); there != nil {
						reportExcluded(v, l.worker, there)
					}
				}
			}
		},
	}
}

func reportExcluded(v *View, f *inspect.Facts, local *kueue.LocalQueue) {
	queue, _ := v.ClusterQueue(f, local.Spec.ClusterQueue)
	namespace, ok := v.Namespace(f, local.Namespace)
	if queue == nil || !ok || namespace == nil || isSelected(queue.Spec.NamespaceSelector, namespace) {
		return
	}
	object := OfKueue(f, "ClusterQueue", "", queue.Name)
	selector := "unset, which selects none"
	if queue.Spec.NamespaceSelector != nil {
		selector = metav1.FormatLabelSelector(queue.Spec.NamespaceSelector)
	}
	wait := kueue.Wait{Reason: kueue.ReasonNamespaceExcluded, Queue: queue.Name}
	site := kueue.Site{Context: f.Context, ClusterQueue: queue, LocalQueue: local, Workload: &kueue.Workload{}}
	site.Workload.Namespace = local.Namespace
	v.Report(Sighting{
		Object: object, Cause: object.Context + " " + named(object) + " " + local.Namespace,
		Message:  fmt.Sprintf("ClusterQueue %s excludes namespace %s", queue.Name, local.Namespace),
		Evidence: []string{fmt.Sprintf("%s: spec.namespaceSelector of %s is %s", f.Context, named(object), selector)},
		Remedy:   command.Alternatives(wait.Fixes(site)),
	})
}

func quotaBeyondWorkers() Rule {
	return Rule{
		Code: "JM406", Title: "a manager's queue has quota that its workers lack", Severity: inspect.Warning,
		Holds: "workers have the quota that manager's queues have",
		Reads: readsOfLinks(inspect.PartQueues),
		Why: `A Job gets quota on the manager first, and then waits for quota on a worker. Quota that only the manager
has is taken by Jobs that wait without end, and no message of Kueue says so. Of a resource that no worker covers, that
is true of every Job. Where the manager merely has more than all workers together, Jobs wait behind each other on the
workers and not on the manager, where priorities and preemption would sort them; this is for information.`,
		Shows: `The nominal quota of a resource in the manager's ClusterQueue is larger than that of the ClusterQueues
behind the same LocalQueue on all workers together, in all flavors. Queues in cohorts are skipped: they may borrow.`,
		Remedy: `Raise the quota of the workers, or lower that of the manager to their sum.`,
		Link:   multiKueuePage,
		Detect: func(v *View) {
			finder, isKnown := queues.NewFinder(v.inventory), map[string]bool{}
			for _, l := range v.links() {
				v.note(l.worker, inspect.PartQueues)
				all := v.dispatchedQueues(l)
				for _, q := range all {
					for _, s := range finder.Shortfalls(l.manager, q.Local.Namespace, q.Local.Name) {
						key := takenOf(l.manager, s.Queue.Name, s.Resource)
						// Where a worker lacks the queue, JM401 and JM402 report that.
						isWhole := len(s.Behind) == len(s.Clusters)
						if !isKnown[key] && isWhole && s.Nominal > s.Total {
							isKnown[key] = true
							v.reportExcess(l.manager, &s)
						}
					}
				}
			}
		},
	}
}

func (v *View) reportExcess(manager *inspect.Facts, s *queues.Shortfall) {
	has, total := s.Nominal.Text(s.Resource)+" "+s.Resource, s.Total.Text(s.Resource)
	object := OfKueue(manager, "ClusterQueue", "", s.Queue.Name)
	sighting := Sighting{
		Object: object, Severity: inspect.Info,
		Message: fmt.Sprintf("ClusterQueue %s has %s; its workers have %s together", s.Queue.Name, has, total),
		Evidence: []string{
			fmt.Sprintf("%s: %s has a nominal quota of %s", manager.Context, named(object), has),
			fmt.Sprintf("behind it are %s", strings.Join(s.Behind, ", ")),
		},
		Remedy: command.Say("lower nominalQuota of %s to %s, or raise it on workers: %s", s.Resource, total, kubectlOn(object, "edit")),
	}
	if s.IsUncovered {
		sighting.Severity = inspect.Warning
		sighting.Message = fmt.Sprintf("ClusterQueue %s has %s; no worker has a quota of it", s.Queue.Name, has)
		sighting.Remedy = command.Say("add %s to %s, or take it out of the manager's ClusterQueue: %s", s.Resource, strings.Join(s.Behind, ", "), kubectlOn(object, "edit"))
	}
	v.Report(sighting)
}

func nothingDispatched() Rule {
	return Rule{
		Code: "JM417", Title: "no LocalQueue leads to MultiKueue", Severity: inspect.Warning,
		Holds: "a LocalQueue of every manager leads to MultiKueue",
		Reads: []inspect.Part{inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters, inspect.PartQueues},
		Why: `MultiKueue dispatches what is submitted to a LocalQueue whose ClusterQueue names an AdmissionCheck of
MultiKueue. Where none does, the workers are connected, and nothing is ever sent to them.`,
		Shows:  `The cluster has MultiKueueClusters, and no LocalQueue whose ClusterQueue names a check of MultiKueue.`,
		Remedy: `Name the AdmissionCheck in spec.admissionChecksStrategy of a ClusterQueue, and create a LocalQueue for it.`,
		Link:   setupPage,
		Detect: func(v *View) {
			for _, f := range v.managers() {
				reportNothingDispatched(v, f)
			}
		},
	}
}

func reportNothingDispatched(v *View, f *inspect.Facts) {
	_, isKnown := v.Checks(f)
	k, ok := v.kueue(f, inspect.PartQueues)
	clusters, _ := v.MultiKueueClusters(f)
	if !ok || !isKnown || f.Namespace != "" || len(clusters) == 0 || len(k.MultiKueueQueues()) > 0 {
		return
	}
	v.Report(Sighting{
		Object:   OfKueue(f, "MultiKueueCluster", "", clusters[0].Name),
		Message:  "no LocalQueue leads to MultiKueue, so no worker gets Jobs",
		Evidence: []string{fmt.Sprintf("%s: no ClusterQueue with a LocalQueue names an AdmissionCheck of MultiKueue; there are %s", f.Context, inspect.Count(len(clusters), "MultiKueueCluster"))},
		Remedy: command.Say("name the AdmissionCheck in spec.admissionChecksStrategy of a ClusterQueue that has a LocalQueue: %s",
			command.Kubectl(f.Context, "", "get", kueue.Resource("ClusterQueue")+","+kueue.Resource("LocalQueue"), "-A")),
	})
}

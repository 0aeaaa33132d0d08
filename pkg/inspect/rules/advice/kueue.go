package advice

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// DispatchingQueue returns a LocalQueue of a Job's namespace that is dispatched to workers,
// QueuePlaceholder if none exists. It prefers a queue whose name is like that in the Job's label. Otherwise,
// it prefers queues through which the Job can run, of these the queues that are not stopped, and of these the
// one that admits most Workloads.
func DispatchingQueue(v *view.View, s view.Submission) string {
	return queueFor(v, s, func(isDispatched bool) bool { return isDispatched })
}

// existingQueue returns a LocalQueue of a Job's namespace for a Job whose queue does not exist,
// QueuePlaceholder if there is none. It prefers as DispatchingQueue does. A Job of the built-in
// controller can use any queue. Unless its label is a typo, it gets a queue that is not
// dispatched, if there is one. For a typo, a queue may also be one whose ClusterQueue is unknown.
func existingQueue(v *view.View, s view.Submission) string {
	found := knownQueue(v, s)
	if delegation.NearestName(s.Job().Queue(), []string{found}) != "" {
		return found
	}
	var unknown []string
	queues, _ := v.LocalQueues(s.Manager, s.Job().Namespace)
	for _, local := range queues {
		if _, known := v.IsDispatched(s.Manager, local.Namespace, local.Name); !known {
			unknown = append(unknown, local.Name)
		}
	}
	return cmp.Or(delegation.NearestName(s.Job().Queue(), unknown), found)
}

// knownQueue returns the queue of existingQueue among those whose ClusterQueues are known.
func knownQueue(v *view.View, s view.Submission) string {
	if !s.Job().ManagedBy.IsBuiltIn() {
		return DispatchingQueue(v, s)
	}
	nearest := queueFor(v, s, func(bool) bool { return true })
	if delegation.NearestName(s.Job().Queue(), []string{nearest}) != "" {
		return nearest
	}
	if local := queueFor(v, s, func(isDispatched bool) bool { return !isDispatched }); local != QueuePlaceholder {
		return local
	}
	return nearest
}

// queueFor returns a LocalQueue of a Job's namespace that isWanted accepts.
func queueFor(v *view.View, s view.Submission, isWanted func(isDispatched bool) bool) string {
	queues, _ := v.LocalQueues(s.Manager, s.Job().Namespace)
	queues = slices.Clone(queues)
	slices.SortStableFunc(queues, func(a, b *kueue.LocalQueue) int {
		return cmp.Compare(b.Status.AdmittedWorkloads, a.Status.AdmittedWorkloads)
	})
	const worst = 5
	var names [worst + 1][]string
	for _, local := range queues {
		if is, known := v.IsDispatched(s.Manager, local.Namespace, local.Name); !known || !isWanted(is) {
			continue
		}
		queue, obstacle := v.QueueBehind(s.Manager, local.Namespace, local.Name), 0
		if kueue.IsStopped(local.Spec.StopPolicy) || queue != nil && kueue.IsStopped(queue.Spec.StopPolicy) {
			obstacle = 1
		}
		if len(v.WorkersWithoutQueue(s.Manager, local.Namespace, local.Name)) > 0 {
			obstacle += 2
		}
		if queue != nil && !MayCover(queue, s.Job()) {
			obstacle += 2
		}
		names[obstacle] = append(names[obstacle], local.Name)
	}
	meant := slices.Concat(names[0], names[2], names[4]) // These are not stopped.
	if len(meant) == 0 {
		meant = slices.Concat(names[1:]...)
	}
	best := append(slices.Concat(names[:]...), QueuePlaceholder)[0]
	return cmp.Or(delegation.NearestName(s.Job().Queue(), meant), best)
}

// MayCover reports whether the Pods of a Job may request something that a ClusterQueue covers. Without
// that, Kueue admits the Job with no flavor, to which no AdmissionCheck applies, so no worker gets it
// (kueue: pkg/workload, AdmissionChecksForWorkload).
func MayCover(q *kueue.ClusterQueue, j *inspect.Job) bool {
	return j.Requests == nil || slices.ContainsFunc(q.Covered(), func(name string) bool {
		return name == string(corev1.ResourcePods) || slices.Contains(j.Requests, name)
	})
}

// OpenQueue returns how to create a LocalQueue on a worker that gets its Jobs, "" if one of its workers has
// or may have it.
func OpenQueue(v *view.View, s view.Submission, queue string) command.Prose {
	workers := v.WorkersWithoutQueue(s.Manager, s.Job().Namespace, queue)
	if len(workers) == 0 {
		return ""
	}
	like := ""
	if q := v.QueueBehind(s.Manager, s.Job().Namespace, queue); q != nil {
		like = q.Name
	}
	w := &kueue.Workload{}
	w.Namespace, w.Spec.QueueName = s.Job().Namespace, queue
	wait := kueue.Wait{Reason: kueue.ReasonLocalQueueMissing}
	return wait.Fixes(FixTargetOf(v, workers[0], w, &wait, like))[0].Prose()
}

// ReplaceKubeconfig returns how to replace a worker's kubeconfig. by says how to make the new
// one.
func ReplaceKubeconfig(manager *inspect.Facts, c *kueue.MultiKueueCluster, by string) command.Prose {
	switch {
	case c.SecretName() != "":
		return command.Say("%s, and then %s", by, manager.KueueHome().WriteSecret(manager.Context, c.SecretName(), c.Name+".kubeconfig"))
	case c.Spec.Source != nil && c.Spec.Source.ClusterProfileRef != nil:
		return command.Say("%s, and put it into ClusterProfile %s on %s", by, c.Spec.Source.ClusterProfileRef.Name, manager.Context)
	}
	return command.Say("%s, and replace the file that MultiKueueCluster %s on %s names", by, c.Name, manager.Context)
}

// RenewCredentials returns how to give a manager new credentials for a worker.
func RenewCredentials(manager *inspect.Facts, c *kueue.MultiKueueCluster) command.Prose {
	return ReplaceKubeconfig(manager, c, fmt.Sprintf("create new credentials for the manager on %s and write them to %s.kubeconfig", c.Name, c.Name))
}

// ShowKueueLogs returns the command that shows Kueue's log.
func ShowKueueLogs(v *view.View, context string) command.Command {
	return v.KueueHome(context).ShowLogs(context)
}

// ReconfigureKueue returns the commands that change Kueue's configuration.
func ReconfigureKueue(v *view.View, context string) command.Prose {
	return v.KueueHome(context).Reconfigure(context)
}

// CheckKueue returns how to find out why Kueue does not act. If it acts on other objects,
// the remedy does not ask whether it runs.
func CheckKueue(v *view.View, context string, a *view.Awaited) command.Prose {
	if a.IsAtWork() {
		return command.Say("read the log of Kueue on %s: %s", context, ShowKueueLogs(v, context))
	}
	return command.Say("check that Kueue runs on %s: %s; read its log: %s", context, kueue.ShowPods(context), ShowKueueLogs(v, context))
}

// CheckActor returns how to find out why an actor does not act.
func CheckActor(v *view.View, actor liveness.Actor, a *view.Awaited) command.Prose {
	switch actor.Role {
	case liveness.RoleKueue:
		return CheckKueue(v, actor.Context, a)
	case liveness.RoleJobController, liveness.RoleTTL:
		return command.Say("check that kube-controller-manager runs on %s. If it runs with leader election, spec.renewTime of this Lease must be at most a few seconds old: %s", actor.Context, ShowControllerLease(actor.Context))
	default:
		return command.Say("check that %s runs, and read its log", actor)
	}
}

// ShowControllerLease returns the command that shows whether kube-controller-manager runs.
func ShowControllerLease(context string) command.Command {
	return command.Kubectl(context, "kube-system", "get", "leases.coordination.k8s.io", "kube-controller-manager", "-o", "yaml")
}

// QueuePlaceholder replaces the name of a LocalQueue that the reader must choose.
const QueuePlaceholder = "LOCALQUEUE"

// FixTargetOf returns the objects that the fixes of a Workload's wait change or name. like is the
// name of a ClusterQueue that fits a missing LocalQueue.
func FixTargetOf(v *view.View, f *inspect.Facts, w *kueue.Workload, wait *kueue.Wait, like string) kueue.FixTarget {
	target := v.FixTarget(f)
	target.Workload = w
	target.LocalQueue, _ = v.LocalQueue(f, w.Namespace, w.Spec.QueueName)
	name := v.ClusterQueueOf(f, w, wait)
	if name == "" {
		name = like
	}
	target.ClusterQueue, _ = v.ClusterQueue(f, name)
	if queues, _ := v.ClusterQueues(f); target.ClusterQueue == nil && wait.Reason == kueue.ReasonLocalQueueMissing {
		target.ClusterQueue = kueue.QueueFor(queues, name)
	}
	return target
}

// ActivateQueue returns how to make a ClusterQueue active.
func ActivateQueue(v *view.View, f *inspect.Facts, q *kueue.ClusterQueue) command.Prose {
	target := v.FixTarget(f)
	target.ClusterQueue = q
	return command.Alternatives(target.ActivateQueue(q.Name))
}

// EndWait returns how to end the wait of a Job's Workload, or of a copy of it. It notes that it reads the queues only
// if the wait is about them.
func EndWait(v *view.View, j *inspect.Job, f *inspect.Facts, w *kueue.Workload, wait *kueue.Wait) command.Prose {
	target := f.FixTargetOf(j, w, nil)
	if !view.IsHeldOtherwise(wait) && (wait.IsForQuota() || wait.IsForQueue()) {
		target = j.FixTarget(FixTargetOf(v, f, w, wait, ""))
	}
	return command.Alternatives(wait.Fixes(target))
}

// LookAtQuotas is the step of a fix that looks at the ResourceQuotas of a namespace of a worker. Once they were read,
// another step replaces it.
const LookAtQuotas = "check its ResourceQuotas"

// TriggerReconcile returns how to have Kueue reconcile Workloads at once. Any change of a Workload does that.
func TriggerReconcile(manager *inspect.Facts, namespace string, names ...string) command.Prose {
	const most = 10 // The command stays readable. Once these have changed, the next check names the others.
	what := "change the Workload, so that Kueue reconciles it"
	switch {
	case len(names) > most:
		what = fmt.Sprintf("change their Workloads, so that Kueue reconciles them (the first %d of %d)", most, len(names))
		names = names[:most]
	case len(names) > 1:
		what = "change their Workloads, so that Kueue reconciles them"
	}
	annotate := kueue.Kubectl(manager.Context, "annotate", "Workload", namespace, names[0]).With(names[1:]...)
	return command.Say("%s: %s, and %s", what, annotate.With("look-again=now"), annotate.With("look-again-"))
}

// TriggerReconciles returns how to have Kueue reconcile the Workloads of several sightings. workloads has their names by Job:
// each sighting is about one.
func TriggerReconciles(manager *inspect.Facts, namespace string, all []view.Sighting, workloads map[*inspect.Job]string) command.Prose {
	names := make([]string, len(all))
	for i := range all {
		names[i] = workloads[all[i].Jobs[0]]
	}
	return TriggerReconcile(manager, namespace, names...)
}

// DropWorker returns how to give up a worker that its manager cannot reach. MultiKueue deletes mirrors over
// this connection. If the worker still has mirrors when it leaves the MultiKueueConfig, MultiKueue starts
// their Jobs elsewhere, and they run twice (JM055).
func DropWorker(manager *inspect.Facts, cluster string) command.Prose {
	return command.Say("to give up worker %s of %s, reconnect it first, or delete its mirrors there; then remove it from the MultiKueueConfig", cluster, manager.Context)
}

// AddMultiKueueCheck returns how to have a ClusterQueue give its Jobs to workers, and that this stops other
// Jobs if the queue has or may have such.
func AddMultiKueueCheck(v *view.View, f *inspect.Facts, q *kueue.ClusterQueue) command.Prose {
	object, check := view.OfKueue(f, "ClusterQueue", "", q.Name), v.MultiKueueCheck(f.Context)
	where := "spec.admissionChecksStrategy of ClusterQueue " + q.Name
	if v.HasOtherWorkloads(f, q) {
		where += fmt.Sprintf(" (stops its Jobs whose managedBy is not %s)", delegation.MultiKueue)
	}
	if check.Name == "" {
		return command.Say("add an AdmissionCheck of MultiKueue to %s: %s", where, KubectlObject(object, "edit"))
	}
	add := KubectlObject(object, "edit")
	if len(q.Checks()) == 0 {
		add = PatchObject(object, []any{map[string]any{"name": check.Name}}, "spec", "admissionChecksStrategy", "admissionChecks")
	}
	return command.Say("add AdmissionCheck %s to %s: %s", check.Name, where, add)
}

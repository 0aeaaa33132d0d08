package waiting

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/liveness"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func namespaceMissing() view.Rule {
	return view.Rule{
		Code: "JM024", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartKueue,
			inspect.PartNamespaces, inspect.PartQueues,
		},
		Detect: func(v *view.View) { reportNoCopy(v, false, missingNamespace) },
	}
}

func copyRefused() view.Rule {
	return view.Rule{
		Code: "JM025", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets, inspect.PartKueue,
			inspect.PartNamespaces, inspect.PartConfigs,
		},
		Detect: func(v *view.View) { reportNoCopy(v, true, refusedCopy) },
	}
}

// reportNoCopy reports nominated, connected workers that have no copy of a
// Workload. hasNamespace selects workers on which the namespace of the
// Workload is usable, or is not.
func reportNoCopy(v *view.View, hasNamespace bool, describe func(*view.View, *waiter, []view.Copy) []view.Sighting) {
	for w := range unadmitted(v) {
		var without []view.Copy
		for _, o := range w.offers {
			if o.Worker == nil || o.Workload != nil || !view.IsTrue(v.Connection(w.Manager, o.Cluster)) {
				continue
			}
			if has, known := v.HasKueue(o.Worker); !has || !known {
				continue
			}
			namespace, known := v.Namespace(o.Worker, w.Workload.Namespace)
			if isUsable := namespace != nil && !namespace.IsTerminating; known && isUsable == hasNamespace {
				without = append(without, o)
			}
		}
		if len(without) == 0 || v.IsAdmittedElsewhere(w.Submission) {
			continue
		}
		for _, s := range describe(v, w, without) {
			v.Report(s)
		}
	}
}

func missingNamespace(v *view.View, w *waiter, without []view.Copy) []view.Sighting {
	name := w.Workload.Namespace
	var contexts, evidence []string
	var remedies []command.Prose
	var sightings []view.Sighting
	for _, o := range without {
		if namespace, _ := v.Namespace(o.Worker, name); namespace != nil {
			sightings = append(sightings, terminatingNamespace(v, w, o, len(without)))
			continue
		}
		contexts = append(contexts, o.Worker.Context)
		evidence = append(evidence, fmt.Sprintf("%s: there is no Namespace %s", o.Worker.Context, name))
		remedies = append(remedies, createNamespace(v, w, o))
	}
	if len(contexts) == 0 {
		return sightings
	}
	s := view.Sighting{
		Object: view.Object{Context: contexts[0], APIVersion: "v1", Kind: "Namespace", Name: name}, Since: v.On(contexts[0], w.Manager.Context, w.since),
		Message:  fmt.Sprintf("Namespace %s does not exist on %s", name, inspect.And(contexts)),
		Evidence: append(evidence, nominationText(w)), Remedy: command.Join(remedies, ", and "),
		Jobs: []*inspect.Job{w.Job()}, Cause: w.Manager.Context + " " + name, Severity: inspect.Warning,
	}
	switch {
	case len(without) == len(w.used):
		s.Severity = inspect.Error
	case w.isStuck(v):
		s.Severity, s.Message = inspect.Error, s.Message+noOtherWorker(w)
	}
	return append(sightings, s)
}

// createNamespace returns how to create a namespace on a worker, with the LocalQueue that a
// Workload needs there.
func createNamespace(v *view.View, w *waiter, o view.Copy) command.Prose {
	create := advice.CreateNamespace(o.Worker.Context, w.Workload.Namespace)
	if !v.CanRead(o.Worker, inspect.PartQueues) || w.Workload.Spec.QueueName == "" {
		return create
	}
	wait, like := &kueue.Wait{Reason: kueue.ReasonLocalQueueMissing}, ""
	if queue := v.QueueBehind(w.Manager, w.Workload.Namespace, w.Workload.Spec.QueueName); queue != nil {
		like = queue.Name
	}
	fixes := wait.Fixes(advice.FixTargetOf(v, o.Worker, w.Workload, wait, like))
	return command.Say("%s, and then %s", create, command.Alternatives(fixes))
}

// terminatingNamespace describes a namespace that is being deleted and
// accepts no new objects.
func terminatingNamespace(v *view.View, w *waiter, o view.Copy, without int) view.Sighting {
	name, context := w.Workload.Namespace, o.Worker.Context
	s := view.Sighting{
		Object: view.Object{Context: context, APIVersion: "v1", Kind: "Namespace", Name: name}, Since: v.On(context, w.Manager.Context, w.since), Severity: inspect.Warning,
		Message:  fmt.Sprintf("Namespace %s is being deleted on %s: nothing can be created in it", name, context),
		Evidence: []string{fmt.Sprintf("%s: Namespace %s is Terminating", context, name), nominationText(w)},
		Remedy: command.Say("check what its deletion waits for: %s; once it is gone, %s", command.Kubectl(context, "", "get", "namespace", name, "-o", "yaml"),
			command.Kubectl(context, "", "create", "namespace", name)),
		Jobs: []*inspect.Job{w.Job()}, Cause: w.Manager.Context + " " + context + " terminating " + name,
	}
	if without == len(w.used) {
		s.Severity = inspect.Error
	}
	return s
}

func refusedCopy(v *view.View, w *waiter, without []view.Copy) []view.Sighting {
	if mayBeTaken(v, w) {
		return nil
	}
	var sightings []view.Sighting
	var refused []view.Copy
	for _, o := range without {
		if created, isNew := newNamespace(v, w, o); isNew {
			sightings = append(sightings, untriedCopy(w, o, created))
		} else {
			refused = append(refused, o)
		}
	}
	if len(refused) == 0 {
		return sightings
	}
	s := view.Sighting{
		Object: view.OfKueue(w.Manager, "MultiKueueCluster", "", refused[0].Cluster), Since: nominatedSince(w),
		Evidence: []string{nominationText(w)},
		Jobs:     []*inspect.Job{w.Job()}, Severity: inspect.Warning,
	}
	var names, contexts, clusters []string
	var pods []command.Prose
	for _, o := range refused {
		names = append(names, fmt.Sprintf("%s (%s)", o.Cluster, o.Worker.Context))
		clusters, contexts = append(clusters, o.Cluster), append(contexts, o.Worker.Context)
		pods = append(pods, kueue.ShowPods(o.Worker.Context).Prose())
		s.Evidence = append(s.Evidence,
			quote.Condition(view.OfKueue(w.Manager, "MultiKueueCluster", "", o.Cluster), v.Connection(w.Manager, o.Cluster)),
			fmt.Sprintf("%s: there is no Workload %s/%s", o.Worker.Context, w.Workload.Namespace, w.Workload.Name))
	}
	s.Cause = w.Manager.Context + " " + strings.Join(clusters, " ")
	is, has, webhook := "is", "has", "webhook runs"
	if len(refused) > 1 {
		is, has, webhook = "are", "have", "webhooks run"
	}
	s.Message = fmt.Sprintf("%s %s nominated, but %s no copy of the Workload", inspect.And(names), is, has)
	search := command.Say("search the log for 'creating remote object': %s", advice.ShowKueueLogs(v, w.Manager.Context))
	check := command.Say("check that Kueue's %s on %s: %s", webhook, inspect.And(contexts), command.Join(pods, " and "))
	if silent := silentWorkers(v, w, refused); len(silent) > 0 {
		// Without Kueue, its webhook refuses the copy, and the manager cannot know that.
		s.Remedy = command.Say("Kueue may not run on %s, so first %s; then %s", inspect.And(silent), check, search)
		for _, context := range silent {
			s.Evidence = append(s.Evidence, fmt.Sprintf("%s: no action of Kueue is known since %s", context, quote.MaybeTime(nominatedSince(w))))
		}
	} else {
		s.Remedy = command.Say("%s; %s", search, check)
	}
	if len(without) == len(w.used) {
		s.Severity = inspect.Error
	}
	steps := awaitsCopies(v, w, refused)
	if !slices.ContainsFunc(steps, (*view.Awaited).IsAtWork) {
		s.Remedy += command.Say("; check that Kueue runs on %s: %s", w.Manager.Context, kueue.ShowPods(w.Manager.Context))
	}
	// Each worker is a step of its own. The judge joins them, because they have the same cause.
	for _, step := range steps {
		s.Awaits = step
		sightings = append(sightings, s)
	}
	return sightings
}

// silentWorkers returns the contexts of workers on which no action of Kueue is known since the
// nomination.
func silentWorkers(v *view.View, w *waiter, offers []view.Copy) []string {
	var silent []string
	nominated := v.ToOurClock(w.Manager.Context, nominatedSince(w))
	for _, o := range offers {
		last := v.LastSeen(liveness.Actor{Role: liveness.RoleKueue, Context: o.Worker.Context})
		if !last.After(nominated) {
			silent = append(silent, o.Worker.Context)
		}
	}
	return silent
}

// nominatedSince returns since when the nominated workers of a waiter lack its copy.
func nominatedSince(w *waiter) time.Time {
	return view.Latest(w.since, inspect.NominatedAt(w.Workload))
}

// awaitsCopies returns the steps of making the copies of a waiter on the workers that lack them. If
// all nominated workers lack them, and none got a copy of another Workload since, Kueue is not
// behind: its attempts fail. Failed attempts take long, so the usual latency says nothing then.
func awaitsCopies(v *view.View, w *waiter, lacking []view.Copy) []*view.Awaited {
	var steps []*view.Awaited
	since := nominatedSince(w)
	isCopying := len(lacking) < len(w.used) || v.Age(w.Manager.Context, since) < copyTime
	for _, o := range lacking {
		a := v.AwaitsReach(w.Manager, w.Workload, liveness.DutyCopy, o.Worker.Context, w.Manager.Context, since)
		isCopying = isCopying || a.LastSimilar.At.After(a.Since)
		steps = append(steps, a)
	}
	for i, a := range steps {
		if a.IsBehind() && !isCopying {
			steps[i] = a.AsSkipping()
		}
	}
	return steps
}

// copyTime is how long MultiKueue may take to copy a Workload to any of its workers.
const copyTime = 30 * time.Second

// untriedCopy describes a worker whose namespace was created after Kueue last tried to create the
// copy there.
func untriedCopy(w *waiter, o view.Copy, created time.Time) view.Sighting {
	f := w.Manager
	return view.Sighting{
		Object: view.OfKueue(f, "MultiKueueCluster", "", o.Cluster), Since: view.Latest(nominatedSince(w), created), Severity: inspect.Info,
		Message: fmt.Sprintf("Kueue has not tried %s (%s) again since Namespace %s was created there", o.Cluster, o.Worker.Context, w.Workload.Namespace),
		Evidence: []string{
			nominationText(w),
			fmt.Sprintf("%s: there is no Workload %s/%s", o.Worker.Context, w.Workload.Namespace, w.Workload.Name),
			fmt.Sprintf("%s: Namespace %s was created at %s", o.Worker.Context, w.Workload.Namespace, quote.MaybeTime(created)),
		},
		Remedy: command.Say("wait: Kueue on %s tries again after a pause; or %s", f.Context, advice.TriggerReconcile(f, w.Workload.Namespace, w.Workload.Name)),
		Jobs:   []*inspect.Job{w.Job()}, Cause: f.Context + " " + o.Cluster + " " + w.Workload.Namespace,
	}
}

// longestPause is the longest time between two tries of a controller (controller-runtime:
// pkg/ratelimiter, workqueue.DefaultTypedControllerRateLimiter).
const longestPause = 1000 * time.Second

// newNamespace returns when the namespace of a Workload was created on a worker, by the manager's
// clock. isNew is whether Kueue may not have tried to create the copy since then.
func newNamespace(v *view.View, w *waiter, o view.Copy) (created time.Time, isNew bool) {
	namespace, _ := v.Namespace(o.Worker, w.Workload.Namespace)
	if namespace == nil || namespace.CreatedAt.IsZero() {
		return time.Time{}, false
	}
	created = v.On(w.Manager.Context, o.Worker.Context, namespace.CreatedAt)
	return created, created.After(w.since) && v.Age(o.Worker.Context, namespace.CreatedAt) < longestPause
}

func nominationText(w *waiter) string {
	return fmt.Sprintf("%s: status.nominatedClusterNames of %s is %s", w.Manager.Context, view.OfWorkload(w.Manager, w.Workload).String(),
		strings.Join(w.Nominated(), ", "))
}

// Package plumbing has the rules about what connects a manager to its workers: MultiKueueClusters,
// checks, configs and ClusterQueues.
package plumbing

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Rules returns JM001 to JM011, JM128, JM133 and JM134.
func Rules() []view.Rule {
	found := []view.Rule{
		kubeconfigMissing(), kubeconfigRefused(), credentialsRefused(), workerOutOfReach(), kindMissingOnWorker(),
		workerForbids(), workerKueueTooOld(), chainBroken(), queueShapeRefused(), clusterProfileUnusable(), fleetPartlyUnusable(),
	}
	for i := range found {
		found[i].Setup = true
	}
	return append(found, queueOutOfService(), managerQuotaTooLarge(), resourceUncovered())
}

// brokenWorker is a MultiKueueCluster that its manager cannot use.
type brokenWorker struct {
	manager *inspect.Facts
	cluster *kueue.MultiKueueCluster
	active  *metav1.Condition
}

func (b *brokenWorker) why() string { return kueue.Fault(b.active) }

func (b *brokenWorker) object() view.Object {
	return view.OfKueue(b.manager, "MultiKueueCluster", "", b.cluster.Name)
}

// unreachable is the code of a worker that its manager cannot reach.
const unreachable = "JM004"

// brokenWorkers returns the MultiKueueClusters whose fault has a code.
func brokenWorkers(v *view.View, code string) []brokenWorker {
	var broken []brokenWorker
	for _, f := range v.Clusters() {
		clusters, _ := v.MultiKueueClusters(f)
		for _, c := range clusters {
			active := meta.FindStatusCondition(c.Status.Conditions, kueue.Active)
			if view.IsFalse(active) && c.DeletionTimestamp == nil && view.ClusterFault(active) == code {
				broken = append(broken, brokenWorker{f, c, active})
			}
		}
	}
	return broken
}

// advise adds the remedy for a broken worker to a sighting, and further
// evidence.
type advise func(*view.View, brokenWorker, *view.Sighting)

// brokenWorkerRule completes a rule about MultiKueueClusters whose fault has the code
// of the rule. Each cluster is reported once, with the Jobs that depend on
// it. more are the parts that tell reads.
func brokenWorkerRule(r view.Rule, describe advise, more ...inspect.Part) view.Rule {
	r.Severity = inspect.Error
	// A Job that is nominated only for clusters that the manager cannot use is one of the Jobs of each of them.
	r.Covers = append(r.Covers, "JM023", "JM043")
	r.Reads = slices.Concat(more, []inspect.Part{
		inspect.PartJobs, inspect.PartWorkloads, inspect.PartQueues, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters,
	})
	r.Detect = func(v *view.View) {
		for _, b := range brokenWorkers(v, r.Code) {
			s := view.Sighting{
				Object: b.object(), Since: b.active.LastTransitionTime.Time,
				Message:  b.message(),
				Evidence: []string{quote.Condition(b.object(), b.active)},
				Jobs:     slices.Concat(jobsDependingOn(v, b.manager, b.cluster.Name), undispatchedFor(v, b)),
			}
			describe(v, b, &s)
			if worker := workerWithoutKueue(v, b); worker != nil {
				describeWithoutKueue(v, b, worker, &s)
			} else {
				b.addFate(v, &s)
			}
			if configs, ok := v.Configs(b.manager); ok && len(s.Jobs) == 0 && len(view.ConfigsNaming(configs, b.cluster.Name)) == 0 {
				s.Severity = inspect.Warning
				s.Evidence = append(s.Evidence, fmt.Sprintf("%s: no MultiKueueConfig names it", b.manager.Context))
			}
			v.Report(s)
		}
	}
	return r
}

// message says that the manager cannot use the worker, and why.
func (b *brokenWorker) message() string {
	return fmt.Sprintf("%s cannot use worker %s: %s", b.manager.Context, b.cluster.Name, b.why())
}

// isLost reports whether the manager has lost the connection to the worker. MultiKueue then takes its
// Jobs back.
func (b *brokenWorker) isLost() bool { return b.active.Reason == "ClientConnectionFailed" }

// addFate adds to the sighting of a broken worker what happens to the Jobs that run there, if any do.
func (b *brokenWorker) addFate(v *view.View, s *view.Sighting) {
	names, kinds := b.running(v)
	isUnreachable := b.isLost() && s.Message == b.message() && view.ClusterFault(b.active) == unreachable && !strings.Contains(s.Message, "x509")
	switch {
	case isUnreachable && len(names) == 0:
		s.Message = fmt.Sprintf("%s is unreachable from %s (%s)", b.object().String(), b.manager.Context, b.why())
	case isUnreachable:
		s.Message = fmt.Sprintf("%s runs %s and is unreachable from %s (%s)", b.object().String(), inspect.Some(names), b.manager.Context, b.why())
	case len(names) == 0:
		return
	case b.isLost():
		s.Message = fmt.Sprintf("%s; it runs %s", s.Message, inspect.Some(names))
	default:
		s.Message = fmt.Sprintf("%s; it runs %s, whose status is not updated", s.Message, inspect.Some(names))
	}
	if b.isLost() && len(names) > 0 {
		b.addRestart(v, s, kinds)
	}
}

// addRestart adds when MultiKueue restarts Jobs of these kinds elsewhere because their worker is lost. Kueue counts
// workerLostTimeout from the first loss of the connection, and again from its own start (kueue:
// pkg/controller/admissionchecks/multikueue/multikueuecluster.go, disconnectedSince).
func (b *brokenWorker) addRestart(v *view.View, s *view.Sighting, kinds []string) {
	them := "them"
	if len(kinds) == 1 {
		them = "the " + kinds[0]
	}
	at := b.active.LastTransitionTime.Add(view.WorkerLostTimeout)
	if v.Now().Before(v.ToOurClock(b.manager.Context, at)) {
		s.Message += fmt.Sprintf("; MultiKueue restarts %s elsewhere after workerLostTimeout, by default at about %s", them, quote.Time(at))
		return
	}
	s.Message += fmt.Sprintf("; MultiKueue has not restarted %s elsewhere, although workerLostTimeout ended by default at about %s", them, quote.Time(at))
	s.Evidence = append(s.Evidence, fmt.Sprintf("%s: if Kueue was restarted, it counts workerLostTimeout from then", b.manager.Context))
	s.Remedy = command.Say("%s; or check that Kueue runs on %s: %s", s.Remedy, b.manager.Context, kueue.ShowPods(b.manager.Context))
}

// running returns the names and the kinds of the Jobs that run on a broken worker.
func (b *brokenWorker) running(v *view.View) (names, kinds []string) {
	submissions := v.Submissions()
	for i := range submissions {
		s := &submissions[i]
		if s.Manager == b.manager && s.Chosen() == b.cluster.Name && s.HasState(kueue.CheckReady) && !s.IsFinished() {
			names, kinds = append(names, s.Job().Namespace+"/"+s.Job().Name), append(kinds, s.Job().Kind)
		}
	}
	return names, kinds
}

// worker is a MultiKueueCluster by its manager and name.
type worker struct {
	manager *inspect.Facts
	name    string
}

// dependingKey is the key under which jobsDependingOn caches its result for all
// rules.
type dependingKey struct{}

// jobsDependingOn returns the Jobs that cannot continue without a worker. They
// were given to it, were nominated for no other usable worker, or wait on
// other workers while it might run them. They are found once for all rules.
func jobsDependingOn(v *view.View, manager *inspect.Facts, name string) []*inspect.Job {
	submissions := v.Submissions()
	depending := view.Once(v, dependingKey{}, func() map[worker][]*inspect.Job { return findDependingJobs(v, submissions) })
	return depending[worker{manager, name}]
}

func findDependingJobs(v *view.View, submissions []view.Submission) map[worker][]*inspect.Job {
	depending := map[worker][]*inspect.Job{}
	for _, s := range submissions {
		names := s.Nominated()
		switch chosen := s.Chosen(); {
		case s.IsFinished():
			continue
		case chosen != "":
			names = []string{chosen}
		case anyUsable(v, s.Manager, names):
			names = v.Missed(s)
		}
		for _, name := range names {
			at := worker{s.Manager, name}
			depending[at] = append(depending[at], s.Job())
		}
	}
	return depending
}

func anyUsable(v *view.View, manager *inspect.Facts, clusters []string) bool {
	for _, name := range clusters {
		c, ok := v.MultiKueueCluster(manager, name)
		if !ok || c != nil && meta.IsStatusConditionTrue(c.Status.Conditions, kueue.Active) {
			return true
		}
	}
	return false
}

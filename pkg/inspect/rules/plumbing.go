package rules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/kueue"
)

// plumbing are the ways in which a manager cannot use its workers (JM001 to JM011).
func plumbing() []Rule {
	found := []Rule{
		kubeconfigMissing(), kubeconfigRefused(), credentialsRefused(), workerOutOfReach(), kindMissingOnWorker(),
		workerForbids(), workerKueueTooOld(), chainBroken(), queueShapeRefused(), clusterProfileUnusable(), fleetPartlyUnusable(),
	}
	for i := range found {
		found[i].Setup = true
	}
	return found
}

// faultOf is the code of the rule that tells of a MultiKueueCluster which is not
// active: the most specific one, so that one cluster is one finding (kueue:
// pkg/controller/admissionchecks/multikueue/multikueuecluster.go).
func faultOf(active *metav1.Condition) string {
	switch active.Reason {
	case "BadKubeConfig", "BadConfig":
		// BadConfig is what Kueue said before 0.14.
		return "JM001"
	case "InsecureKubeConfig":
		return "JM002"
	case "BadClusterProfile", "BadRestConfig", "MultiKueueClusterProfileFeatureDisabled":
		return "JM010"
	}
	return connectionFault(strings.ToLower(active.Message))
}

// connectionFault tells apart what the API of a worker answered. What it did not
// answer to is the network's.
func connectionFault(message string) string {
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(message, p) {
				return true
			}
		}
		return false
	}
	missing := has("no matches for kind", "could not find the requested resource")
	switch {
	case missing && has(`in version "kueue.x-k8s.io/`, ".kueue.x-k8s.io)"):
		return "JM007"
	case missing:
		return "JM005"
	case has("unauthorized", "provide credentials", `user "system:anonymous"`,
		"tls: bad certificate", "tls: expired certificate", "tls: certificate required", "tls: unknown certificate"):
		return "JM003"
	case has("forbidden"):
		return "JM006"
	}
	return "JM004"
}

// brokenWorker is a MultiKueueCluster that its manager cannot use.
type brokenWorker struct {
	manager *inspect.Facts
	cluster *kueue.MultiKueueCluster
	active  *metav1.Condition
}

// why is what the manager says, in a line, without what changes at each attempt.
func (b *brokenWorker) why() string {
	message, _, _ := strings.Cut(b.active.Message, "; connection attempts:")
	message = strings.TrimPrefix(message, "load client config failed: ")
	if message == "" {
		message = b.active.Reason
	}
	return strings.Join(strings.Fields(message), " ")
}

func (b *brokenWorker) object() Object {
	return OfKueue(b.manager, "MultiKueueCluster", "", b.cluster.Name)
}

// brokenWorkers are those whose fault has that code.
func brokenWorkers(v *View, code string) []brokenWorker {
	var broken []brokenWorker
	for _, f := range v.Clusters() {
		clusters, _ := v.MultiKueueClusters(f)
		for _, c := range clusters {
			active := meta.FindStatusCondition(c.Status.Conditions, kueue.Active)
			if isFalse(active) && c.DeletionTimestamp == nil && faultOf(active) == code {
				broken = append(broken, brokenWorker{f, c, active})
			}
		}
	}
	return broken
}

// advice says what to do about one broken worker, and what else there is to see.
type advice func(*View, brokenWorker) (remedy command.Prose, evidence []string)

// readsOfBroken are the parts that detectBroken reads.
func readsOfBroken(more ...inspect.Part) []inspect.Part {
	return append(more, inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters)
}

// detectBroken reports the MultiKueueClusters whose fault has that code, each once
// with the Jobs that hang on it.
func detectBroken(code string, advise advice) func(*View) {
	return detectBrokenWith(code, advise, func(*View, brokenWorker) []*inspect.Job { return nil })
}

// detectBrokenWith does so where further Jobs may hang on it.
func detectBrokenWith(code string, advise advice, also func(*View, brokenWorker) []*inspect.Job) func(*View) {
	return func(v *View) {
		broken := brokenWorkers(v, code)
		if len(broken) == 0 {
			return
		}
		hanging := hangingOn(v)
		for _, b := range broken {
			remedy, more := advise(v, b)
			s := Sighting{
				Object: b.object(), Since: b.active.LastTransitionTime.Time,
				Message:  fmt.Sprintf("%s cannot use worker %s: %s", b.manager.Context, b.cluster.Name, b.why()),
				Evidence: append([]string{conditionText(b.object(), b.active)}, more...), Remedy: remedy,
				Jobs: append(hanging[worker{b.manager, b.cluster.Name}], also(v, b)...),
			}
			if len(s.Jobs) == 0 && !isUsed(v, b) {
				s.Severity = inspect.Warning
				s.Evidence = append(s.Evidence, fmt.Sprintf("%s: no MultiKueueConfig names it", b.manager.Context))
			}
			v.Report(s)
		}
	}
}

// isUsed is whether a MultiKueueConfig names the worker, as far as that is known.
func isUsed(v *View, b brokenWorker) bool {
	configs, ok := v.Configs(b.manager)
	return !ok || slices.ContainsFunc(configs, func(c *kueue.MultiKueueConfig) bool {
		return slices.Contains(c.Spec.Clusters, b.cluster.Name)
	})
}

// worker is a MultiKueueCluster by its manager and name.
type worker struct {
	manager *inspect.Facts
	name    string
}

// hangingOn are the Jobs that cannot go on without a worker: those that were given
// to it, and those that may go to no other that is usable.
func hangingOn(v *View) map[worker][]*inspect.Job {
	found := map[worker][]*inspect.Job{}
	for _, s := range v.Submissions() {
		if s.IsFinished() {
			continue
		}
		if chosen := s.Chosen(); chosen != "" {
			found[worker{s.Manager, chosen}] = append(found[worker{s.Manager, chosen}], s.Job())
			continue
		}
		if anyUsable(v, s.Manager, s.Nominated()) {
			continue
		}
		for _, name := range s.Nominated() {
			found[worker{s.Manager, name}] = append(found[worker{s.Manager, name}], s.Job())
		}
	}
	return found
}

func anyUsable(v *View, manager *inspect.Facts, clusters []string) bool {
	for _, name := range clusters {
		c, ok := v.MultiKueueCluster(manager, name)
		if !ok || c != nil && meta.IsStatusConditionTrue(c.Status.Conditions, kueue.Active) {
			return true
		}
	}
	return false
}

package rules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
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

// advice says of one broken worker what to do about it, and whatever else there is to say.
type advice func(*View, brokenWorker, *Sighting)

// ofBroken makes it the rule of the MultiKueueClusters whose fault has its code, each told
// once with the Jobs that hang on it. more are the parts that the advice reads.
func (r Rule) ofBroken(advise advice, more ...inspect.Part) Rule {
	r.Severity = inspect.Error
	r.Reads = slices.Concat(more, []inspect.Part{inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartConfigs, inspect.PartClusters})
	r.Detect = func(v *View) {
		for _, b := range brokenWorkers(v, r.Code) {
			s := Sighting{
				Object: b.object(), Since: b.active.LastTransitionTime.Time,
				Message:  fmt.Sprintf("%s cannot use worker %s: %s", b.manager.Context, b.cluster.Name, b.why()),
				Evidence: []string{conditionText(b.object(), b.active)}, Jobs: slices.Clone(v.hangingOn(b.manager, b.cluster.Name)),
			}
			advise(v, b, &s)
			if configs, ok := v.Configs(b.manager); ok && len(s.Jobs) == 0 && len(naming(configs, b.cluster.Name)) == 0 {
				s.Severity = inspect.Warning
				s.Evidence = append(s.Evidence, fmt.Sprintf("%s: no MultiKueueConfig names it", b.manager.Context))
			}
			v.Report(s)
		}
	}
	return r
}

// naming are the names of those configs that have any of some clusters.
func naming(configs []*kueue.MultiKueueConfig, clusters ...string) []string {
	var found []string
	for _, c := range configs {
		if slices.ContainsFunc(clusters, func(name string) bool { return slices.Contains(c.Spec.Clusters, name) }) {
			found = append(found, c.Name)
		}
	}
	return found
}

// worker is a MultiKueueCluster by its manager and name.
type worker struct {
	manager *inspect.Facts
	name    string
}

// hangingOn are the Jobs that cannot go on without a worker: those that were given
// to it, and those that may go to no other that is usable. They are found once for all rules.
func (v *View) hangingOn(manager *inspect.Facts, name string) []*inspect.Job {
	submissions := v.Submissions()
	if v.shared.hanging == nil {
		v.shared.hanging = map[worker][]*inspect.Job{}
		for _, s := range submissions {
			names := s.Nominated()
			switch chosen := s.Chosen(); {
			case s.IsFinished():
				continue
			case chosen != "":
				names = []string{chosen}
			case anyUsable(v, s.Manager, names):
				continue
			}
			for _, name := range names {
				at := worker{s.Manager, name}
				v.shared.hanging[at] = append(v.shared.hanging[at], s.Job())
			}
		}
	}
	return v.shared.hanging[worker{manager, name}]
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

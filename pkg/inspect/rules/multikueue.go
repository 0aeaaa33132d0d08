package rules

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Submission is an object that stands in a queue of Kueue's, or says that MultiKueue
// manages it, with what its management cluster knows of it.
type Submission struct {
	// Pair has the Job as its origin, even where it is not delegated.
	Pair inspect.Pair
	// Manager is the cluster that the Job is on.
	Manager *inspect.Facts
	// Workload is what Kueue has made for it, nil if it made nothing, or if that
	// could not be read.
	Workload *kueue.Workload
	// Check is how MultiKueue's AdmissionCheck stands, nil if the Workload has none.
	Check *kueue.CheckState
	// WorkloadKnown is whether Workloads could be read.
	WorkloadKnown bool
}

// Job is the Job that was submitted.
func (s *Submission) Job() *inspect.Job { return s.Pair.Origin }

// IsMultiKueues is whether MultiKueue has it: by its owner, or where its kind has no
// managedBy, by the check of its Workload.
func (s *Submission) IsMultiKueues() bool {
	return s.Job().ManagedBy == delegation.MultiKueue || s.Check != nil && s.Job().Row().IsUnmanaged()
}

// Chosen is the MultiKueueCluster that it was given to, "" if none.
func (s *Submission) Chosen() string {
	if s.Workload == nil {
		return ""
	}
	return s.Workload.ChosenCluster()
}

// chosenOf quotes to which MultiKueueCluster a Workload was given.
func chosenOf(context string, w *kueue.Workload) string {
	chosen, field := w.Chosen()
	return fmt.Sprintf("%s: %s of Workload %s/%s is %s", context, field, w.Namespace, w.Name, cmp.Or(chosen, "not set"))
}

// Nominated are the MultiKueueClusters that may have it.
func (s *Submission) Nominated() []string {
	if s.Workload == nil {
		return nil
	}
	return s.Workload.Status.Nominated
}

// HasQuota is whether the manager has reserved quota for it.
func (s *Submission) HasQuota() bool {
	return s.Workload != nil && s.Workload.Is(kueue.QuotaReserved)
}

// IsFinished is whether the Job or its Workload has finished.
func (s *Submission) IsFinished() bool {
	return s.Job().Status.IsFinished() || s.Workload != nil && s.Workload.Is(kueue.Finished)
}

// WaitsForWorkers is whether all that is missing is a worker that takes it: the
// manager has quota for it, and MultiKueue's check is pending.
func (s *Submission) WaitsForWorkers() bool {
	return !s.IsFinished() && s.HasQuota() && s.Check != nil && s.Check.State == kueue.CheckPending && s.Chosen() == ""
}

// isMultiKueues says whether MultiKueue moves the origin of a pair: by its owner, or
// where its kind has no managedBy, by its mirrors.
func isMultiKueues(p inspect.Pair) bool {
	return p.Origin.ManagedBy == delegation.MultiKueue || p.Origin.ManagedBy.IsBuiltIn() && p.Origin.Row().IsUnmanaged()
}

// Submissions are the objects that were submitted to MultiKueue: those that it
// manages, and those in a queue of a cluster that dispatches. What stands in queues
// of workers, mirrors, templates, and parts of what was submitted itself are not
// among them. They are found once for all rules, and nobody may change them.
func (v *View) Submissions() []Submission {
	v.read.Insert(inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks)
	if v.shared.submissions == nil {
		v.shared.submissions = v.findSubmissions()
	}
	return v.shared.submissions
}

func (v *View) findSubmissions() []Submission {
	found := []Submission{}
	unmanaged := map[*inspect.Job]inspect.Pair{}
	for _, p := range v.Pairs() {
		if p.Origin.ManagedBy == delegation.MultiKueue {
			found = append(found, v.submission(p))
		} else if p.Origin.ManagedBy.IsBuiltIn() {
			unmanaged[p.Origin] = p
		}
	}
	for _, f := range v.Clusters() {
		if !v.Dispatches(f) {
			continue
		}
		for _, j := range v.Jobs(f) {
			if !j.ManagedBy.IsBuiltIn() || j.Queue() == "" || j.MultiKueueOrigin() != "" || j.IsPart() || j.Row().Template {
				continue
			}
			p, known := unmanaged[j]
			if !known {
				p = inspect.Pair{Origin: j}
			}
			found = append(found, v.submission(p))
		}
	}
	return found
}

// Dispatches is whether a cluster has an AdmissionCheck of MultiKueue's.
func (v *View) Dispatches(f *inspect.Facts) bool {
	k, _ := v.kueue(f, inspect.PartChecks)
	return k.MultiKueueCheck() != nil
}

func (v *View) submission(p inspect.Pair) Submission {
	f := v.inventory.Facts(p.Origin.Context)
	s := Submission{Pair: p, Manager: f}
	workloads, ok := v.WorkloadsOf(p, f)
	s.WorkloadKnown = ok
	if len(workloads) == 0 {
		return s
	}
	s.Workload = inspect.Present(workloads)
	s.Check = v.checkState(f, s.Workload)
	return s
}

// checkState is how MultiKueue's check stands for a Workload, nil if it has none.
func (v *View) checkState(f *inspect.Facts, w *kueue.Workload) *kueue.CheckState {
	k, _ := v.kueue(f, inspect.PartChecks)
	return k.StateOf(w)
}

// Copy is the Workload that MultiKueue made of a submission on a worker.
type Copy struct {
	// Cluster is the MultiKueueCluster, Worker what was read of it.
	Cluster  string
	Worker   *inspect.Facts
	Workload *kueue.Workload
}

// Copies are the Workloads of a submission on those workers that could be read:
// the nominated ones, the chosen one, and every other that has one. They are found once
// for all rules, and nobody may change them.
func (v *View) Copies(s Submission) []Copy {
	v.read.Insert(inspect.PartWorkloads, inspect.PartClusters, inspect.PartSecrets)
	copies, known := v.shared.copies[s.Job()]
	if !known {
		copies = v.findCopies(s)
		if v.shared.copies == nil {
			v.shared.copies = map[*inspect.Job][]Copy{}
		}
		v.shared.copies[s.Job()] = copies
	}
	return copies
}

func (v *View) findCopies(s Submission) []Copy {
	var copies []Copy
	for _, worker := range v.workersOf(s.Manager) {
		workloads, _ := v.WorkloadsOf(s.Pair, worker.facts)
		for _, w := range workloads {
			copies = append(copies, Copy{worker.cluster, worker.facts, w})
		}
	}
	return copies
}

// workerOf is a MultiKueueCluster of a manager, and what was read of it; nil where nothing
// was, or where it is the manager itself.
type workerOf struct {
	cluster string
	facts   *inspect.Facts
}

// workersOf are the MultiKueueClusters of a manager. They are found once for all rules.
func (v *View) workersOf(manager *inspect.Facts) []workerOf {
	clusters, _ := v.MultiKueueClusters(manager)
	v.read.Insert(inspect.PartSecrets)
	workers, known := v.shared.workers[manager]
	if !known {
		for _, c := range clusters {
			facts, _ := v.Worker(manager, c.Name)
			if facts == manager {
				facts = nil
			}
			workers = append(workers, workerOf{c.Name, facts})
		}
		if v.shared.workers == nil {
			v.shared.workers = map[*inspect.Facts][]workerOf{}
		}
		v.shared.workers[manager] = workers
	}
	return workers
}

// activeOf is what a manager says of its connection to a MultiKueueCluster; nil where it
// says nothing, or there is none of that name.
func (v *View) activeOf(manager *inspect.Facts, cluster string) *metav1.Condition {
	c, _ := v.MultiKueueCluster(manager, cluster)
	if c == nil {
		return nil
	}
	return meta.FindStatusCondition(c.Status.Conditions, kueue.Active)
}

// isTrue says whether a condition is there, and true.
func isTrue(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

// isFalse says whether a condition is there, and false.
func isFalse(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionFalse }

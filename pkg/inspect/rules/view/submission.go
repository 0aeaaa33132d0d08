package view

import (
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// Submission is an object that was submitted to MultiKueue, by its owner or by its queue, with
// what its management cluster knows about it.
type Submission struct {
	// Pair has the Job as its origin, even if it is not delegated.
	Pair inspect.Pair
	// Manager is the cluster that the Job is on.
	Manager *inspect.Facts
	// Workload is what Kueue created for the Job, nil if it created none or could not be read.
	Workload *kueue.Workload
	// Check is the state of MultiKueue's AdmissionCheck, nil if the Workload has none.
	Check *kueue.CheckState
	// WorkloadKnown is whether Workloads could be read.
	WorkloadKnown bool
}

// Job returns the Job that was submitted.
func (s *Submission) Job() *inspect.Job { return s.Pair.Origin }

// IsMultiKueues reports whether MultiKueue manages the Job: by its owner or, if its kind has
// no managedBy, by the check of its Workload.
func (s *Submission) IsMultiKueues() bool {
	return s.Job().ManagedBy == delegation.MultiKueue || s.Check != nil && s.Job().Row().IsUnmanaged()
}

// Chosen returns the MultiKueueCluster that got the Job, "" if none.
func (s *Submission) Chosen() string {
	if s.Workload == nil {
		return ""
	}
	return s.Workload.ChosenCluster()
}

// Nominated returns the MultiKueueClusters that were nominated for the Job.
func (s *Submission) Nominated() []string {
	if s.Workload == nil {
		return nil
	}
	return s.Workload.Status.Nominated
}

// HasQuota reports whether the manager has reserved quota for the Job.
func (s *Submission) HasQuota() bool {
	return s.Workload != nil && s.Workload.Is(kueue.QuotaReserved)
}

// IsFinished reports whether the Job or its Workload has finished.
func (s *Submission) IsFinished() bool {
	return s.Job().Status.IsFinished() || s.Workload != nil && s.Workload.Is(kueue.Finished)
}

// WaitsForWorkers reports whether only a worker that takes the Job is missing: the manager has
// reserved quota, and MultiKueue's check is pending.
func (s *Submission) WaitsForWorkers() bool {
	return !s.IsFinished() && s.HasQuota() && s.Check != nil && s.Check.State == kueue.CheckPending && s.Chosen() == ""
}

// IsMultiKueues reports whether MultiKueue dispatches the origin of a pair: by its owner or,
// if its kind has no managedBy, by its mirrors.
func IsMultiKueues(p inspect.Pair) bool {
	return p.Origin.ManagedBy == delegation.MultiKueue || p.Origin.ManagedBy.IsBuiltIn() && p.Origin.Row().IsUnmanaged()
}

// Submissions returns the objects that were submitted to MultiKueue: those that it manages,
// and those in a queue of a cluster that dispatches. It leaves out mirrors, templates, objects
// in queues of workers, and parts of other objects. They are found once for all rules, and
// callers must not change them.
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
			found = append(found, v.Submission(p))
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
			found = append(found, v.Submission(p))
		}
	}
	return found
}

// Dispatches reports whether a cluster has an AdmissionCheck of MultiKueue.
func (v *View) Dispatches(f *inspect.Facts) bool {
	k, _ := v.Kueue(f, inspect.PartChecks)
	return k.MultiKueueCheck() != nil
}

// Submission returns a pair with the Workload and the check of its origin.
func (v *View) Submission(p inspect.Pair) Submission {
	f := v.inventory.Facts(p.Origin.Context)
	s := Submission{Pair: p, Manager: f}
	workloads, ok := v.WorkloadsOf(p, f)
	s.WorkloadKnown = ok
	if len(workloads) == 0 {
		return s
	}
	s.Workload = inspect.CurrentWorkload(workloads)
	s.Check = v.CheckState(f, s.Workload)
	return s
}

// CheckState returns the state of MultiKueue's check for a Workload, nil if it has none.
func (v *View) CheckState(f *inspect.Facts, w *kueue.Workload) *kueue.CheckState {
	v.CanRead(f, inspect.PartChecks)
	return f.StateOf(w)
}

// HasState reports whether MultiKueue's check has a state.
func (s *Submission) HasState(state string) bool { return s.Check != nil && s.Check.State == state }

// IsEvicted reports whether the manager is evicting the Job. The Workload must be known.
func (s *Submission) IsEvicted() bool {
	return s.Workload.Is(kueue.Evicted)
}

// IsLive reports whether the Job has neither finished nor is being deleted.
func (s *Submission) IsLive() bool {
	return !s.IsFinished() && s.Job().Status != delegation.Terminating
}

// ConcernsMultiKueue reports whether a submission may go to a worker. It is false for a Job in
// a queue of its own cluster. A queue that does not exist might be dispatched.
func (v *View) ConcernsMultiKueue(s Submission) bool {
	if s.Job().ManagedBy == delegation.MultiKueue {
		return true
	}
	lookup, queue := v.lookup(s.Manager), s.Job().Queue()
	if s.Workload != nil {
		queue = s.Workload.Spec.QueueName
	}
	route := lookup.Route(s.Job().Namespace, queue)
	if q := route.Cluster.Object; q != nil {
		return lookup.MultiKueue(q).Object != nil
	}
	return route.Local.IsMissing() || route.Cluster.IsMissing()
}

package rules

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// knownOwners are the values of managedBy that some controller is known to answer
// to, of any kind (reference: job-api.md E).
func knownOwners() sets.Set[delegation.Owner] {
	return sets.New[delegation.Owner](
		delegation.BuiltIn, delegation.MultiKueue, delegation.Dispatch,
		"kubernetes.io/job-controller",
		"jobset.sigs.k8s.io/jobset-controller",
		"trainer.kubeflow.org/trainjob-controller",
		"kubeflow.org/trainjob-controller",
		"kubeflow.org/training-operator",
		"kubeflow.org/mpi-operator",
		"ray.io/kuberay-operator",
		"workload.codeflare.dev/appwrapper-controller",
		"tekton.dev/pipeline",
	)
}

func ownerUnknown() Rule {
	return Rule{
		Code: "JM014", Title: "nobody knows its owner", Severity: inspect.Error,
		Families: []Family{FamilyAny}, Reads: []inspect.Part{inspect.PartJobs},
		Why: `managedBy names a controller, and the built-in one therefore leaves the Job alone. The API server takes any
name; nothing checks that there is such a controller. It is not installed, does not watch this cluster, or goes by
another name. managedBy cannot be changed.`,
		Shows: `managedBy is none of the known values, nobody ever wrote the status of this Job or of any other with that
owner, and kubectl says Running.`,
		Remedy: `Install the controller, or delete the Job and create it again without managedBy.`,
		Link:   "https://github.com/kubernetes/enhancements/tree/master/keps/sig-apps/4368-support-managed-by-for-batch-jobs",
		Detect: func(v *View) {
			known := knownOwners()
			for _, p := range v.Pairs() {
				// An owner that has taken up any Job at all exists.
				if s := p.Origin.Status; s != delegation.Unclaimed && s != delegation.Terminating || len(p.Mirrors) > 0 {
					known.Insert(p.Origin.ManagedBy)
				}
			}
			for _, p := range v.Pairs() {
				if !known.Has(p.Origin.ManagedBy) && isWaiting(p.Origin) {
					reportUnknownOwner(v, p.Origin)
				}
			}
		},
	}
}

// isWaiting is whether a Job that nobody took up wants to be. One that was made
// suspended, and that no queue will resume, waits for its author.
func isWaiting(j *inspect.Job) bool {
	return j.Status == delegation.Unclaimed && (!j.Suspended || j.Queue() != "")
}

func reportUnknownOwner(v *View, j *inspect.Job) {
	v.Report(Sighting{
		Object: Of(j), Since: j.CreationTimestamp.Time,
		Message:  fmt.Sprintf("no controller that goes by %s has taken it up, and none is known", j.ManagedBy),
		Evidence: []string{notWritten(j)},
		Remedy:   fmt.Sprintf("install the controller %s on %s; or %s, and create it again without spec.managedBy", j.ManagedBy, j.Context, deleteJob(j)),
		Jobs:     []*inspect.Job{j}, Cause: string(j.ManagedBy) + " on " + j.Context,
	})
}

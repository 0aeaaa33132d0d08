package rules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// owners are what holds for every owner, as far as it is about who runs a Job, and
// where (JM101 to JM109).
func owners() []Rule {
	return []Rule{
		notTakenUp(), ownerMistyped(), mirrorDelegated(), statusStale(), mirrorGone(), dispatchedOriginGone(), twoMirrors(),
		olderMirror(), podsOfOrigin(),
	}
}

const (
	// kepManagedBy is where the field is defined.
	kepManagedBy = "https://github.com/kubernetes/enhancements/tree/master/keps/sig-apps/4368-support-managed-by-for-batch-jobs"
	// docsJobs is what Kubernetes says of it.
	docsJobs = "https://kubernetes.io/docs/concepts/workloads/controllers/job/#delegation-of-managing-a-job-object-to-external-controller"
)

// servedOwners are the owners that have taken up any Job of the fleet.
func servedOwners(v *View) sets.Set[delegation.Owner] {
	served := sets.New[delegation.Owner]()
	for _, p := range v.Pairs() {
		if s := p.Origin.Status; s != delegation.Unclaimed && s != delegation.Terminating || len(p.Mirrors) > 0 {
			served.Insert(p.Origin.ManagedBy)
		}
	}
	return served
}

func notTakenUp() Rule {
	return Rule{
		Code: "JM101", Title: "its owner has not taken it up", Severity: inspect.Error,
		Families: []Family{FamilyAny}, Reads: []inspect.Part{inspect.PartJobs},
		Why: `managedBy names a controller that exists, and the built-in one therefore leaves the Job alone. But that
controller has not taken this Job up: it does not run, does not watch this cluster or namespace, does not care for
Jobs, or nobody has dispatched the Job yet. managedBy cannot be changed.`,
		Shows: `Nobody ever wrote the Job's status, there is no mirror of it, and kubectl says Running.`,
		Remedy: `See that the controller runs and watches this cluster; what is managed by jobmanagedby.github.io/dispatch
waits for the command dispatch. Else delete the Job and create it again, without managedBy to run it on this cluster.`,
		Link: docsJobs,
		Detect: func(v *View) {
			known, served := knownOwners(), servedOwners(v)
			for _, p := range v.Pairs() {
				j := p.Origin
				isFree := j.Marks == nil || j.Marks.Mirror.IsZero()
				if j.ManagedBy == delegation.MultiKueue || !isWaiting(j) || len(p.Mirrors) > 0 || !isFree || isHeldBy(j) {
					continue
				}
				if known.Has(j.ManagedBy) || served.Has(j.ManagedBy) {
					v.Report(notTaken(j, known.Has(j.ManagedBy)))
				}
			}
		},
	}
}

// isHeldBy says whether a Job's owner has put a finalizer on it, which is a way to
// take it up.
func isHeldBy(j *inspect.Job) bool {
	domain, _, _ := strings.Cut(string(j.ManagedBy), "/")
	return slices.ContainsFunc(j.Finalizers, func(f string) bool { return strings.HasPrefix(f, domain+"/") })
}

func notTaken(j *inspect.Job, isKnown bool) Sighting {
	s := Sighting{
		Object: Of(j), Since: j.CreationTimestamp.Time, Jobs: []*inspect.Job{j}, Cause: string(j.ManagedBy) + " on " + j.Context,
		Message:  fmt.Sprintf("%s has not taken it up", j.ManagedBy),
		Evidence: []string{notWritten(j)},
		Remedy:   fmt.Sprintf("see that the controller %s runs and watches namespace %s of %s; or %s, and create it again without spec.managedBy", j.ManagedBy, j.Namespace, j.Context, deleteJob(j)),
	}
	switch kinds := servesOnly(j.ManagedBy); {
	case j.ManagedBy == delegation.Dispatch:
		s.Message = "it waits to be dispatched, and nobody has done so"
		s.Remedy = fmt.Sprintf("%s; or %s, and create it again without spec.managedBy", dispatchTo(j, "CONTEXT", j.Namespace), deleteJob(j))
	case kinds != "":
		s.Message = fmt.Sprintf("%s is the controller of %s, and takes up no Jobs", j.ManagedBy, kinds)
		s.Remedy = fmt.Sprintf("%s, and create it again without spec.managedBy", deleteJob(j))
	case !isKnown:
		// It serves others, and may have a queue of its own.
		s.Severity = inspect.Warning
		s.Message = fmt.Sprintf("%s has taken up other Jobs, but not this one", j.ManagedBy)
	}
	return s
}

// servesOnly are the kinds that an owner serves which is known not to serve Jobs;
// "" for any other.
func servesOnly(owner delegation.Owner) string {
	switch owner {
	case "jobset.sigs.k8s.io/jobset-controller":
		return "JobSets"
	case "trainer.kubeflow.org/trainjob-controller", "kubeflow.org/trainjob-controller":
		return "TrainJobs"
	case "kubeflow.org/training-operator":
		return "PyTorchJobs and their like"
	case "kubeflow.org/mpi-operator":
		return "MPIJobs"
	case "ray.io/kuberay-operator":
		return "RayJobs and RayClusters"
	case "workload.codeflare.dev/appwrapper-controller":
		return "AppWrappers"
	case "tekton.dev/pipeline":
		return "PipelineRuns and TaskRuns"
	default:
		return ""
	}
}

package rules

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// connectionFailed is why a MultiKueueCluster is not active that is set up as it
// should be; every other reason is about how it is set up (see
// docs/reference/multikueue.md#conditions).
const connectionFailed = "ClientConnectionFailed"

// workerLost is after how long MultiKueue gives a worker's Jobs to others, unless
// its workerLostTimeout is changed.
const workerLost = 15 * time.Minute

func workerUnreachable() Rule {
	return Rule{
		Code: "JM043", Title: "the manager lost the worker that runs it", Severity: inspect.Warning,
		Holds: "the manager reaches the workers that run Jobs",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `The management cluster has lost the connection to a worker that runs Jobs. They may well run on there,
but nobody copies their status any more: what the origins tell is from before. After workerLostTimeout, 15 minutes
unless configured otherwise, MultiKueue gives the Jobs to other workers, where they start from scratch; what runs on
the lost worker goes on as long as that is away.`,
		Shows: `The MultiKueueCluster has Active=False with reason ClientConnectionFailed, and there are unfinished
Jobs whose Workloads name it in status.clusterName and whose check is Ready.`,
		Remedy: `Make the worker reachable again before the time is over. If it is lost for good, do nothing; if it may
come back, see to it that the Jobs do not run twice then (JM056).`,
		Link:   "https://github.com/kubernetes-sigs/kueue/issues/12999",
		Covers: []string{"JM041"},
		Detect: func(v *View) {
			for s := range underWay(v) {
				active := lost(v, s)
				if active == nil || active.Reason != connectionFailed {
					continue
				}
				sighting := lostSighting(v, s, active)
				sighting.Message = fmt.Sprintf("%s %s: the status of what it runs is frozen. After workerLostTimeout (15 minutes by default) it restarts on another worker",
					sighting.Object.Name, lostHow(active))
				sighting.Remedy = command.Say("make %s usable from %s again; this tells how that goes: %s",
					place(v, s), s.Manager.Context, command.Kubectl(s.Manager.Context, "", "get", "multikueueclusters.kueue.x-k8s.io", s.Chosen(), "-o", "jsonpath={.status.conditions}"))
				v.Report(sighting)
			}
		},
	}
}

// lostHow says in words that follow its name why a worker's connection is lost: not
// each that cannot be used is out of reach.
func lostHow(active *metav1.Condition) string {
	switch connectionFault(strings.ToLower(active.Message)) {
	case "JM003":
		return "does not accept the manager's credentials"
	case "JM005", "JM007":
		return "does not serve what the manager needs"
	case "JM006":
		return "forbids the manager what it needs"
	}
	return "is unreachable"
}

// lost is the Active condition of the MultiKueueCluster that runs a Job, if it is
// false and the Job was not taken back; nil otherwise.
func lost(v *View, s Submission) *metav1.Condition {
	if s.Chosen() == "" || !hasState(s, kueue.CheckReady) || s.IsFinished() {
		return nil
	}
	if active := v.activeOf(s.Manager, s.Chosen()); isFalse(active) {
		return active
	}
	return nil
}

func lostSighting(v *View, s Submission, active *metav1.Condition) Sighting {
	j := s.Job()
	given := fmt.Sprintf("%s; %s", chosenOf(j.Context, s.Workload), strings.TrimPrefix(frozen(j), j.Context+": "))
	if j.StatusWrittenAt != nil {
		given += ", last written " + stamp(*j.StatusWrittenAt)
	}
	return Sighting{
		Object: OfKueue(s.Manager, "MultiKueueCluster", "", s.Chosen()), Since: active.LastTransitionTime.Time, Jobs: []*inspect.Job{j},
		Evidence: []string{
			fmt.Sprintf("%s: condition Active of MultiKueueCluster %s (%s) is False since %s, %s: %s",
				s.Manager.Context, s.Chosen(), place(v, s), stamp(active.LastTransitionTime), active.Reason, active.Message),
			given,
		},
		Cause: "lost " + s.Manager.Context + "/" + s.Chosen(),
	}
}

// frozen quotes what an origin tells of its pods.
func frozen(j *inspect.Job) string {
	if !j.Row().IsJob() {
		return stateOf(j)
	}
	return fmt.Sprintf("%s: status of %s is active %d, ready %s", j.Context, named(Of(j)), j.Active, counted(j.Ready))
}

// place is the context that reaches the worker that a Job was given to, or what
// is known of it.
func place(v *View, s Submission) string {
	if context := v.ContextOf(s.Manager, s.Chosen()); context != "" {
		return context
	}
	return "no context of ours"
}

// counted is a count as evidence quotes it.
func counted(n *int32) string {
	if n == nil {
		return "not set"
	}
	return fmt.Sprint(*n)
}

func workerMisconfigured() Rule {
	return Rule{
		Code: "JM044", Title: "the connection to the worker that runs it is misconfigured", Severity: inspect.Error,
		Holds: "the workers that run Jobs are set up as the manager reaches them",
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Why: `The kubeconfig by which the management cluster reaches a worker is missing or wrong, and Jobs run there.
If Kueue's controller was restarted since, it makes no client for that worker, and its timer for lost workers never
begins: the Jobs count as running there forever (kueue issue 13238).`,
		Shows: `The MultiKueueCluster has Active=False with another reason than ClientConnectionFailed, such as
BadKubeConfig, for longer than workerLostTimeout (15 minutes), and there are unfinished Jobs whose Workloads name it in
status.clusterName and whose check is Ready.`,
		Remedy: `Repair the Secret that the MultiKueueCluster names. If the worker is gone for good, delete the Jobs and
create them again, or delete their Workloads on the management cluster.`,
		Link:        "https://github.com/kubernetes-sigs/kueue/issues/13238",
		GracePeriod: workerLost,
		Covers:      []string{"JM041"},
		Detect: func(v *View) {
			for s := range underWay(v) {
				active := lost(v, s)
				if active == nil || active.Reason == connectionFailed {
					continue
				}
				sighting := lostSighting(v, s, active)
				sighting.Message = fmt.Sprintf("%s cannot be reached with its configuration (%s): the status of what it runs is frozen", s.Chosen(), active.Reason)
				sighting.Remedy = command.Say("repair how MultiKueueCluster %s is set up on %s", s.Chosen(), s.Manager.Context)
				if c, _ := v.MultiKueueCluster(s.Manager, s.Chosen()); c != nil && c.SecretName() != "" {
					sighting.Remedy = command.Say("put a working kubeconfig of the worker into the Secret: %s", putKubeconfig(s.Manager, c, "FILE"))
				}
				v.Report(sighting)
			}
		},
	}
}

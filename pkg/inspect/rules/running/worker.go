package running

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/quote"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// connectionFailed is the reason of an inactive MultiKueueCluster that is
// configured correctly. All other reasons are about its configuration (see
// docs/reference/multikueue.md#conditions).
const connectionFailed = "ClientConnectionFailed"

func workerUnreachable() view.Rule {
	return view.Rule{
		Code: "JM043", Severity: inspect.Warning,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		Covers: []string{"JM041"},
		Detect: func(v *view.View) {
			for s := range unfinished(v) {
				active := lostConnection(v, s)
				if active == nil || active.Reason != connectionFailed {
					continue
				}
				sighting := lostSighting(v, s, active)
				sighting.Message = fmt.Sprintf("%s %s: the status of its %s is not updated. After workerLostTimeout (15 minutes by default) they restart on another worker",
					sighting.Object.Name, connectionText(active), quote.Plural(s.Job()))
				sighting.Remedy = command.Say("restore the connection from %s to %s, and watch its conditions: %s",
					s.Manager.Context, cmp.Or(v.ContextOf(s.Manager, s.Chosen()), s.Chosen()), command.Kubectl(s.Manager.Context, "", "get", "multikueueclusters.kueue.x-k8s.io", s.Chosen(), "-o", "jsonpath={.status.conditions}"))
				v.Report(sighting)
			}
		},
	}
}

// connectionText describes why a worker's connection is lost, in words that follow
// its name. Not every unusable worker is unreachable.
func connectionText(active *metav1.Condition) string {
	switch view.ConnectionFault(strings.ToLower(active.Message)) {
	case "JM003":
		return "does not accept the manager's credentials"
	case "JM005", "JM007":
		return "does not serve what the manager needs"
	case "JM006":
		return "denies rights that the manager needs"
	}
	return "is unreachable"
}

// lostConnection returns the Active condition of the MultiKueueCluster that runs a Job
// if it is false and the Job was not taken back, otherwise nil.
func lostConnection(v *view.View, s view.Submission) *metav1.Condition {
	if s.Chosen() == "" || !s.HasState(kueue.CheckReady) || s.IsFinished() {
		return nil
	}
	if active := v.Connection(s.Manager, s.Chosen()); view.IsFalse(active) {
		return active
	}
	return nil
}

func lostSighting(v *view.View, s view.Submission, active *metav1.Condition) view.Sighting {
	j := s.Job()
	given := fmt.Sprintf("%s; %s", quote.ChosenCluster(j.Context, s.Workload), strings.TrimPrefix(quotePodCounts(j), j.Context+": "))
	if j.StatusWrittenAt != nil {
		given += ", last written " + quote.Time(*j.StatusWrittenAt)
	}
	return view.Sighting{
		Object: view.OfKueue(s.Manager, "MultiKueueCluster", "", s.Chosen()), Since: active.LastTransitionTime.Time, Jobs: []*inspect.Job{j},
		Evidence: []string{
			fmt.Sprintf("%s: condition Active of MultiKueueCluster %s (%s) is False since %s, %s: %s",
				s.Manager.Context, s.Chosen(), workerText(v, s), quote.Time(active.LastTransitionTime), active.Reason, active.Message),
			given,
		},
		Cause: "lost " + s.Manager.Context + "/" + s.Chosen(),
	}
}

// quotePodCounts quotes the Pod counts in the status of an origin, which may be
// outdated.
func quotePodCounts(j *inspect.Job) string {
	if !j.Row().IsJob() {
		return quote.State(j)
	}
	return fmt.Sprintf("%s: status of %s is active %d, ready %s", j.Context, view.Of(j).String(), j.Active, countText(j.Ready))
}

// workerText returns the context that reaches the worker that a Job was given to,
// or says that there is none.
func workerText(v *view.View, s view.Submission) string {
	if context := v.ContextOf(s.Manager, s.Chosen()); context != "" {
		return context
	}
	return "no context of the kubeconfig"
}

// countText quotes an optional count.
func countText(n *int32) string {
	if n == nil {
		return "not set"
	}
	return fmt.Sprint(*n)
}

func workerMisconfigured() view.Rule {
	return view.Rule{
		Code: "JM044", Severity: inspect.Error,
		Reads: []inspect.Part{
			inspect.PartJobs, inspect.PartWorkloads, inspect.PartChecks, inspect.PartClusters, inspect.PartSecrets,
		},
		GracePeriod: view.WorkerLostTimeout,
		Covers:      []string{"JM041"},
		Detect: func(v *view.View) {
			for s := range unfinished(v) {
				active := lostConnection(v, s)
				if active == nil || active.Reason == connectionFailed {
					continue
				}
				sighting := lostSighting(v, s, active)
				sighting.Message = fmt.Sprintf("%s cannot reach %s with its configuration (%s): the status of its %s is not updated", s.Manager.Context, s.Chosen(), active.Reason, quote.Plural(s.Job()))
				sighting.Remedy = command.Say("repair MultiKueueCluster %s on %s; its conditions say what is missing", s.Chosen(), s.Manager.Context)
				if c, _ := v.MultiKueueCluster(s.Manager, s.Chosen()); c != nil && c.SecretName() != "" {
					sighting.Remedy = command.Say("write a working kubeconfig of the worker to the Secret: %s", s.Manager.KueueHome().WriteSecret(s.Manager.Context, c.SecretName(), "FILE"))
				}
				v.Report(sighting)
			}
		},
	}
}

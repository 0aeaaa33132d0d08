package kueue

import (
	"cmp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// maxExecutionLabel is the label of a Job that limits its run time (kueue:
// pkg/controller/constants).
const maxExecutionLabel = "kueue.x-k8s.io/max-exec-time-seconds"

// fixDeactivation returns the fixes of a deactivated Workload. While DeactivationTarget is
// true, Kueue at once deactivates a Workload that a user activates (kueue:
// workload_controller.go).
func (s FixTarget) fixDeactivation(w *Wait) []command.Fix {
	switch {
	case w.Reason == ReasonEvictedOnManager:
		return []command.Fix{fix("wait until MultiKueue deletes this copy")}
	case s.Workload.Is(DeactivationTarget):
		return s.afterResume(s.fixRepeatedDeactivation(w))
	}
	return s.afterResume(s.fixActivation(w))
}

// afterResume returns fixes that queue a Workload or its successor again, after the steps
// that resume its stopped queues.
func (s FixTarget) afterResume(fixes []command.Fix) []command.Fix {
	var resumes []command.Fix
	if q := s.ClusterQueue; q != nil && IsStopped(q.Spec.StopPolicy) {
		resumes = append(resumes, s.activateQueue(q.Name))
	}
	if q := s.LocalQueue; q != nil && IsStopped(q.Spec.StopPolicy) {
		resumes = append(resumes, ResumeLocalQueue(s.Context, q.Namespace, q.Name))
	}
	for i, f := range fixes {
		for _, resume := range resumes {
			f = resume.FollowedBy(f)
		}
		fixes[i] = f
	}
	return fixes
}

// fixActivation returns the fixes of a deactivated Workload in a queue that is open.
func (s FixTarget) fixActivation(w *Wait) []command.Fix {
	activate := Activate(s.Context, s.Workload)
	switch w.Reason {
	case ReasonTimedOut:
		return []command.Fix{
			s.fixByCreation("", "with a longer "+maxExecutionLabel),
			fixBy(activate, "run it again for as long as before"),
		}
	case ReasonRequeueLimit:
		return []command.Fix{fixBy(activate, "find why its Pods were not ready in time, then activate the Workload")}
	case ReasonDeactivatedByKueue:
		return []command.Fix{fixBy(activate, "resolve what Kueue reports, then activate the Workload")}
	default:
		return []command.Fix{fixBy(activate, "if its pause is over, activate the Workload")}
	}
}

// fixRepeatedDeactivation returns the fixes of a Workload that Kueue deactivates again if a
// user activates it.
func (s FixTarget) fixRepeatedDeactivation(w *Wait) []command.Fix {
	switch w.Reason {
	case ReasonTimedOut:
		return []command.Fix{s.fixByCreation("", "with a longer "+maxExecutionLabel)}
	case ReasonRequeueLimit:
		return []command.Fix{s.fixByCreation("find why its Pods were not ready in time, then ", "")}
	default:
		return []command.Fix{s.again(fixBy(s.describe(), "resolve what Kueue reports"))}
	}
}

// fixByCreation returns the fix of a Workload whose Job must be created again, after a condition and with a change,
// each "" for none. The Job still exists. A copy belongs to a mirror, and the user must create the origin again.
func (s FixTarget) fixByCreation(condition, change string) command.Fix {
	deletion, kind := fix("delete %s", s.jobName()), ""
	if owner := s.owner(); owner != nil {
		kind = owner.Kind
		name := strings.ToLower(kind)
		if row, ok := delegation.KindOf(schema.FromAPIVersionAndKind(owner.APIVersion, kind)); ok {
			name = command.KindName(row)
		}
		deletion = fixBy(command.Kubectl(s.Context, s.Workload.Namespace, "delete", name, owner.Name), "delete the %s", kind)
	}
	f := command.CreateAgain(deletion, kind, s.Template, change)
	f.Text = condition + f.Text
	return f
}

// owner returns the Job that the user submitted, if the Workload belongs to it.
func (s FixTarget) owner() *metav1.OwnerReference {
	if s.Workload == nil || s.Workload.Labels[delegation.MultiKueueOriginLabel] != "" {
		return nil
	}
	return metav1.GetControllerOf(s.Workload)
}

// change returns a fix that changes the manifest of the Job.
func (s FixTarget) change(format string, arguments ...any) command.Fix {
	return s.again(fix(format, arguments...))
}

// again adds to a fix that changes the manifest of the Job how a submitted Job gets the change.
func (s FixTarget) again(f command.Fix) command.Fix {
	if s.IsNew {
		return f
	}
	return f.Again(s.jobName(), s.Template)
}

// job returns the kind and the name of the Job, "" if unknown.
func (s FixTarget) job() (kind, name string) {
	if owner := s.owner(); owner != nil && s.Kind == "" {
		return owner.Kind, owner.Name
	}
	return s.Kind, s.Name
}

// jobName names the Job in a sentence, with its namespace if its name is known.
func (s FixTarget) jobName() string {
	kind, name := s.job()
	kind = cmp.Or(kind, "Job")
	if name == "" || s.Workload == nil {
		return "the " + kind
	}
	return kind + " " + s.Workload.Namespace + "/" + name
}

// fixChecks returns the fixes of AdmissionChecks that are not ready.
func (s FixTarget) fixChecks(w *Wait) []command.Fix {
	if w.Reason == ReasonCheckRejected {
		check := "the AdmissionCheck"
		if len(w.Checks) > 0 {
			check = "AdmissionCheck " + w.Checks[0].Name
		}
		return []command.Fix{fixBy(Activate(s.Context, s.Workload), "resolve what %s rejects, then activate the Workload on %s", check, s.Context)}
	}
	fixes := []command.Fix{}
	for _, c := range w.Checks {
		fixes = append(fixes, fixBy(Kubectl(s.Context, "describe", "AdmissionCheck", "", c.Name),
			"wait for AdmissionCheck %s on %s, or check its controller", c.Name, s.Context))
	}
	return fixes
}

// fixOther returns the fixes of reasons that are about the Workload itself.
func (s FixTarget) fixOther(w *Wait) []command.Fix {
	text := map[WaitReason]string{
		ReasonPreempting:        "wait until Kueue has preempted others",
		ReasonAdmissionGated:    "ask the owner of annotation kueue.x-k8s.io/admission-gated-by to release the Workload",
		ReasonMisconfigured:     "correct the resource requests that Kueue reports",
		ReasonDevicesUnresolved: "correct the ResourceClaimTemplate or device class that Kueue reports",
		ReasonOnHold:            "resolve why its own controller holds the Workload",
		ReasonInadmissible:      "correct what Kueue reports",
		ReasonUnknown:           "check what Kueue reports",
	}[w.Reason]
	if text != "" {
		f := fixBy(s.describe(), "%s", text)
		if w.Reason == ReasonMisconfigured {
			f = s.again(f)
		}
		return []command.Fix{f}
	}
	switch w.Reason {
	case ReasonPodsNotReady:
		return []command.Fix{fixBy(list(s.Context, "Workload").With("-A", "-o", "wide"), "wait until the Pods of admitted Workloads are ready; find those that are not")}
	case ReasonPreemptionGated:
		return []command.Fix{fix("wait until MultiKueue opens the preemption gate, at most 5 minutes per worker")}
	case ReasonPreempted:
		return []command.Fix{fix("wait until other Workloads release quota")}
	case ReasonBackoff, ReasonEvicted:
		if w.IsUnready() {
			return s.FixUnready()
		}
		return []command.Fix{fixBy(s.describe(), "wait until Kueue queues the Workload again; check why Kueue evicted it")}
	case ReasonNotEvaluated, ReasonTopologyPending:
		return []command.Fix{fix("wait for the scheduler of Kueue on %s", s.Context)}
	default:
		return []command.Fix{}
	}
}

// FixUnready returns the fixes of a Workload that Kueue evicted because its Pods were not ready in time, now or before. Its
// Pods are then gone, so only the next ones show why. The timeout is that of the Kueue that evicted it.
func (s FixTarget) FixUnready() []command.Fix {
	check := fixBy(s.describe(), "check why Kueue evicted it")
	if owner := s.owner(); owner != nil {
		if row, ok := delegation.KindOf(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)); ok {
			logs := command.PluginFor(row, "logs", s.Context, s.Workload.Namespace, owner.Name).With("-f")
			check = fixBy(logs, "check why its Pods do not become ready")
		}
	}
	if !s.Workload.Is(QuotaReserved) {
		check.Text = "wait until Kueue queues the Workload again; then " + check.Text
	}
	return []command.Fix{check, fix("raise waitForPodsReady.timeout in the configuration of Kueue on %s, if its Pods only need longer", s.Context)}
}

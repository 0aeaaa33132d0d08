package kueue_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

const (
	transient = "transient"
	permanent = "permanent"
	uncertain = "uncertain"
	finished  = "not waiting"
)

// quotaCase is a reason and a message of QuotaReserved=False as a version of
// Kueue writes them.
type quotaCase struct {
	since, reason, message string
	want                   kueue.WaitReason
	kind                   string
}

// assign is the beginning of a message about the podset main.
const assign = "couldn't assign flavors to pod set main: "

// olderQuotas come from the sources of Kueue 0.12.10 and 0.16.2:
// pkg/scheduler/scheduler.go, pkg/scheduler/flavorassigner,
// pkg/controller/core/workload_controller.go.
func olderQuotas() []quotaCase {
	const spot = "untolerated taint {spot true NoSchedule <nil>} in flavor spot"
	return []quotaCase{
		{"0.12", "Inadmissible", "LocalQueue user-queue doesn't exist", kueue.ReasonLocalQueueMissing, permanent},
		{"0.12", "Inadmissible", "LocalQueue user-queue is terminating or missing", kueue.ReasonLocalQueueMissing, permanent},
		{"0.12", "Inadmissible", "LocalQueue user-queue is inactive", kueue.ReasonLocalQueueStopped, permanent},
		{"0.12", "Inadmissible", "LocalQueue user-queue is stopped", kueue.ReasonLocalQueueStopped, permanent},
		{"0.12", "Inadmissible", "ClusterQueue q doesn't exist", kueue.ReasonClusterQueueMissing, permanent},
		{"0.12", "Pending", "ClusterQueue q not found", kueue.ReasonClusterQueueMissing, permanent},
		{"0.12", "Pending", "ClusterQueue q is inactive", kueue.ReasonClusterQueueInactive, permanent},
		{"0.12", "Pending", "Workload namespace doesn't match ClusterQueue selector", kueue.ReasonNamespaceExcluded, permanent},
		{"0.12", "Pending", "resources validation failed: requests exceed limits", kueue.ReasonMisconfigured, permanent},
		{"0.12", "Pending", "resources didn't satisfy LimitRange constraints: above max", kueue.ReasonMisconfigured, permanent},
		{"0.12", "Pending", "The workload has failed admission checks", kueue.ReasonCheckRetry, transient},
		{"0.12", "Pending", "Failed to admit workload: conflict", kueue.ReasonUnknown, uncertain},
		{"0.12", "Waiting", "waiting for all admitted workloads to be in PodsReady condition", kueue.ReasonPodsNotReady, transient},
		{"0.12", "Pending", assign + "insufficient quota for cpu in flavor od, request > maximum capacity (18 > 14)", kueue.ReasonOverLimit, permanent},
		{"0.12", "Pending", assign + "insufficient unused quota for cpu in flavor od, 2 more needed, " + spot, kueue.ReasonQuotaInUse, transient},
		{"0.12", "Pending", assign + "insufficient unused quota for cpu in flavor od, 2 more needed. Pending the preemption of 1 workload(s)", kueue.ReasonPreempting, transient},
		{"0.12", "Pending", "Workload no longer fits after processing another workload", kueue.ReasonQuotaInUse, transient},
		{"0.12", "Pending", "Workload has overlapping preemption targets with another workload", kueue.ReasonQuotaInUse, transient},
		{"0.12", "Pending", assign + spot, kueue.ReasonTaint, permanent},
		{"0.12", "Pending", assign + "flavor od doesn't match node affinity, flavor spot doesn't match node affinity", kueue.ReasonFlavorLabels, permanent},
		{"0.12", "Pending", assign + "resource example.com/foo unavailable in ClusterQueue", kueue.ReasonResourceNotCovered, permanent},
		{"0.12", "Pending", assign + "flavor gone not found", kueue.ReasonFlavorMissing, permanent},
		{"0.12", "Pending", assign + `Flavor "od" does not support TopologyAwareScheduling`, kueue.ReasonNoTopology, permanent},
		{"0.12", "Pending", assign + `topology "racks" allows to fit only 2 out of 4 pod(s)`, kueue.ReasonNoTopologyDomain, uncertain},
		{
			"0.12", "Pending", assign + "insufficient unused quota for cpu in flavor od, 1 more needed; couldn't assign flavors to pod set workers: " + spot,
			kueue.ReasonTaint, permanent,
		},
		{"0.16", "Inadmissible", "DynamicResourceAllocation feature does not support use of resource claims", kueue.ReasonDevicesUnresolved, permanent},
		{"0.16", "Inadmissible", "spec.podSets[0].template: Not found", kueue.ReasonInadmissible, uncertain},
		{"0.16", "Pending", assign + "insufficient unused quota for cpu in flavor od, 2 more needed. Preempting 1 workload(s) failed, will retry.", kueue.ReasonPreempting, transient},
		{
			"0.16", "Pending", assign + "insufficient quota for cpu in flavor od, previously considered podsets requests (4) + current podset request (4) > maximum capacity (6)",
			kueue.ReasonOverLimit, uncertain,
		},
	}
}

// newerQuotas come from the sources of Kueue 0.19.2, from recordings of a
// Kueue between 0.19 and 0.20, and from the notes on 0.20.
func newerQuotas() []quotaCase {
	const over = "insufficient quota for cpu in flavor od, previously considered podsets requests (0) + current podset request (18) > maximum capacity (14)"
	const spot = "untolerated taint {spot true NoSchedule <nil>} in flavor spot"
	return []quotaCase{
		{"0.19", "PendingEvaluation", "Workload is pending evaluation in the scheduling queue", kueue.ReasonNotEvaluated, transient},
		{"0.19", "WaitingForQuota", assign + "insufficient unused quota for cpu in flavor default-flavor, 2 more needed", kueue.ReasonQuotaInUse, transient},
		{"0.19", "WaitingForQuota", assign + "insufficient unused quota for cpu in flavor od, 12 more needed, " + spot, kueue.ReasonQuotaInUse, transient},
		{"0.19", "WaitingForQuota", assign + `topology "racks" allows to fit only 2 out of 4 pod(s)`, kueue.ReasonQuotaInUse, transient},
		{"0.19", "ExceedsMaxQuota", assign + over, kueue.ReasonOverLimit, permanent},
		{"0.19", "ExceedsMaxQuota", assign + over + ", " + spot, kueue.ReasonOverLimit, permanent},
		{"0.19", "ExceedsMaxQuota", "Bypassed scheduling evaluation because an equivalent workload recently failed", kueue.ReasonOverLimit, permanent},
		{"0.19", "NoMatchingFlavor", assign + "flavor od doesn't match node affinity, flavor spot doesn't match node affinity", kueue.ReasonFlavorLabels, permanent},
		{"0.19", "NoMatchingFlavor", assign + "flavor on-demand doesn't match node affinity, " + spot, kueue.ReasonTaint, permanent},
		{"0.19", "NoMatchingFlavor", assign + "resource example.com/foo unavailable in ClusterQueue", kueue.ReasonResourceNotCovered, permanent},
		{"0.19", "NoMatchingFlavor", assign + `Flavor "default-flavor" does not support TopologyAwareScheduling`, kueue.ReasonNoTopology, permanent},
		{"0.19", "NoMatchingFlavor", assign + "skipping flavor od due to WorkloadAllowedResourceFlavorAnnotation annotation", kueue.ReasonNoMatchingFlavor, permanent},
		{"0.19", "TopologyPlacementFailed", assign + `topology "racks" doesn't allow to fit any of 4 pod(s). Total nodes: 3; excluded: affinity: 1`, kueue.ReasonNoTopologyDomain, uncertain},
		{"0.19", "WaitingForPreemptedWorkloads", "Workload has overlapping preemption targets with another workload, but will fit after these preemptions complete", kueue.ReasonPreempting, transient},
		{"0.19", "Misconfigured", "LocalQueue no-such-queue doesn't exist", kueue.ReasonLocalQueueMissing, permanent},
		{"0.19", "Misconfigured", "workload namespace doesn't match ClusterQueue selector", kueue.ReasonNamespaceExcluded, permanent},
		{"0.19", "Misconfigured", "resources didn't satisfy LimitRange constraints: above max", kueue.ReasonMisconfigured, permanent},
		{"0.19", "Misconfigured", "KueueDRAIntegration feature does not support use of resource claims", kueue.ReasonDevicesUnresolved, permanent},
		{"0.19", "Suspended", "ClusterQueue d01 is inactive", kueue.ReasonClusterQueueInactive, permanent},
		{"0.19", "Suspended", "LocalQueue user-queue is inactive", kueue.ReasonLocalQueueStopped, permanent},
		{"0.19", "WaitingForPodsReady", "waiting for all admitted workloads to be in PodsReady condition", kueue.ReasonPodsNotReady, transient},
		{"0.19", "AdmissionGated", "Admission is gated by: example.com/audit", kueue.ReasonAdmissionGated, transient},
		{"0.19", "Deactivated", "The workload is deactivated", kueue.ReasonDeactivated, permanent},
		{"0.20", "OnHold", "Job is on hold", kueue.ReasonOnHold, permanent},
		{"0.20", "DRAResourcesUnresolved", "deviceClassName: Not found", kueue.ReasonDevicesUnresolved, permanent},
		{"later", "SomethingNew", assign + over, kueue.ReasonOverLimit, permanent},
		{"later", "SomethingNew", "it is new", kueue.ReasonUnknown, uncertain},
	}
}

func workload(t *testing.T, text string) *kueue.Workload {
	t.Helper()
	w := &kueue.Workload{}
	assert.NilError(t, yaml.Unmarshal([]byte(text), w))
	return w
}

func certainty(w *kueue.Wait) string {
	switch {
	case !w.IsWaiting():
		return finished
	case w.IsTransient():
		return transient
	case w.IsPermanent():
		return permanent
	}
	return uncertain
}

// TestWaitingForQuota checks that every message of QuotaReserved=False has
// one meaning, whether a Workload or its claim is read.
func TestWaitingForQuota(t *testing.T) {
	for _, tt := range slices.Concat(olderQuotas(), newerQuotas()) {
		t.Run(tt.since+" "+tt.reason+" "+string(tt.want), func(t *testing.T) {
			w := workload(t, fmt.Sprintf(`{status: {conditions: [
				{type: QuotaReserved, status: "False", reason: %q, message: %q, lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`, tt.reason, tt.message))
			wait := w.Waiting()
			assert.Equal(t, wait.Reason, tt.want, tt.message)
			assert.Equal(t, certainty(&wait), tt.kind, tt.message)
			assert.Equal(t, wait.Since.Year(), 2026)
			assert.Equal(t, wait.Condition.Type, kueue.QuotaReserved)
			assert.Assert(t, wait.Text() != "" && !strings.Contains(wait.Text(), "Bypassed"), wait.Text())
			claimWait := (&kueue.Claim{Reason: tt.reason, Message: tt.message}).Waiting()
			assert.Equal(t, claimWait.Reason, wait.Reason)
			assert.Equal(t, claimWait.IsForQuota(), wait.IsForQuota())
		})
	}
}

// TestWaiting checks the reasons other than a lack of quota, with conditions of
// real Workloads, whether a Workload or its claim is read.
func TestWaiting(t *testing.T) {
	condition := func(conditionType, status, reason, message string) string {
		return fmt.Sprintf(`{type: %s, status: %q, reason: %q, message: %q, lastTransitionTime: "2026-01-01T00:00:00Z"}, `, conditionType, status, reason, message)
	}
	check := func(state, message string) string {
		return fmt.Sprintf(`admissionChecks: [{name: budget, state: %s, message: %q, lastTransitionTime: "2026-01-01T00:00:00Z"}], `, state, message)
	}
	const retried = `Evicted due to AdmissionCheck in Retry state: "multikueue" (Workload evicted on worker cluster: "worker1", resetting for re-admission. Previously: "Ready")`
	const preempted = "Preempted to accommodate a workload (UID: e5b0db5d, JobUID: UNKNOWN) due to reclamation within the cohort; preemptor path: /co/d15x; preemptee path: /co/d15"
	reserved := condition("QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue q")
	unadmitted := condition("Admitted", "False", "UnsatisfiedAdmissionChecks", "")
	evaluating := condition("QuotaReserved", "False", "PendingEvaluation", preempted)
	inactive := "spec: {active: false}, "
	for name, tt := range map[string]struct {
		spec, checks, conditions string
		want                     kueue.WaitReason
		kind, text               string
	}{
		"new":       {want: kueue.ReasonNotEvaluated, kind: transient, text: "Kueue has not evaluated it yet"},
		"admitted":  {conditions: reserved + condition("Admitted", "True", "Admitted", ""), want: kueue.ReasonAdmitted, kind: finished},
		"succeeded": {conditions: condition("Finished", "True", "Succeeded", "") + reserved, want: kueue.ReasonFinished, kind: finished},
		"check pending": {
			conditions: reserved + unadmitted, checks: check("Pending", ""),
			want: kueue.ReasonCheckPending, kind: transient, text: "AdmissionCheck budget has not answered",
		},
		"check retry": {
			conditions: reserved + unadmitted, checks: check("Retry", "ask again"),
			want: kueue.ReasonCheckRetry, kind: transient, text: "AdmissionCheck budget requests a later attempt: ask again",
		},
		"check pending, with a message": {
			conditions: reserved + unadmitted, checks: check("Pending", "waiting for approval"),
			want: kueue.ReasonCheckPending, kind: transient, text: "AdmissionCheck budget is pending: waiting for approval",
		},
		"check pending again": {
			conditions: reserved + unadmitted + condition("Evicted", "False", "QuotaReserved", `Previously: Evicted due to AdmissionCheck in Retry state: "budget" (ask again)`),
			checks:     check("Pending", "Reset to Pending after eviction. Previously: Retry"),
			want:       kueue.ReasonCheckPending, kind: transient, text: "AdmissionCheck budget is pending again: its last answer was Retry (ask again)",
		},
		"check pending again, after another's answer": {
			conditions: reserved + unadmitted + condition("Evicted", "False", "QuotaReserved", `Previously: Evicted due to AdmissionCheck in Retry state: "nodes" (none)`),
			checks:     check("Pending", "Reset to Pending after eviction. Previously: Ready"),
			want:       kueue.ReasonCheckPending, kind: transient, text: "AdmissionCheck budget is pending again: its last answer was Ready",
		},
		"check pending, evicted before its answer": {
			conditions: reserved + unadmitted, checks: check("Pending", "Reset to Pending after eviction. Previously: Pending"),
			want: kueue.ReasonCheckPending, kind: transient, text: "AdmissionCheck budget has not answered",
		},
		"check rejected": {
			conditions: reserved + unadmitted, checks: check("Rejected", "no money left"),
			want: kueue.ReasonCheckRejected, kind: permanent, text: "AdmissionCheck budget rejects it: no money left",
		},
		"check rejected, and reset": {
			spec: inactive, checks: check("Pending", "Reset to Pending after eviction. Previously: Rejected"),
			conditions: condition("QuotaReserved", "False", "Deactivated", "The workload is deactivated") +
				condition("Evicted", "True", "DeactivatedDueToAdmissionCheck", `The workload is deactivated due to AdmissionCheck in Rejected state: "budget" (no money left)`),
			want: kueue.ReasonCheckRejected, kind: permanent, text: "AdmissionCheck budget rejects it: no money left",
		},
		"delayed topology": {
			conditions: reserved + condition("Admitted", "False", "PendingDelayedTopologyRequests", ""),
			want:       kueue.ReasonTopologyPending, kind: transient, text: "waits for its topology assignment",
		},
		"preempted, not evaluated": {
			conditions: evaluating + condition("Evicted", "True", "Preempted", preempted) + condition("Requeued", "True", "Preempted", preempted),
			want:       kueue.ReasonPreempted, kind: transient, text: "preempted by another Workload",
		},
		"preempted, and too large since": {
			conditions: condition("QuotaReserved", "False", "ExceedsMaxQuota", "") + condition("Evicted", "True", "Preempted", preempted),
			want:       kueue.ReasonOverLimit, kind: permanent, text: "needs more than the limit",
		},
		"preempted, its Pods still run": {
			conditions: reserved + condition("Evicted", "True", "Preempted", preempted),
			want:       kueue.ReasonPreempted, kind: transient, text: "preempted by another Workload",
		},
		"backoff": {
			conditions: condition("QuotaReserved", "False", "Pending", retried) + condition("Evicted", "True", "AdmissionCheck", retried) +
				condition("Requeued", "False", "AdmissionCheck", retried),
			want: kueue.ReasonBackoff, kind: transient, text: "waits until Kueue queues it again",
		},
		"backoff finished": {
			conditions: condition("QuotaReserved", "False", "Pending", retried) + condition("Evicted", "True", "AdmissionCheck", retried) +
				condition("Requeued", "True", "BackoffFinished", "The workload backoff was finished"),
			want: kueue.ReasonNotEvaluated, kind: transient, text: "Kueue has not evaluated it yet",
		},
		"not ready in time": {
			conditions: condition("QuotaReserved", "False", "Pending", "Exceeded the PodsReady timeout default/a") +
				condition("Evicted", "True", "PodsReadyTimeout", "Exceeded the PodsReady timeout default/a") + condition("Requeued", "False", "PodsReadyTimeout", ""),
			want: kueue.ReasonBackoff, kind: transient, text: "evicted because its Pods were not ready in time; waits until Kueue queues it again",
		},
		"drained": {
			conditions: condition("QuotaReserved", "False", "PendingEvaluation", "The ClusterQueue is stopped") +
				condition("Evicted", "True", "ClusterQueueStopped", "The ClusterQueue is stopped") + condition("Requeued", "False", "ClusterQueueStopped", ""),
			want: kueue.ReasonClusterQueueInactive, kind: permanent, text: "its ClusterQueue is inactive",
		},
		"drained, and resumed": {
			conditions: condition("QuotaReserved", "False", "PendingEvaluation", "The ClusterQueue is stopped") +
				condition("Evicted", "True", "ClusterQueueStopped", "The ClusterQueue is stopped") + condition("Requeued", "True", "ClusterQueueRestarted", ""),
			want: kueue.ReasonNotEvaluated, kind: transient, text: "Kueue has not evaluated it yet",
		},
		"preemption gated": {
			conditions: condition("QuotaReserved", "False", "AdmissionGated", "Workload requires preemption, but it's gated") +
				condition("BlockedOnPreemptionGates", "True", "PreemptionGated", ""),
			want: kueue.ReasonPreemptionGated, kind: transient, text: "waits for permission to preempt others",
		},
		"gated, with its preemption gates open": {
			conditions: condition("QuotaReserved", "False", "AdmissionGated", "Admission is gated by: example.com/audit") +
				condition("BlockedOnPreemptionGates", "False", "PreemptionGated", ""),
			want: kueue.ReasonAdmissionGated, kind: transient, text: "admission is gated by example.com/audit",
		},
		"deactivated by a person": {
			spec: inactive, conditions: condition("QuotaReserved", "False", "Deactivated", "The workload is deactivated") +
				condition("Evicted", "True", "Deactivated", "The workload is deactivated"),
			want: kueue.ReasonDeactivated, kind: permanent, text: "a user deactivated its Workload",
		},
		"deactivated, Kueue has not reacted": {spec: inactive, conditions: reserved, want: kueue.ReasonDeactivated, kind: permanent, text: "a user deactivated its Workload"},
		// Kueue evicted it for the check before it could say so with Evicted.
		"timed out while evicted": {
			spec: inactive, conditions: condition("QuotaReserved", "False", "Deactivated", "The workload is deactivated") +
				condition("Evicted", "True", "AdmissionCheck", retried) + condition("Requeued", "False", "AdmissionCheck", retried) +
				condition("DeactivationTarget", "True", "MaximumExecutionTimeExceeded", "exceeding the maximum execution time"),
			want: kueue.ReasonTimedOut, kind: permanent, text: "stopped at its maximum execution time (kueue.x-k8s.io/max-exec-time-seconds)",
		},
		"timed out": {
			spec: inactive, conditions: condition("Evicted", "True", "DeactivatedDueToMaximumExecutionTimeExceeded", "The workload is deactivated due to exceeding the maximum execution time"),
			want: kueue.ReasonTimedOut, kind: permanent, text: "stopped at its maximum execution time (kueue.x-k8s.io/max-exec-time-seconds)",
		},
		"about to time out": {
			conditions: reserved + condition("DeactivationTarget", "True", "MaximumExecutionTimeExceeded", "exceeding the maximum execution time"),
			want:       kueue.ReasonTimedOut, kind: permanent, text: "stopped at its maximum execution time (kueue.x-k8s.io/max-exec-time-seconds)",
		},
		"requeued too often": {
			spec: inactive, conditions: condition("Evicted", "True", "DeactivatedDueToRequeuingLimitExceeded", "The workload is deactivated due to exceeding the maximum number of re-queuing retries"),
			want: kueue.ReasonRequeueLimit, kind: permanent, text: "its Pods were not ready in time too often",
		},
		"withdrawn by MultiKueue": {
			spec: inactive, conditions: condition("Evicted", "True", "DeactivatedDueToEvictedOnManagerCluster", "The workload is deactivated due to Evicted on manager: "+retried),
			want: kueue.ReasonEvictedOnManager, kind: transient, text: "MultiKueue withdrew it",
		},
		"another cause": {
			spec: inactive, conditions: condition("Evicted", "True", "DeactivatedDueToSomethingNew", "The workload is deactivated due to news"),
			want: kueue.ReasonDeactivatedByKueue, kind: permanent, text: "Kueue deactivated its Workload: The workload is deactivated due to news",
		},
		"rejected by an unknown check": {
			spec: inactive, conditions: condition("Evicted", "True", "DeactivatedDueToAdmissionCheck", "The workload is deactivated"),
			want: kueue.ReasonCheckRejected, kind: permanent, text: "an AdmissionCheck rejects it",
		},
		"activated again": {
			conditions: condition("QuotaReserved", "False", "Pending", "The workload is deactivated") + condition("Evicted", "True", "Deactivated", "The workload is deactivated") +
				condition("Requeued", "True", "Reactivated", "The workload was reactivated"),
			want: kueue.ReasonNotEvaluated, kind: transient, text: "Kueue has not evaluated it yet",
		},
		"too large as a whole": {
			spec: "spec: {podSets: [{name: main, count: 5, minCount: 2}]}, ", conditions: condition("QuotaReserved", "False", "ExceedsMaxQuota", ""),
			want: kueue.ReasonOverLimit, kind: uncertain, text: "needs more than the limit",
		},
		"no flavor for any of its Pods": {
			spec: "spec: {podSets: [{name: main, count: 5, minCount: 2}]}, ", conditions: condition("QuotaReserved", "False", "NoMatchingFlavor", ""),
			want: kueue.ReasonNoMatchingFlavor, kind: permanent, text: "no flavor matches its Pods",
		},
		"backoff with an end": {
			conditions: condition("QuotaReserved", "False", "Pending", "Exceeded the PodsReady timeout default/a") +
				condition("Evicted", "True", "PodsReadyTimeout", "Exceeded the PodsReady timeout default/a") + condition("Requeued", "False", "PodsReadyTimeout", ""),
			checks: `requeueState: {count: 3, requeueAt: "2026-01-01T00:04:00Z"}, `,
			want:   kueue.ReasonBackoff, kind: transient, text: "evicted because its Pods were not ready in time; waits until 2026-01-01 00:04:00Z, when Kueue queues it again (eviction 3)",
		},
		"backoff without a count": {
			conditions: condition("QuotaReserved", "False", "Pending", retried) + condition("Evicted", "True", "AdmissionCheck", retried) +
				condition("Requeued", "False", "AdmissionCheck", retried),
			checks: `requeueState: {requeueAt: "2026-01-01T00:04:00Z"}, `,
			want:   kueue.ReasonBackoff, kind: transient, text: "waits until 2026-01-01 00:04:00Z, when Kueue queues it again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			text := fmt.Sprintf(`{%sstatus: {%sconditions: [%s]}}`, tt.spec, tt.checks, tt.conditions)
			wait := workload(t, text).Waiting()
			assert.Equal(t, wait.Reason, tt.want)
			assert.Equal(t, certainty(&wait), tt.kind)
			assert.Equal(t, wait.Text(), tt.text)
			if c := claimOf(t, text); c != nil {
				claimWait := c.Waiting()
				assert.Equal(t, claimWait.Reason, tt.want)
				assert.Equal(t, claimWait.Text(), tt.text)
			}
		})
	}
}

// TestWaitReasons checks that every reason is listed once, and has one kind.
func TestWaitReasons(t *testing.T) {
	seen := map[kueue.WaitReason]bool{}
	for _, r := range kueue.WaitReasons() {
		assert.Assert(t, !seen[r], r)
		seen[r] = true
		wait := kueue.Wait{Reason: r}
		assert.Assert(t, !wait.IsTransient() || !wait.IsPermanent(), r)
	}
	for _, tt := range slices.Concat(olderQuotas(), newerQuotas()) {
		assert.Assert(t, seen[tt.want], tt.want)
	}
}

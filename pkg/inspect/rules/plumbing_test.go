package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

const lost = `failed to get server groups: Get "https://127.0.0.1:32746/api": dial tcp 127.0.0.1:32746: connect: connection refused; connection attempts: 2, next connection attempt: 2026-11-20T23:28:13Z`

// active gives an object of the manager another condition Active.
func active(object, status, reason, message string) edit {
	return patch("kwok-mgr", object, fmt.Sprintf(
		`{status: {conditions: [{type: Active, status: %q, reason: %s, message: %q, lastTransitionTime: "2026-11-20T23:40:00Z"}]}}`, status, reason, message))
}

// cannotUse makes a manager unable to use a worker.
func cannotUse(worker, reason, message string) edit {
	return active("MultiKueueCluster/"+worker, "False", reason, message)
}

// noWorker makes the manager's queue inactive while the Job train of the
// recording "running" waits in it.
func noWorker(reason, message string) []edit {
	return []edit{
		active("AdmissionCheck/multikueue", "False", reason, message),
		active("ClusterQueue/cluster-queue", "False", "AdmissionCheckInactive", "Can't admit new workloads: references inactive AdmissionCheck(s): multikueue."),
		patch("kwok-mgr", "Job/default/train", `{spec: {suspend: true}, status: null}`),
		patch("kwok-mgr", "Workload/default/job-train-1c348", `{status: {admission: null, admissionChecks: null, clusterName: null, conditions: [
			{type: QuotaReserved, status: "False", reason: Suspended, message: ClusterQueue cluster-queue is inactive, lastTransitionTime: "2026-11-20T23:43:18Z"}]}}`),
		remove("kwok-w1", "Job/default/train"),
		remove("kwok-w1", "Workload/default/job-train-1c348"),
	}
}

func allLost() []edit {
	return slices.Concat(noWorker("NoUsableClusters", "Inactive clusters: [worker1 worker2]"), []edit{
		cannotUse("worker1", "ClientConnectionFailed", lost), cannotUse("worker2", "ClientConnectionFailed", lost),
	})
}

func plumbingCases() []testCase {
	return slices.Concat(workerCases(), onlyWorkerCases(), connectionCases(), chainCases(), queueCases(), partCases())
}

// workerCases are those of JM001, JM002 and JM010.
func workerCases() []testCase {
	const gone = `load client config failed: Secret "worker2-secret" not found`
	return []testCase{
		{name: "no Secret", code: "JM001", base: "running", fires: true, edits: []edit{cannotUse("worker2", "BadKubeConfig", gone)}},
		{
			name: "another key", code: "JM001", base: "running", fires: true,
			edits: []edit{cannotUse("worker2", "BadKubeConfig", `load client config failed: key "kubeconfig" not found in secret "worker2-secret"`)},
		},
		{name: "before 0.14", code: "JM001", base: "running", fires: true, edits: []edit{cannotUse("worker2", "BadConfig", gone)}},
		{name: "of the worker that runs it", code: "JM001", base: "running", fires: true, edits: []edit{cannotUse("worker1", "BadKubeConfig", gone)}},
		{
			name: "a file", code: "JM001", base: "running", fires: true, edits: []edit{
				cannotUse("worker2", "BadKubeConfig", "load client config failed: kubeconfig path is not under the allowed prefix"),
				patch("kwok-mgr", "MultiKueueCluster/worker2", `{spec: {clusterSource: {kubeConfig: {location: /tmp/kubeconfig, locationType: Path}}}}`),
			},
		},
		{name: "made since", code: "JM001", base: "running", edits: []edit{active("MultiKueueCluster/worker2", "True", "Active", "Connected")}},
		{
			name: "being deleted", code: "JM001", base: "running", edits: []edit{
				cannotUse("worker2", "BadKubeConfig", gone),
				patch("kwok-mgr", "MultiKueueCluster/worker2", `{metadata: {deletionTimestamp: "2026-11-20T23:40:00Z"}}`),
			},
		},
		{name: "not probed yet", code: "JM001", base: "running", edits: []edit{patch("kwok-mgr", "MultiKueueCluster/worker2", `{status: null}`)}},
		{name: "garbage", code: "JM002", base: "one-worker-unusable", fires: true},
		{
			name: "a token file", code: "JM002", base: "running", fires: true,
			edits: []edit{cannotUse("worker2", "InsecureKubeConfig", "load client config failed: tokenFile is not allowed")},
		},
		{name: "missing is not refused", code: "JM002", base: "running", edits: []edit{cannotUse("worker2", "BadKubeConfig", gone)}},
		{
			name: "gate off", code: "JM010", base: "running", fires: true, edits: []edit{
				cannotUse("worker2", "MultiKueueClusterProfileFeatureDisabled", "load client config failed: MultiKueueClusterProfile feature gate is disabled"),
				patch("kwok-mgr", "MultiKueueCluster/worker2", `{spec: {clusterSource: {kubeConfig: null, clusterProfileRef: {name: w2}}}}`),
			},
		},
		{
			name: "no profile", code: "JM010", base: "running", fires: true,
			edits: []edit{cannotUse("worker2", "BadClusterProfile", `load client config failed: ClusterProfile.multicluster.x-k8s.io "w2" not found`)},
		},
		{name: "it has a kubeconfig", code: "JM010", base: "one-worker-unusable"},
	}
}

// connectionCases are those of JM003 to JM007.
func connectionCases() []testCase {
	var all []testCase
	codes := []string{"JM003", "JM004", "JM005", "JM006", "JM007"}
	for i, c := range []struct{ code, name, message string }{
		{"JM003", "expired", "Unauthorized"},
		{"JM003", "none", "the server has asked for the client to provide credentials"},
		{"JM003", "anonymous", `workloads.kueue.x-k8s.io is forbidden: User "system:anonymous" cannot watch resource "workloads" in API group "kueue.x-k8s.io" at the cluster scope`},
		{"JM003", "certificate", `Get "https://w2:6443/api": remote error: tls: expired certificate`},
		{"JM004", "refused", lost},
		{"JM004", "certificate", `Get "https://w2:6443/api": tls: failed to verify certificate: x509: certificate signed by unknown authority`},
		{"JM004", "slow", "watch establishment timed out"},
		{"JM005", "no JobSets", `no matches for kind "JobSet" in version "jobset.x-k8s.io/v1alpha2"`},
		{"JM005", "JobSets gone", "the server could not find the requested resource (get jobsets.jobset.x-k8s.io)"},
		{"JM006", "no role", `jobsets.jobset.x-k8s.io is forbidden: User "system:serviceaccount:kueue-system:mk" cannot watch resource "jobsets" in API group "jobset.x-k8s.io" at the cluster scope`},
		{"JM006", "other words", `unknown: jobs is forbidden`},
		{"JM007", "no Kueue", `no matches for kind "Workload" in version "kueue.x-k8s.io/v1beta2"`},
		{"JM007", "Kueue gone", "the server could not find the requested resource (get workloads.kueue.x-k8s.io)"},
	} {
		message := []edit{cannotUse("worker2", "ClientConnectionFailed", c.message)}
		other := codes[(slices.Index(codes, c.code)+1+i%4)%len(codes)]
		all = append(all,
			testCase{name: c.name, code: c.code, base: "running", fires: true, edits: message},
			testCase{name: "not " + c.name, code: other, base: "running", edits: message},
		)
	}
	return append(all,
		testCase{name: "really", code: "JM004", base: "worker-lost", fires: true},
		testCase{name: "all of them", code: "JM004", base: "running", edits: allLost(), fires: true},
		testCase{
			name: "used by nothing", code: "JM004", base: "running", fires: true, edits: []edit{
				cannotUse("worker2", "ClientConnectionFailed", lost),
				patch("kwok-mgr", "MultiKueueConfig/fleet", `{spec: {clusters: [worker1]}}`),
			},
		},
		testCase{
			name: "we cannot reach it, and the manager can", code: "JM004", base: "running",
			edits: []edit{unreachable("kwok-w1")},
		},
		testCase{
			name: "without a reason", code: "JM004", base: "running", fires: true,
			edits: []edit{cannotUse("worker2", "SomethingNew", "")},
		},
	)
}

// chainCases are those of JM008.
func chainCases() []testCase {
	prov := add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: prov}, spec: {controllerName: kueue.x-k8s.io/provisioning-request},
		status: {conditions: [{type: Active, status: "False", reason: BadConfig, message: x, lastTransitionTime: "2026-11-20T23:40:00Z"}]}}`)
	return []testCase{
		{
			name: "no MultiKueueConfig", code: "JM008", base: "running", fires: true, edits: append(
				noWorker("BadConfig", `Cannot load the AdmissionChecks parameters: MultiKueueConfig.kueue.x-k8s.io "fleet" not found`),
				remove("kwok-mgr", "MultiKueueConfig/fleet")),
		},
		{
			name: "no parameters", code: "JM008", base: "running", fires: true, edits: append(
				noWorker("BadConfig", "Cannot load the AdmissionChecks parameters: missing parameters reference"),
				patch("kwok-mgr", "AdmissionCheck/multikueue", `{spec: {parameters: null}}`)),
		},
		{
			name: "no MultiKueueCluster", code: "JM008", base: "running", fires: true, edits: append(
				noWorker("NoUsableClusters", "Missing clusters: [worker1 worker2]"),
				remove("kwok-mgr", "MultiKueueCluster/worker1"), remove("kwok-mgr", "MultiKueueCluster/worker2")),
		},
		{
			name: "one out of reach, one misconfigured", code: "JM008", base: "running", edits: append(allLost(),
				cannotUse("worker1", "BadKubeConfig", `load client config failed: Secret "worker1-secret" not found`)),
		},
		{
			name: "no ClusterQueue uses it", code: "JM008", base: "running", fires: true, edits: []edit{
				active("AdmissionCheck/multikueue", "False", "BadConfig", "Cannot load the AdmissionChecks parameters: missing parameters reference"),
				patch("kwok-mgr", "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: null}}`),
			},
		},
		{
			name: "no AdmissionCheck", code: "JM008", base: "running", fires: true, edits: append(
				noWorker("BadConfig", "it is gone"),
				remove("kwok-mgr", "AdmissionCheck/multikueue"),
				active("ClusterQueue/cluster-queue", "False", "AdmissionCheckNotFound", "Can't admit new workloads: references missing AdmissionCheck(s): multikueue.")),
		},
		{
			name: "another check is inactive", code: "JM008", base: "running", fires: true, edits: append(
				noWorker("Active", ""), active("AdmissionCheck/multikueue", "True", "Active", "The admission check is active"), prov,
				patch("kwok-mgr", "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: {admissionChecks: [{name: multikueue}, {name: prov}]}}}`)),
		},
		{
			name: "another check of another queue is inactive", code: "JM008", base: "running", edits: append(
				noWorker("Active", ""), active("AdmissionCheck/multikueue", "True", "Active", "The admission check is active"), prov,
				patch("kwok-mgr", "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: {admissionChecks: [{name: prov}]}}}`)),
		},
		{
			name: "one misconfigured, one missing", code: "JM008", base: "running", fires: true, edits: append(allLost(),
				cannotUse("worker1", "BadKubeConfig", `load client config failed: Secret "worker1-secret" not found`), remove("kwok-mgr", "MultiKueueCluster/worker2")),
		},
		{name: "all are out of reach", code: "JM008", base: "running", edits: allLost()},
		{name: "one is left", code: "JM008", base: "one-worker-unusable"},
		{
			name: "a check of another controller", code: "JM008", base: "running", edits: append(
				noWorker("BadConfig", "whatever"),
				patch("kwok-mgr", "AdmissionCheck/multikueue", `{spec: {controllerName: example.com/other}}`)),
		},
		{
			name: "not a manager", code: "JM008", base: "running", edits: []edit{
				patch("kwok-w1", "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: {admissionChecks: [{name: prov}]}}, status: {conditions: [
					{type: Active, status: "False", reason: AdmissionCheckNotFound, message: "references missing AdmissionCheck(s): prov", lastTransitionTime: "2026-11-20T23:40:00Z"}]}}`),
			},
		},
	}
}

// queueCases are those of JM009.
func queueCases() []testCase {
	all := []testCase{
		{name: "in service", code: "JM009", base: "running"},
		{
			name: "out of service for another reason", code: "JM009", base: "running",
			edits: []edit{active("ClusterQueue/cluster-queue", "False", "Stopped", "Can't admit new workloads: is stopped.")},
		},
	}
	for _, reason := range []string{"MultipleMultiKueueAdmissionChecks", "MultiKueueAdmissionCheckAppliedPerFlavor", "MultiKueueWithProvisioningRequest"} {
		all = append(all, testCase{
			name: reason, code: "JM009", base: "running", fires: true, edits: append(
				noWorker("Active", "it is active"),
				active("AdmissionCheck/multikueue", "True", "Active", "The admission check is active"),
				active("ClusterQueue/cluster-queue", "False", reason, "Can't admit new workloads: found: multikueue,other.")),
		})
	}
	return append(all, testCase{
		name: "the reason of another fault", code: "JM009", base: "running", fires: true, edits: []edit{
			add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: provreq}, spec: {controllerName: kueue.x-k8s.io/provisioning-request}}`),
			patch("kwok-mgr", "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: {admissionChecks: [{name: multikueue}, {name: provreq}]}}}`),
			active("ClusterQueue/cluster-queue", "False", "AdmissionCheckInactive",
				"Can't admit new workloads: references inactive AdmissionCheck(s): provreq, Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found: multikueue, provreq."),
		},
	})
}

// partCases are those of JM011.
func partCases() []testCase {
	some := func(message string) edit {
		return active("AdmissionCheck/multikueue", "True", "SomeActiveClusters", message)
	}
	return []testCase{
		{name: "misconfigured, which JM002 reports", code: "JM011", base: "one-worker-unusable"},
		{
			name: "no such cluster", code: "JM011", base: "running", fires: true, edits: []edit{
				some("Missing clusters: [worker2]"), remove("kwok-mgr", "MultiKueueCluster/worker2"),
			},
		},
		{
			name: "not evaluated", code: "JM011", base: "running", fires: true, edits: []edit{
				some("Inactive clusters: [worker2]"), patch("kwok-mgr", "MultiKueueCluster/worker2", `{status: null}`),
			},
		},
		{name: "merely out of reach", code: "JM011", base: "worker-lost"},
		{name: "all are usable again", code: "JM011", base: "running", edits: []edit{some("Inactive clusters: [worker2]")}},
		{name: "all are usable", code: "JM011", base: "running"},
	}
}

// TestServedCheckIsNamed checks that the fix for a check with a wrong controllerName names the
// check that MultiKueue serves.
func TestServedCheckIsNamed(t *testing.T) {
	v := testCase{name: "wrong controllerName", code: "JM008", base: "running", edits: []edit{
		add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: typo}, spec: {controllerName: kueue.x-k8s.io/multikue, parameters: {apiGroup: kueue.x-k8s.io, kind: MultiKueueConfig, name: fleet}}}`),
		patch("kwok-mgr", "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: {admissionChecks: [{name: typo}]}}}`),
	}}.inventory(t)
	rule, _ := rules.ByCode("JM008")
	found := judge(t, v, []rules.Rule{rule}, 0)
	assert.Equal(t, len(found), 1)
	assert.Equal(t, found[0].Remedy, "name AdmissionCheck multikueue, which MultiKueue serves, in ClusterQueue cluster-queue instead of typo: "+
		quoted("kubectl --context kwok-mgr edit clusterqueues.kueue.x-k8s.io cluster-queue"))
}

// TestServedCheckIsCreated checks that the fix for a check with a foreign controllerName names the controller
// of the new check, and all ClusterQueues that name the old one.
func TestServedCheckIsCreated(t *testing.T) {
	rule, _ := rules.ByCode("JM008")
	foreign := patch("kwok-mgr", "AdmissionCheck/multikueue", `{spec: {controllerName: acme.example.com/dispatcher}}`)
	second := add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: second},
		spec: {admissionChecksStrategy: {admissionChecks: [{name: multikueue}]}}}`)
	const created = "create AdmissionCheck multikueue-2 with controllerName kueue.x-k8s.io/multikueue (that of multikueue is immutable): "
	for ending, edits := range map[string][]edit{
		"and then name it in ClusterQueue cluster-queue instead of multikueue: " +
			quoted("kubectl --context kwok-mgr edit clusterqueues.kueue.x-k8s.io cluster-queue"): {foreign},
		"and then name it in ClusterQueues cluster-queue, second instead of multikueue: " +
			quoted("kubectl --context kwok-mgr edit clusterqueues.kueue.x-k8s.io cluster-queue second"): {foreign, second},
	} {
		found := judge(t, testCase{base: unservedCheck, edits: edits, later: time.Hour}.make(t), []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), 1)
		assert.Assert(t, strings.HasPrefix(found[0].Remedy, created) && strings.HasSuffix(found[0].Remedy, ending), found[0].Remedy)
	}
}

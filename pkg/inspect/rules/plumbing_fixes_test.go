package rules_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// remedyOfConnection returns the remedy of the only finding of a rule if the manager cannot use
// worker2 and says why.
func remedyOfConnection(t *testing.T, code, message string, more ...edit) string {
	t.Helper()
	c := testCase{base: "running", edits: append(more, cannotUse("worker2", "ClientConnectionFailed", message))}
	rule, _ := rules.ByCode(code)
	found := judge(t, c.make(t), []rules.Rule{rule}, 0)
	assert.Equal(t, len(found), 1)
	return found[0].Remedy
}

// TestFixOfCertificate checks that the fix changes what the manager rejects in a certificate, and
// the authority only if that is unknown.
func TestFixOfCertificate(t *testing.T) {
	const verify = `Get "https://w2:6443/api": tls: failed to verify certificate: x509: `
	for message, want := range map[string]string{
		"certificate has expired or is not yet valid: current time 2026-11-20T23:40:00Z is after 2026-11-19T00:00:00Z":  "renew the certificate of https://",
		"certificate has expired or is not yet valid: current time 2026-11-20T23:40:00Z is before 2026-11-21T00:00:00Z": "correct the clock of kwok-mgr: the certificate of https://",
		"certificate is valid for 10.0.0.1, not 10.0.0.2":                                                               "write a server that the certificate names, or that name as tls-server-name, in worker2.kubeconfig, and then ",
		"cannot validate certificate for 10.0.0.2 because it doesn't contain any IP SANs":                               "write a server that the certificate names",
		"certificate signed by unknown authority":                                                                       "write the authority that signs worker2's certificate to certificate-authority-data in worker2.kubeconfig, and then ",
		"certificate specifies an incompatible key usage":                                                               "correct the server, its tls-server-name or certificate-authority-data in worker2.kubeconfig, and then ",
	} {
		remedy := remedyOfConnection(t, "JM004", verify+message)
		assert.Assert(t, strings.HasPrefix(remedy, want), "%s: %s", message, remedy)
	}
}

// TestFixOfMissingSecret checks that the fix says to write the file that its command reads.
func TestFixOfMissingSecret(t *testing.T) {
	rule, _ := rules.ByCode("JM001")
	found := judge(t, testCase{base: "running", edits: []edit{cannotUse("worker2", "BadKubeConfig", `load client config failed: Secret "worker2-secret" not found`)}}.make(t), []rules.Rule{rule}, 0)
	assert.Equal(t, len(found), 1)
	assert.Assert(t, strings.HasPrefix(found[0].Remedy, "write the kubeconfig of the worker to worker2.kubeconfig, and then `kubectl --context kwok-mgr "), found[0].Remedy)
}

// TestFixOfKueueVersion checks that the fix changes Kueue on the manager if that requests a version
// of the API that a newer worker does not serve.
func TestFixOfKueueVersion(t *testing.T) {
	const upgrade, install = "upgrade Kueue on kwok-mgr to 0.16 or later", "install Kueue 0.15 or later on worker2"
	message := func(version string) string {
		return `no matches for kind "Workload" in version "kueue.x-k8s.io/` + version + `"`
	}
	without := func(remedy, text string) { assert.Assert(t, !strings.Contains(remedy, text), remedy) }

	old := remedyOfConnection(t, "JM007", message("v1beta1"))
	assert.Assert(t, strings.HasPrefix(old, upgrade), old)
	without(old, "install")
	unread := remedyOfConnection(t, "JM007", message("v1beta1"), unreachable("kwok-w2"))
	assert.Assert(t, strings.HasPrefix(unread, upgrade) && strings.Contains(unread, "if worker2 has no Kueue, install it there: "), unread)
	current := remedyOfConnection(t, "JM007", message("v1beta2"))
	assert.Assert(t, strings.HasPrefix(current, install), current)
	without(current, "upgrade")
}

// TestFixOfRights checks that the fix for a missing right includes the status of the resource, and
// that the fixes for two managers of a worker are two roles.
func TestFixOfRights(t *testing.T) {
	remedy := func(user, resource string) string {
		return remedyOfConnection(t, "JM006", `jobs.batch is forbidden: User "`+user+`" cannot list resource "`+resource+`" in API group "batch" at the cluster scope`)
	}
	first, other := remedy("system:serviceaccount:kueue-system:a", "jobs"), remedy("system:serviceaccount:kueue-system:b", "jobs")
	assert.Assert(t, strings.Contains(first, `"resources":["jobs"]`) && strings.Contains(first, `"resources":["jobs/status"]`), first)
	assert.Equal(t, remedy("system:serviceaccount:kueue-system:a", "jobs/status"), first)
	role := func(text string) string {
		_, name, _ := strings.Cut(text, "create clusterrolebinding ")
		return strings.Fields(name)[0]
	}
	assert.Assert(t, role(first) != role(other), role(first))
}

// TestFixOfAllRights checks that JM006 grants the rights that JM416 reports, if these were read.
func TestFixOfAllRights(t *testing.T) {
	verbs := []string{"watch"}
	c := testCase{code: "JM416", base: "running", edits: []edit{
		credential("2027-11-19T23:43:44Z"),
		cannotUse("worker2", "ClientConnectionFailed", `jobs.batch is forbidden: User "system:serviceaccount:kueue-system:manager" cannot watch resource "jobs" in API group "batch" at the cluster scope`),
	}, deny: []inspect.Access{{Group: "batch", Resource: "jobs", Verbs: verbs}, {Group: "kueue.x-k8s.io", Resource: "workloads", Verbs: verbs}}}
	v := c.make(t)
	one, _ := rules.ByCode("JM006")
	all, _ := rules.ByCode("JM416")
	forbidden, denied := judge(t, v, []rules.Rule{one}, 0), judge(t, v, []rules.Rule{all}, 0)
	assert.Equal(t, len(forbidden), 1)
	assert.Equal(t, len(denied), 1)
	assert.Equal(t, forbidden[0].Remedy, denied[0].Remedy)
}

// TestFixNamesListOfKind checks that the fixes of JM005 and JM408 name the list of Kueue's configuration that
// enables the kind.
func TestFixNamesListOfKind(t *testing.T) {
	rule, _ := rules.ByCode("JM005")
	const config = "integrations: {frameworks: [jobset.x-k8s.io/jobset], externalFrameworks: [Flow.v1.flows.example.com]}\nmultiKueue: {externalFrameworks: [{name: PipelineRun.v1.tekton.dev}]}"
	for message, list := range map[string]string{
		`no matches for kind "JobSet" in version "jobset.x-k8s.io/v1alpha2"`:             "integrations.frameworks",
		`no matches for kind "Flow" in version "flows.example.com/v1"`:                   "integrations.externalFrameworks",
		"the server could not find the requested resource (get pipelineruns.tekton.dev)": "multiKueue.externalFrameworks",
		`no matches for kind "RayJob" in version "ray.io/v1"`:                            "the frameworks",
	} {
		edits := append(everywhere(config, config), cannotUse("worker2", "ClientConnectionFailed", message))
		found := judge(t, testCase{code: "JM408", base: "running", edits: edits}.make(t), []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), 1)
		assert.Assert(t, strings.HasSuffix(found[0].Remedy, "; or remove it from "+list+" in the configuration of Kueue on kwok-mgr"), found[0].Remedy)
	}
	external := "integrations: {frameworks: [batch/job, pod], externalFrameworks: [Flow.v1.flows.example.com]}"
	integrations, _ := rules.ByCode("JM408")
	for _, finding := range judge(t, testCase{code: "JM408", base: "running", edits: everywhere(external, "")}.make(t), []rules.Rule{integrations}, 0) {
		assert.Assert(t, strings.HasPrefix(finding.Remedy, "add Flow.v1.flows.example.com to integrations.externalFrameworks, and pod to integrations.frameworks on kwok-w"), finding.Remedy)
	}
}

// TestFixOfLostConnection checks that the fix of JM004 waits for the next attempt only as long as one may
// be due.
func TestFixOfLostConnection(t *testing.T) {
	rule, _ := rules.ByCode("JM004")
	lost := cannotUse("worker2", "ClientConnectionFailed", "dial tcp 10.0.0.1:6443: connect: connection refused")
	for later, want := range map[time.Duration]string{
		time.Minute: "wait up to five minutes: ",
		time.Hour:   "restore the connection from kwok-mgr to https://",
	} {
		found := judge(t, testCase{base: "running", edits: []edit{lost}, later: later}.make(t), []rules.Rule{rule}, 0)
		assert.Equal(t, len(found), 1)
		assert.Assert(t, strings.HasPrefix(found[0].Remedy, want), found[0].Remedy)
	}
}

// TestRestartOfLostJobs checks that the finding of a lost worker says when MultiKueue restarts its Jobs elsewhere and,
// after that, that Kueue on the manager may be down.
func TestRestartOfLostJobs(t *testing.T) {
	rule, _ := rules.ByCode("JM004")
	const kueueRuns = "kubectl --context kwok-mgr get deployments,pods -A -l app.kubernetes.io/name=kueue"
	for later, want := range map[time.Duration]string{
		0:         "MultiKueue restarts the Job elsewhere after workerLostTimeout, by default at about 2026-11-20T23:42:58Z",
		time.Hour: "MultiKueue has not restarted the Job elsewhere, although workerLostTimeout ended by default at about 2026-11-20T23:42:58Z",
	} {
		f := judge(t, testCase{base: "worker-lost", later: later}.make(t), []rules.Rule{rule}, 0)[0]
		assert.Equal(t, f.Message, "MultiKueueCluster worker1 runs default/train and is unreachable from kwok-mgr (connection refused); "+want)
		assert.Equal(t, f.Fixes[len(f.Fixes)-1].Shell() == kueueRuns, later > 0, f.Remedy)
	}
}

// TestMissingClusterWithMirror checks that the fix of JM011 does not remove a cluster that runs a Job
// from the MultiKueueConfig.
func TestMissingClusterWithMirror(t *testing.T) {
	partly := active("AdmissionCheck/multikueue", "True", "SomeActiveClusters", "x")
	for name, remedy := range map[string]string{
		"worker1": "create MultiKueueCluster worker1 on kwok-mgr again, with the manifest in FILE: " + quoted("kubectl --context kwok-mgr create -f FILE"),
		"worker2": "create MultiKueueCluster worker2, or remove it from spec.clusters: " + quoted("kubectl --context kwok-mgr edit multikueueconfigs.kueue.x-k8s.io fleet"),
	} {
		found := judge(t, testCase{base: "running", edits: []edit{partly, remove("kwok-mgr", "MultiKueueCluster/"+name)}}.make(t), rules.All(), 0)
		assert.Equal(t, findingOf(t, found, "JM011").Remedy, remedy)
	}
}

// onlyWorkerCases are Jobs whose only worker is broken.
func onlyWorkerCases() []testCase {
	var all []testCase
	for _, c := range []struct{ code, reason, message string }{
		{"JM001", "BadKubeConfig", `load client config failed: Secret "worker1-secret" not found`},
		{"JM002", "InsecureKubeConfig", "load client config failed: tokenFile is not allowed"},
		{"JM003", "ClientConnectionFailed", "Unauthorized"},
		{"JM004", "ClientConnectionFailed", lost},
		{"JM005", "ClientConnectionFailed", `no matches for kind "JobSet" in version "jobset.x-k8s.io/v1alpha2"`},
		{"JM006", "ClientConnectionFailed", `workloads.kueue.x-k8s.io is forbidden: User "mk" cannot watch resource "workloads" in API group "kueue.x-k8s.io" at the cluster scope`},
		{"JM007", "ClientConnectionFailed", "the server could not find the requested resource (get workloads.kueue.x-k8s.io)"},
		{"JM010", "BadClusterProfile", `load client config failed: ClusterProfile.multicluster.x-k8s.io "w1" not found`},
	} {
		all = append(all, testCase{
			name: "the only worker", code: c.code, base: "running", fires: true,
			edits: append(noWorker("NoUsableClusters", "Inactive clusters: [worker1]"),
				patch("kwok-mgr", "MultiKueueConfig/fleet", `{spec: {clusters: [worker1]}}`), cannotUse("worker1", c.reason, c.message)),
		})
	}
	return all
}

// TestOnlyWorkerBroken checks that a Job whose only worker is broken has the cause and its fix, not the
// AdmissionCheck that is inactive for that reason.
func TestOnlyWorkerBroken(t *testing.T) {
	for _, c := range onlyWorkerCases() {
		t.Run(c.code, func(t *testing.T) {
			v := c.inventory(t)
			found := judge(t, v, rules.All(), 0)
			assert.Equal(t, strings.Join(codesOf(found), " "), c.code)
			assert.Equal(t, found[0].Jobs[0].Name, "train")
			trace := answersOf(t, v, 0)[0]
			fault := kueue.Fault(meta.FindStatusCondition(v.Facts(mgr).Kueue.ClusterNamed("worker1").Status.Conditions, kueue.Active))
			assert.Check(t, strings.Contains(trace.Message, fault), trace.Message)
			assert.Check(t, hasFixOf(trace, &found[0]), trace.Remedy)
		})
	}
}

// TestBrokenWorkerAndMissing checks that the fix of JM008 says why a worker is broken, and does not remove another one from the
// config: no usable worker would remain.
func TestBrokenWorkerAndMissing(t *testing.T) {
	found := judge(t, testCase{
		base: "running", edits: append(allLost(),
			cannotUse("worker1", "BadKubeConfig", `load client config failed: Secret "worker1-secret" not found`), remove("kwok-mgr", "MultiKueueCluster/worker2")),
	}.make(t), rules.All(), 0)
	assert.Equal(t, findingOf(t, found, "JM008").Remedy,
		`repair MultiKueueCluster worker1 (JM001: Secret "worker1-secret" not found): `+quoted("kubectl --context kwok-mgr describe multikueueclusters.kueue.x-k8s.io worker1")+
			"; or create MultiKueueCluster worker2 on kwok-mgr, with the manifest in FILE: "+quoted("kubectl --context kwok-mgr create -f FILE"))
}

// TestBrokenWorkerAndMissingInUse checks that no repair of another worker replaces the one that makes Jobs visible again.
func TestBrokenWorkerAndMissingInUse(t *testing.T) {
	found := judge(t, testCase{
		base: "running", edits: []edit{
			active("AdmissionCheck/multikueue", "False", "NoUsableClusters", "Missing clusters: [worker1], Inactive clusters: [worker2]"),
			cannotUse("worker2", "BadKubeConfig", `load client config failed: Secret "worker2-secret" not found`), remove("kwok-mgr", "MultiKueueCluster/worker1"),
		},
	}.make(t), rules.All(), 0)
	assert.Equal(t, findingOf(t, found, "JM008").Remedy,
		"create MultiKueueCluster worker1 on kwok-mgr again, with the manifest in FILE: "+quoted("kubectl --context kwok-mgr create -f FILE")+
			`; repair MultiKueueCluster worker2 (JM001: Secret "worker2-secret" not found): `+quoted("kubectl --context kwok-mgr describe multikueueclusters.kueue.x-k8s.io worker2"))
}

// TestProfileFixes checks that each reason why a ClusterProfile cannot be used has its own fix.
func TestProfileFixes(t *testing.T) {
	profile := patch("kwok-mgr", "MultiKueueCluster/worker1", `{spec: {clusterSource: {kubeConfig: null, clusterProfileRef: {name: w1}}}}`)
	change := quoted("kubectl --context kwok-mgr edit multikueueclusters.kueue.x-k8s.io worker1")
	for _, tt := range []struct{ reason, message, remedy string }{
		{"BadClusterProfile", `load client config failed: ClusterProfile.multicluster.x-k8s.io "w1" not found`, "create ClusterProfile w1 in namespace kueue-system on kwok-mgr, or name another one: " + change},
		{"BadClusterProfile", `load client config failed: no matches for kind "ClusterProfile"`, "check that ClusterProfile w1 exists in namespace kueue-system on kwok-mgr, and that Kueue may read it: " +
			quoted("kubectl --context kwok-mgr -n kueue-system get clusterprofiles.multicluster.x-k8s.io")},
		{"BadRestConfig", "load client config failed: no credentials provider found", "correct multiKueue.clusterProfile.accessProviders in the configuration of Kueue on kwok-mgr: "},
		{"MultiKueueClusterProfileFeatureDisabled", "the feature gate is off", "start Kueue on kwok-mgr with --feature-gates=MultiKueueClusterProfile=true; or give MultiKueueCluster worker1 a clusterSource.kubeConfig"},
	} {
		found := judge(t, testCase{base: "running", edits: []edit{profile, cannotUse("worker1", tt.reason, tt.message)}}.make(t), rules.All(), 0)
		f := findingOf(t, found, "JM010")
		assert.Assert(t, strings.HasPrefix(f.Remedy, tt.remedy), f.Remedy)
	}
}

// TestMistypedConfig checks that an AdmissionCheck that mistypes its MultiKueueConfig gets the right one first.
func TestMistypedConfig(t *testing.T) {
	for name, want := range map[string]struct{ meant, remedy string }{
		"flet": {"; did you mean fleet?", "set spec.parameters of AdmissionCheck multikueue to MultiKueueConfig fleet: " +
			quoted(`kubectl --context kwok-mgr patch admissionchecks.kueue.x-k8s.io multikueue --type merge -p '{"spec":{"parameters":{"apiGroup":"kueue.x-k8s.io","kind":"MultiKueueConfig","name":"fleet"}}}'`) +
			"; or create MultiKueueConfig flet on kwok-mgr"},
		"fleet": {"", "MultiKueueConfig fleet exists by now: check that Kueue runs on kwok-mgr: "},
		"tokyo": {"", "create MultiKueueConfig tokyo on kwok-mgr, or name another one: " + quoted("kubectl --context kwok-mgr edit admissionchecks.kueue.x-k8s.io multikueue")},
	} {
		found := judge(t, testCase{base: "running", edits: append(noWorker("BadConfig", "MultiKueueConfig not found"),
			patch("kwok-mgr", "AdmissionCheck/multikueue", `{spec: {parameters: {name: `+name+`}}}`))}.make(t), rules.All(), 0)
		f := findingOf(t, found, "JM008")
		assert.Equal(t, strings.Contains(f.Message, "did you mean"), want.meant != "", f.Message)
		assert.Assert(t, strings.HasSuffix(f.Message, want.meant), f.Message)
		assert.Assert(t, strings.HasPrefix(f.Remedy, want.remedy), f.Remedy)
		assert.Assert(t, name == "fleet" || f.Remedy == want.remedy, f.Remedy)
	}
}

// TestMissingCheckInChain checks that the chain of a Job shows that a check does not exist, unless the check has answered.
func TestMissingCheckInChain(t *testing.T) {
	for name, tt := range map[string]struct {
		edits []edit
		state string
	}{
		"pending": {offered(remove(w1, workload)), "NotFound"}, "ready": {nil, "Ready"},
	} {
		v := testCase{base: "running", edits: append(tt.edits, remove(mgr, "AdmissionCheck/multikueue"))}.make(t)
		hops := chain.Trace(v, v.Subjects()[0]).Hops
		i := slices.IndexFunc(hops, func(h inspect.Hop) bool { return h.Kind == "AdmissionCheck" })
		assert.Equal(t, hops[i].State, tt.state, name)
	}
}

package rules_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// kueueRuns is a Kueue that runs on a context: its webhook, Service, Deployment and configuration.
func kueueRuns(context, version, config string, args ...string) []edit {
	return kueueWith(context, version, config, 1, args...)
}

func kueueWith(context, version, config string, ready int, args ...string) []edit {
	if config != "" {
		config = "kind: Configuration\n" + config
	}
	return []edit{
		add(context, `{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: of-kueue},
			webhooks: [{name: mworkload.kb.io, clientConfig: {service: {namespace: queueing, name: webhooks}}, rules: [{apiGroups: [kueue.x-k8s.io]}]}]}`),
		add(context, `{apiVersion: v1, kind: Service, metadata: {name: webhooks, namespace: queueing}, spec: {selector: {app: kueue}}}`),
		add(context, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: other, namespace: queueing}, spec: {template: {metadata: {labels: {app: other}}, spec: {containers: []}}}}`),
		add(context, fmt.Sprintf(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: controller, namespace: queueing},
			spec: {replicas: 2, template: {metadata: {labels: {app: kueue, tier: x}}, spec: {containers: [{image: "registry.example/kueue:%s", args: ["--config=/c.yaml", %s]}], volumes: [{configMap: {name: config}}]}}},
			status: {readyReplicas: %d}}`, version, strings.Join(args, ", "), ready)),
		add(context, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: config, namespace: queueing}, data: {controller_manager_config.yaml: %q}}`, config)),
	}
}

// everywhere is a Kueue of one version on all clusters, with one
// configuration each.
func everywhere(manager, worker string) []edit {
	return slices.Concat(kueueRuns("kwok-mgr", "v0.19.2", manager), kueueRuns("kwok-w1", "v0.19.2", worker), kueueRuns("kwok-w2", "v0.19.2", worker))
}

// credential gives the kubeconfig of worker2 a token that is valid until a
// time.
func credential(notAfter string) edit {
	return patch("kwok-mgr", "Secret/worker2-secret", fmt.Sprintf(`{metadata: {annotations: {jobmanagedby.github.io/credential:
		'{"kind":"token","user":"system:serviceaccount:kueue-system:manager","notAfter":"%s"}'}}}`, notAfter))
}

func class(context, value string) edit {
	return add(context, `{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: high}, value: `+value+`}`)
}

// kubeconfigOfWorker1 points to kwok-w1.
func kubeconfigOfWorker1() string {
	return base64.StdEncoding.EncodeToString([]byte(`{apiVersion: v1, kind: Config, clusters: [{name: w, cluster: {server: "https://127.0.0.1:32758"}}]}`))
}

// secondManager makes kwok-w2 a manager too, whose worker is kwok-w1.
func secondManager() []edit {
	return []edit{
		add("kwok-w2", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueConfig, metadata: {name: fleet}, spec: {clusters: [first]}}`),
		add("kwok-w2", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueCluster, metadata: {name: first}, spec: {clusterSource: {kubeConfig: {location: worker1-secret}}}}`),
		add("kwok-w2", `{apiVersion: v1, kind: Secret, metadata: {name: worker1-secret, namespace: kueue-system}, data: {kubeconfig: `+kubeconfigOfWorker1()+`}}`),
	}
}

// setupCases are those of JM401 to JM419.
func setupCases() []testCase {
	return slices.Concat(parityCases(), installationCases(), accessCases())
}

func parityCases() []testCase {
	const base = "running"
	stop := `{spec: {stopPolicy: Hold}}`
	labelled := `{spec: {namespaceSelector: {matchLabels: {team: ml}}}}`
	inactive := func(context, reason string) edit {
		return patch(context, "ClusterQueue/cluster-queue", `{status: {conditions: [{type: Active, status: "False", reason: `+reason+`, message: "x", lastTransitionTime: "2026-11-20T23:40:00Z"}]}}`)
	}
	otherClass := add("kwok-w2", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: low}, value: 1}`)
	withoutLocal := remove("kwok-mgr", "LocalQueue/only-mgr/*")
	return []testCase{
		{name: "missing", code: "JM401", base: base, fires: true, edits: []edit{remove("kwok-w1", "Namespace/default")}},
		{name: "being deleted", code: "JM401", base: base, fires: true, edits: []edit{patch("kwok-w1", "Namespace/default", `{status: {phase: Terminating}}`)}},
		{name: "with its namespace, which is being deleted", code: "JM402", base: base, edits: []edit{
			patch("kwok-w1", "Namespace/default", `{status: {phase: Terminating}}`), remove("kwok-w1", "LocalQueue/default/user-queue"),
		}},
		{name: "all there", code: "JM401", base: base, edits: []edit{withoutLocal}},
		{name: "the queue leads nowhere", code: "JM401", base: base, edits: []edit{remove("kwok-w1", "Namespace/default"), patch("kwok-mgr", "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: null}}`)}},
		{name: "unread", code: "JM401", base: base, edits: []edit{withoutLocal, remove("kwok-w1", "Namespace/default"), forbidden("kwok-w1", "namespaces")}},
		{name: "missing", code: "JM402", base: base, fires: true, edits: []edit{remove("kwok-w1", "LocalQueue/default/user-queue")}},
		{name: "two missing", code: "JM402", base: base, fires: true, edits: []edit{
			remove("kwok-w1", "LocalQueue/default/user-queue"), remove("kwok-w1", "ClusterQueue/cluster-queue"),
			add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: other, namespace: default}, spec: {clusterQueue: cluster-queue}}`),
		}},
		{name: "all there", code: "JM402", base: base},
		{name: "with its namespace", code: "JM402", base: base, edits: []edit{remove("kwok-w1", "Namespace/default"), remove("kwok-w1", "LocalQueue/default/user-queue")}},
		{name: "unread", code: "JM402", base: base, edits: []edit{remove("kwok-w1", "LocalQueue/default/user-queue"), forbidden("kwok-w1", "localqueues.kueue.x-k8s.io")}},
		{name: "worker not used", code: "JM402", base: base, edits: []edit{remove("kwok-w1", "LocalQueue/default/user-queue"), patch("kwok-mgr", "MultiKueueConfig/fleet", `{spec: {clusters: [worker2]}}`)}},
		{name: "stopped on a worker", code: "JM403", base: base, fires: true, edits: []edit{patch("kwok-w2", "ClusterQueue/cluster-queue", stop)}},
		{name: "LocalQueue stopped", code: "JM403", base: base, fires: true, edits: []edit{patch("kwok-mgr", "LocalQueue/default/user-queue", stop)}},
		{name: "no ClusterQueue", code: "JM403", base: base, fires: true, edits: []edit{remove("kwok-w2", "ClusterQueue/cluster-queue")}},
		{name: "no ClusterQueue on the manager", code: "JM403", base: base, fires: true, edits: []edit{
			add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: other, namespace: default}, spec: {clusterQueue: no-such-queue}}`),
		}},
		{name: "no flavor", code: "JM403", base: base, fires: true, edits: []edit{inactive("kwok-w2", "FlavorNotFound")}},
		{name: "JM128 on the manager", code: "JM403", base: base, edits: []edit{inactive("kwok-mgr", "FlavorNotFound")}},
		{name: "all open", code: "JM403", base: base},
		{name: "no label", code: "JM404", base: base, fires: true, edits: []edit{patch("kwok-w2", "ClusterQueue/cluster-queue", labelled)}},
		{name: "no selector", code: "JM404", base: base, fires: true, edits: []edit{patch("kwok-mgr", "ClusterQueue/cluster-queue", `{spec: {namespaceSelector: null}}`)}},
		{name: "labelled", code: "JM404", base: base, edits: []edit{patch("kwok-w2", "ClusterQueue/cluster-queue", labelled), patch("kwok-w2", "Namespace/default", `{metadata: {labels: {team: ml}}}`)}},
		{name: "too much", code: "JM406", base: base, fires: true, edits: []edit{quotaOf("kwok-mgr", "cpu", "100000")}},
		{name: "uncovered", code: "JM406", base: base, fires: true, edits: []edit{quotaOf("kwok-mgr", "example.com/gpu", "8")}},
		{name: "no more than together", code: "JM406", base: base, edits: []edit{quotaOf("kwok-mgr", "cpu", "8"), quotaOf("kwok-w1", "cpu", "4"), quotaOf("kwok-w2", "cpu", "4")}},
		{name: "stopped on a worker", code: "JM406", base: base, edits: []edit{
			quotaOf("kwok-mgr", "cpu", "8"), quotaOf("kwok-w1", "cpu", "4"), quotaOf("kwok-w2", "cpu", "4"), patch("kwok-w2", "ClusterQueue/cluster-queue", stop),
		}},
		{name: "a worker lacks the LocalQueue", code: "JM406", base: base, edits: []edit{quotaOf("kwok-mgr", "cpu", "100000"), remove("kwok-w1", "LocalQueue/default/user-queue")}},
		{name: "missing", code: "JM407", base: base, fires: true, edits: []edit{class("kwok-mgr", "10"), class("kwok-w1", "10"), otherClass}},
		{name: "other value", code: "JM407", base: base, fires: true, edits: []edit{class("kwok-mgr", "10"), class("kwok-w1", "10"), class("kwok-w2", "11")}},
		{name: "equal", code: "JM407", base: base, edits: []edit{class("kwok-mgr", "10"), class("kwok-w1", "10"), class("kwok-w2", "10")}},
		{name: "only on workers", code: "JM407", base: base, edits: []edit{class("kwok-w1", "10")}},
		{name: "none", code: "JM417", base: base, fires: true, edits: []edit{patch("kwok-mgr", "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: null}}`)}},
		{name: "one", code: "JM417", base: base},
		{name: "queues unread", code: "JM417", base: base, edits: []edit{forbidden("kwok-mgr", "localqueues.kueue.x-k8s.io")}},
		{name: "left", code: "JM419", base: "cluster-removed-from-config", fires: true},
		{name: "all are workers", code: "JM419", base: base},
		{name: "a worker under another name", code: "JM419", base: "same-cluster-under-two-names", edits: []edit{
			patch("kwok-mgr", "MultiKueueConfig/fleet", `{spec: {clusters: [worker1, worker2]}}`),
		}},
		{name: "an hour ahead", code: "JM418", base: base, fires: true, edits: []edit{skewed("kwok-w1", 3600)}},
		{name: "two seconds ahead", code: "JM418", base: base, edits: []edit{skewed("kwok-w1", 2)}},
	}
}

func quotaOf(context, resource, nominal string) edit {
	return patch(context, "ClusterQueue/cluster-queue", fmt.Sprintf(
		`{spec: {cohortName: null, resourceGroups: [{coveredResources: [%s], flavors: [{name: default-flavor, resources: [{name: %s, nominalQuota: %q}]}]}]}}`, resource, resource, nominal))
}

func installationCases() []testCase {
	const base = "running"
	jobs := "integrations: {frameworks: [batch/job]}"
	both := "integrations: {frameworks: [batch/job, pod]}"
	older := func(version string, args ...string) []edit {
		return slices.Concat(kueueRuns("kwok-mgr", "v0.19.2", jobs, args...), kueueRuns("kwok-w1", version, jobs))
	}
	shared := func(origin string) []edit {
		return slices.Concat(secondManager(), kueueRuns("kwok-mgr", "v0.19.2", jobs), kueueRuns("kwok-w2", "v0.19.2", "multiKueue: {origin: "+origin+"}"))
	}
	const early = "objectRetentionPolicies: {workloads: {afterFinished: 1m}}"
	return []testCase{
		{name: "pods", code: "JM408", base: base, fires: true, edits: everywhere(both, jobs)},
		{name: "same settings everywhere", code: "JM408", base: base, edits: everywhere(both, both)},
		{name: "more on the worker", code: "JM408", base: base, edits: everywhere("", both)},
		{name: "configuration unread", code: "JM408", base: base, edits: append(everywhere(both, jobs), remove("kwok-mgr", "ConfigMap/config"))},
		{name: "one minor", code: "JM409", base: base, fires: true, edits: older("v0.18.4")},
		{name: "before annotations", code: "JM409", base: base, fires: true, edits: older("v0.17.1")},
		{name: "before annotations, gate off", code: "JM409", base: base, fires: true, edits: older("v0.17.1", "--feature-gates=WorkloadIdentifierAnnotations=false")},
		{name: "newer", code: "JM409", base: base, edits: older("v0.20.0")},
		{name: "unknown", code: "JM409", base: base, edits: older("main")},
		{name: "default of both", code: "JM411", base: base, fires: true, edits: shared("multikueue")},
		{name: "configurations unknown", code: "JM411", base: base, fires: true, edits: secondManager()},
		{name: "one configuration unknown", code: "JM411", base: base, fires: true, edits: append(shared("tokyo"), remove("kwok-mgr", "ConfigMap/config"))},
		{name: "different", code: "JM411", base: base, edits: shared("tokyo")},
		{name: "one manager", code: "JM411", base: base, edits: everywhere(jobs, jobs)},
		{name: "zero", code: "JM412", base: base, fires: true, edits: everywhere("multiKueue: {gcInterval: 0s}", jobs)},
		{name: "on a worker", code: "JM412", base: base, edits: everywhere(jobs, "multiKueue: {gcInterval: 0s}")},
		{name: "a minute", code: "JM413", base: base, fires: true, edits: everywhere(jobs, early)},
		{name: "on the manager", code: "JM413", base: base, edits: everywhere(early, jobs)},
		{name: "an hour", code: "JM413", base: base, edits: everywhere(jobs, strings.Replace(early, "1m", "1h", 1))},
		{name: "by flag", code: "JM414", base: base, fires: true, edits: kueueRuns("kwok-mgr", "v0.19.2", jobs, "--feature-gates=MultiKueue=false")},
		{name: "by configuration", code: "JM414", base: base, fires: true, edits: everywhere("featureGates: {MultiKueue: false}", jobs)},
		{name: "on a worker", code: "JM414", base: base, edits: everywhere("featureGates: {MultiKueue: true}", "featureGates: {MultiKueue: false}")},
		{name: "no replica", code: "JM415", base: base, fires: true, edits: kueueWith("kwok-w1", "v0.19.2", jobs, 0)},
		{name: "one replica", code: "JM415", base: base, edits: everywhere(jobs, jobs)},
		{name: "not found", code: "JM415", base: base},
		{name: "1.29", code: "JM410", base: base, fires: true, edits: []edit{versioned("kwok-mgr", "v1.29.4")}},
		{name: "1.31", code: "JM410", base: base, fires: true, edits: []edit{versioned("kwok-mgr", "v1.31.0-gke.1")}},
		{name: "on a worker", code: "JM410", base: base, edits: []edit{versioned("kwok-w1", "v1.29.4")}},
	}
}

func accessCases() []testCase {
	const base = "running"
	return []testCase{
		{name: "in a day", code: "JM405", base: base, fires: true, edits: []edit{credential("2026-11-21T23:43:44Z")}},
		{name: "yesterday", code: "JM405", base: base, fires: true, edits: []edit{credential("2026-11-19T23:43:44Z")}},
		{name: "in an hour, and renewed each hour", code: "JM405", base: base, fires: true, edits: []edit{credential(`2026-11-21T00:43:44Z","notBefore":"2026-11-20T23:43:44Z`)}},
		{name: "in a day, of a year", code: "JM405", base: base, fires: true, edits: []edit{credential(`2026-11-21T23:43:44Z","notBefore":"2025-11-21T23:43:44Z`)}},
		{name: "next year", code: "JM405", base: base, edits: []edit{credential("2027-11-19T23:43:44Z")}},
		{name: "no facts", code: "JM405", base: base},
		{name: "void", code: "JM405", base: base, fires: true, edits: []edit{credential("2027-11-19T23:43:44Z")}, void: "ServiceAccount kueue-system/manager does not exist"},
		{name: "void, and JM003", code: "JM405", base: base, fires: true, edits: []edit{credential("2027-11-19T23:43:44Z"), cannotUse("worker2", "ClientConnectionFailed", "Unauthorized")}, void: "ServiceAccount kueue-system/manager does not exist"},
		{name: "JM003", code: "JM405", base: base, fires: true, edits: []edit{credential("2026-11-19T23:43:44Z"), cannotUse("worker2", "ClientConnectionFailed", "Unauthorized")}},
		{name: "may not delete", code: "JM416", base: base, fires: true, edits: []edit{credential("2027-11-19T23:43:44Z")}, deny: []inspect.Access{{Group: "batch", Resource: "jobs", Verbs: []string{"delete"}}}},
		{name: "may all", code: "JM416", base: base, edits: []edit{credential("2027-11-19T23:43:44Z")}, deny: []inspect.Access{}},
		{name: "not asked", code: "JM416", base: base, edits: []edit{credential("2027-11-19T23:43:44Z")}},
	}
}

// TestRejectedCredentials checks that doctor names expired and void credentials of a worker that the
// manager cannot use, does not list credentials as passed, and grants no rights to a void user.
func TestRejectedCredentials(t *testing.T) {
	const gone = "ServiceAccount kueue-system/manager does not exist"
	unusable := cannotUse("worker2", "ClientConnectionFailed", "the server has asked for the client to provide credentials")
	lacks := []inspect.Access{{Group: "batch", Resource: "jobs", Verbs: []string{"delete"}}}
	for name, tt := range map[string]struct {
		edits []edit
		void  string
		says  string
	}{
		"expired": {[]edit{credential("2023-11-14T22:13:20Z"), unusable}, "", "credentials for worker2 expired"},
		"void":    {[]edit{credential("2027-11-19T23:43:44Z"), unusable}, gone, "credentials for worker2 are invalid: " + gone},
		"unknown": {[]edit{credential("2027-11-19T23:43:44Z"), unusable}, "", "JM003"},
	} {
		t.Run(name, func(t *testing.T) {
			v := testCase{name: "rejected " + name, code: "JM405", base: "running", edits: tt.edits, void: tt.void, deny: lacks}.make(t)
			report := rules.Report(v, rules.Options{})
			var texts []string
			for _, f := range report.Items {
				texts = append(texts, f.Code+" "+f.Message)
				if f.Code == "JM416" {
					assert.Equal(t, strings.Contains(f.Remedy, "create clusterrolebinding"), tt.void == "", f.Remedy)
				}
			}
			assert.Assert(t, strings.Contains(strings.Join(texts, "\n"), tt.says), texts)
			i := slices.IndexFunc(report.Clusters, func(c inspect.DoctorCluster) bool { return c.Context == "kwok-mgr" })
			assert.Assert(t, !slices.Contains(report.Clusters[i].Passed, "credentials"), report.Clusters[i].Passed)
		})
	}
}

// TestSetupIsSilent checks that readings without Setup give no findings about
// what only doctor reads, and that a correct setup has none.
func TestSetupIsSilent(t *testing.T) {
	good := testCase{code: "JM4", name: "well", base: "running", edits: append(everywhere("", ""), remove("kwok-mgr", "LocalQueue/only-mgr/*"), quotaOf("kwok-mgr", "cpu", "8"), quotaOf("kwok-w1", "cpu", "4"), quotaOf("kwok-w2", "cpu", "4"))}
	assert.DeepEqual(t, codesOf(judge(t, good.inventory(t), rules.ForSetup(), 0)), []string(nil))
	for _, c := range setupCases() {
		c.code = strings.Replace(c.code, "JM4", "of JM4", 1)
		for _, f := range judge(t, c.make(t), rules.Catalogue(), 0) {
			assert.Assert(t, !strings.HasPrefix(f.Code, "JM4"), "%s %s: %s", c.code, c.name, f.Code)
		}
	}
}

// TestSetupSeverities checks that what may be intended, or only wastes time, is
// not an error.
func TestSetupSeverities(t *testing.T) {
	for name, want := range map[string]inspect.Severity{
		"JM403 stopped on a worker": inspect.Warning, "JM403 no flavor": inspect.Error, "JM405 in a day": inspect.Warning, "JM405 in a day, of a year": inspect.Warning, "JM405 in an hour, and renewed each hour": inspect.Info, "JM405 yesterday": inspect.Error, "JM405 void": inspect.Error,
		"JM406 too much": inspect.Info, "JM406 uncovered": inspect.Warning, "JM409 one minor": inspect.Warning, "JM409 before annotations": inspect.Error,
		"JM409 before annotations, gate off": inspect.Warning, "JM410 1.29": inspect.Error, "JM410 1.31": inspect.Warning,
	} {
		i := slices.IndexFunc(setupCases(), func(c testCase) bool { return c.code+" "+c.name == name })
		assert.Assert(t, i >= 0, name)
		c := setupCases()[i]
		rule, _ := rules.ByCode(c.code)
		for _, f := range judge(t, c.inventory(t), []rules.Rule{rule}, 0) {
			assert.Equal(t, f.Severity, want, name)
		}
	}
}

// TestClosedEverywhere checks that a stopped queue is an error if no worker of a LocalQueue is left.
func TestClosedEverywhere(t *testing.T) {
	const stop = `{spec: {stopPolicy: Hold}}`
	rule, _ := rules.ByCode("JM403")
	severities := func(edits ...edit) (all []inspect.Severity) {
		for _, f := range judge(t, testCase{name: fmt.Sprint(edits), code: "JM403", base: "running", edits: edits}.inventory(t), []rules.Rule{rule}, 0) {
			all = append(all, f.Severity)
		}
		return all
	}
	first, second := patch("kwok-w1", "ClusterQueue/cluster-queue", stop), patch("kwok-w2", "ClusterQueue/cluster-queue", stop)
	assert.DeepEqual(t, severities(second), []inspect.Severity{inspect.Warning})
	assert.DeepEqual(t, severities(first, second), []inspect.Severity{inspect.Error, inspect.Error})
	assert.DeepEqual(t, severities(remove("kwok-w1", "LocalQueue/default/user-queue"), second), []inspect.Severity{inspect.Error})
}

// TestMissingNamespaceWithQueues checks that the fix of JM401 creates the LocalQueues too.
func TestMissingNamespaceWithQueues(t *testing.T) {
	rule, _ := rules.ByCode("JM401")
	v := testCase{name: "with its queues", code: "JM401", base: "running", edits: []edit{remove("kwok-w1", "Namespace/default"), remove("kwok-w1", "LocalQueue/default/user-queue")}}.inventory(t)
	found := judge(t, v, []rules.Rule{rule}, 0)
	assert.Equal(t, found[0].Message, "namespaces default, only-mgr are missing on worker1 (context kwok-w1), with LocalQueues default/user-queue, only-mgr/user-queue")
	assert.Assert(t, strings.Contains(found[0].Remedy, "create namespace only-mgr") && strings.Contains(found[0].Remedy, `"kind":"List"`), found[0].Remedy)
}

// TestNamespaceNotDispatched checks that doctor -n says that no LocalQueue of the namespace uses
// MultiKueue, even if those of other namespaces do.
func TestNamespaceNotDispatched(t *testing.T) {
	rule, _ := rules.ByCode("JM417")
	without := patch("kwok-mgr", "ClusterQueue/cluster-queue", `{spec: {admissionChecksStrategy: null}}`)
	for name, tt := range map[string]struct {
		edits    []edit
		found    int
		severity inspect.Severity
	}{
		"its queue has the check": {nil, 0, ""},
		"its queue has no check":  {[]edit{without}, 1, inspect.Warning},
		"no worker has its queue": {[]edit{without, remove("kwok-w1", "LocalQueue/default/*"), remove("kwok-w2", "LocalQueue/default/*")}, 1, inspect.Info},
		"it has no queue":         {[]edit{remove("kwok-mgr", "LocalQueue/default/user-queue")}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := open(t, testCase{base: "running", edits: tt.edits}.bundle(t))
			v := read.Read(t.Context(), o.fleet, read.Want{Setup: true, SetupIn: "default", Addresses: o.addresses, Now: o.takenAt})
			findings := judge(t, v, []rules.Rule{rule}, 0)
			assert.Equal(t, len(findings), tt.found)
			for _, f := range findings {
				assert.Equal(t, f.Severity, tt.severity)
				assert.Assert(t, strings.Contains(f.Message, "no LocalQueue of namespace default uses MultiKueue"), f.Message)
			}
		})
	}
}

// TestUnusedWorkerIsNamed checks that the report does not call a cluster unrelated to MultiKueue if
// a MultiKueueCluster that no config names points to it.
func TestUnusedWorkerIsNamed(t *testing.T) {
	o := open(t, recordings+"/cluster-removed-from-config")
	v := read.Read(t.Context(), o.fleet, read.Want{Setup: true, Addresses: o.addresses, Now: o.takenAt})
	for _, c := range rules.Report(v, rules.Options{}).Clusters {
		want := map[string]string{"kwok-w1": "none worker1", "kwok-w2": "worker worker2", "kwok-mgr": "manager "}
		assert.Equal(t, string(c.Role)+" "+strings.Join(c.Names, ", "), want[c.Context])
	}
	// Its Job runs twice, so the fix must not let its mirror finish there.
	rule, _ := rules.ByCode("JM419")
	fixes := judge(t, v, []rules.Rule{rule}, 0)[0].Fixes
	assert.Equal(t, fixes[1].Text, `if it should not be a worker, delete the mirrors there that run twice (JM055 in "check -A"), let the others finish, and then`)
}

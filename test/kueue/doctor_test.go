package kueue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/poll"
)

// doctors is the namespace of these tests, and the name of their ClusterQueue.
const doctors = "doctor"

// installation is Kueue as its manifests install it, for doctor to find: here Kueue runs outside
// of the clusters. The webhook is never called.
const installation = `---
apiVersion: v1
kind: Namespace
metadata: {name: kueue-system}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: found-by-doctor}
webhooks:
- name: found.by.doctor
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  objectSelector: {matchLabels: {found-by: nothing}}
  clientConfig: {service: {namespace: kueue-system, name: kueue-webhook-service}}
  rules: [{apiGroups: [kueue.x-k8s.io], apiVersions: ["*"], operations: [CREATE], resources: [workloads]}]
---
apiVersion: v1
kind: Service
metadata: {name: kueue-webhook-service, namespace: kueue-system}
spec: {selector: {control-plane: controller-manager}, ports: [{port: 443}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: kueue-controller-manager, namespace: kueue-system}
spec:
  selector: {matchLabels: {control-plane: controller-manager}}
  template:
    metadata: {labels: {control-plane: controller-manager}}
    spec:
      containers: [{name: manager, image: "registry.example/kueue:v0.19.2", args: ["--config=/controller_manager_config.yaml"]}]
      volumes: [{name: config, configMap: {name: kueue-manager-config}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kueue-manager-config, namespace: kueue-system}
data: {controller_manager_config.yaml: "{kind: Configuration, integrations: {frameworks: [batch/job]}}"}
`

// doctorOf returns doctor's report of the namespace, for a user of the administrator's clusters or
// another user.
func doctorOf(t *testing.T, args ...string) inspect.DoctorReport {
	t.Helper()
	out, err := kubectl(t.Context(), "", append([]string{"jobs-managedby", "doctor", "-n", doctors, "-o", "json"}, args...)...)
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 3 && exit.ExitCode() != 4) {
		assert.NilError(t, err)
	}
	var report inspect.DoctorReport
	assert.NilError(t, json.Unmarshal([]byte(out), &report), out)
	return report
}

// doctorFinds waits until doctor finds exactly these codes, sorted, and returns the findings.
func doctorFinds(t *testing.T, want ...string) []inspect.Finding {
	t.Helper()
	var report inspect.DoctorReport
	var codes []string
	err := poll.Until(t.Context(), poll.Limit, func(context.Context) (bool, error) {
		report, codes = doctorOf(t), nil
		for i := range report.Items {
			codes = append(codes, report.Items[i].Code)
		}
		slices.Sort(codes)
		return slices.Equal(slices.Compact(codes), want), nil
	})
	assert.NilError(t, err, "doctor finds %q, not %q; not checked: %v", codes, want, report.Unchecked)
	return report.Items
}

// config sets the configuration of Kueue on a cluster.
func config(t *testing.T, cluster, text string) {
	t.Helper()
	data, err := json.Marshal(map[string]any{"data": map[string]any{"controller_manager_config.yaml": "kind: Configuration\n" + text}})
	assert.NilError(t, err)
	kubectlOn(t, cluster, "-n", "kueue-system", "patch", "configmap", "kueue-manager-config", "--type=merge", "-p", string(data))
}

// deployment changes Kueue's Deployment on a cluster.
func deployment(t *testing.T, cluster, change string) {
	t.Helper()
	kubectlOn(t, cluster, "-n", "kueue-system", "patch", "deployment", "kueue-controller-manager", "-p", change)
}

// ready sets the number of ready replicas of Kueue's Deployment: no controller in these clusters
// runs Deployments.
func ready(t *testing.T, cluster string, n int) {
	t.Helper()
	kubectlOn(t, cluster, "-n", "kueue-system", "patch", "deployment", "kueue-controller-manager", "--subresource=status", "--type=merge",
		"-p", fmt.Sprintf(`{"status":{"replicas":%d,"readyReplicas":%d,"availableReplicas":%d,"updatedReplicas":%d}}`, n, n, n, n))
}

func image(version string) string {
	return fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"manager","image":"registry.example/kueue:%s"}]}}}}`, version)
}

// brokenSetup is a set-up in which Jobs do not run.
type brokenSetup struct {
	name   string
	breaks func(s scene)
	codes  []string
	// repairs is nil if the first fix of each finding repairs it.
	repairs func(s scene)
}

func brokenSetups() []brokenSetup {
	jobs := "integrations: {frameworks: [batch/job]}"
	setting := func(cluster, text string) func(scene) { return func(s scene) { config(s.t, cluster, text) } }
	resetting := func(cluster string) func(scene) { return setting(cluster, jobs) }
	patching := func(cluster, kind, name, change string) func(scene) {
		return func(s scene) {
			kubectlOn(s.t, cluster, "patch", kind+".kueue.x-k8s.io", name, "-n", doctors, "--type=merge", "-p", change)
		}
	}
	class := func(value string) string {
		return fmt.Sprintf("---\napiVersion: kueue.x-k8s.io/%s\nkind: WorkloadPriorityClass\nmetadata: {name: doctor}\nvalue: %s\n", multiKueue.API, value)
	}
	return []brokenSetup{
		{name: "queue missing on a worker", codes: []string{"JM402"}, breaks: func(s scene) {
			kubectlOn(s.t, worker1, "-n", doctors, "delete", "localqueues.kueue.x-k8s.io", queue)
		}},
		{name: "queue stopped on a worker", codes: []string{"JM403"}, breaks: patching(worker1, "clusterqueues", doctors, `{"spec":{"stopPolicy":"Hold"}}`)},
		{name: "queue stopped on the manager", codes: []string{"JM403"}, breaks: patching(management, "localqueues", queue, `{"spec":{"stopPolicy":"Hold"}}`)},
		{name: "namespace not selected", codes: []string{"JM404"}, breaks: patching(worker1, "clusterqueues", doctors, `{"spec":{"namespaceSelector":{"matchLabels":{"team":"ml"}}}}`)},
		{
			name: "flavor missing on the manager", codes: []string{"JM128", "JM406"}, breaks: patching(management, "clusterqueues", doctors,
				`{"spec":{"resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"none","resources":[{"name":"cpu","nominalQuota":"99"}]}]}]}}`),
			repairs: patching(management, "clusterqueues", doctors, `{"spec":{"resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"default","resources":[{"name":"cpu","nominalQuota":"16"}]}]}]}}`),
		},
		{
			name: "resource that no worker has", codes: []string{"JM406"}, breaks: patching(management, "clusterqueues", doctors,
				`{"spec":{"resourceGroups":[{"coveredResources":["cpu","example.com/gpu"],"flavors":[{"name":"default","resources":[{"name":"cpu","nominalQuota":"16"},{"name":"example.com/gpu","nominalQuota":"8"}]}]}]}}`),
			repairs: patching(management, "clusterqueues", doctors, `{"spec":{"resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"default","resources":[{"name":"cpu","nominalQuota":"16"}]}]}]}}`),
		},
		{name: "priority class missing on workers", codes: []string{"JM407"}, breaks: func(s scene) { create(s.t, management, class("10")) }},
		{name: "priority class with another value", codes: []string{"JM407"}, breaks: patching(worker2, "workloadpriorityclasses", "doctor", `{"value":11}`)},
		{name: "kind not enabled on workers", codes: []string{"JM408"}, breaks: setting(management, "integrations: {frameworks: [batch/job, pod]}"), repairs: resetting(management)},
		{name: "older Kueue on a worker", codes: []string{"JM409"}, breaks: func(s scene) { deployment(s.t, worker1, image("v0.17.1")) }, repairs: func(s scene) { deployment(s.t, worker1, image("v0.19.2")) }},
		{name: "no garbage collection", codes: []string{"JM412"}, breaks: setting(management, jobs+"\nmultiKueue: {gcInterval: 0s}"), repairs: resetting(management)},
		{name: "Workloads deleted early", codes: []string{"JM413"}, breaks: setting(worker2, jobs+"\nobjectRetentionPolicies: {workloads: {afterFinished: 30s}}"), repairs: resetting(worker2)},
		{name: "gate off", codes: []string{"JM414"}, breaks: setting(management, jobs+"\nfeatureGates: {MultiKueue: false}"), repairs: resetting(management)},
		{name: "no replica", codes: []string{"JM415"}, breaks: func(s scene) { ready(s.t, worker2, 0) }, repairs: func(s scene) { ready(s.t, worker2, 1) }},
		{name: "a token that expires", codes: []string{"JM405"}, breaks: func(s scene) { useToken(s.t, "cluster-admin") }, repairs: func(s scene) { restoreSecret(s.t) }},
		{name: "rights missing on a worker", codes: []string{"JM405", "JM416"}, breaks: func(s scene) { useToken(s.t, "without-delete") }, repairs: func(s scene) { restoreSecret(s.t) }},
		{name: "kubeconfig refused", codes: []string{"JM002"}, breaks: func(s scene) {
			kubectlOn(s.t, management, "-n", "kueue-system", "patch", "secret", worker1, "--type=merge", "-p", `{"data":{"kubeconfig":"bm9uZQ=="}}`)
		}, repairs: func(s scene) { restoreSecret(s.t) }},
		{
			name: "namespace missing on a worker", codes: []string{"JM401"}, breaks: func(s scene) { kubectlOn(s.t, worker2, "delete", "namespace", doctors) },
			repairs: func(s scene) { runSteps(s.t, &doctorFinds(s.t, "JM401")[0].Fixes[0]) },
		},
	}
}

// secretData is the content of the Secret of worker 1.
var secretData string

func restoreSecret(t *testing.T) {
	t.Helper()
	kubectlOn(t, management, "-n", "kueue-system", "patch", "secret", worker1, "--type=merge", "-p", `{"data":`+secretData+`}`)
}

// useToken makes the manager authenticate to worker 1 with a token that is valid for an hour, with
// a ClusterRole.
func useToken(t *testing.T, role string) {
	t.Helper()
	create(t, worker1, `---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: without-delete}
rules:
- {apiGroups: [kueue.x-k8s.io], resources: ["*"], verbs: ["*"]}
- {apiGroups: [batch], resources: [jobs, jobs/status], verbs: [create, get, list, watch]}
`)
	t.Cleanup(func() {
		_, _ = kubectl(context.Background(), "", "--context", worker1, "delete", "clusterrole", "without-delete")
		_, _ = kubectl(context.Background(), "", "--context", worker1, "delete", "clusterrolebinding", "manager-"+role)
		_, _ = kubectl(context.Background(), "", "--context", worker1, "-n", "kueue-system", "delete", "serviceaccount", "manager")
	})
	kubectlOn(t, worker1, "-n", "kueue-system", "create", "serviceaccount", "manager")
	kubectlOn(t, worker1, "create", "clusterrolebinding", "manager-"+role, "--clusterrole="+role, "--serviceaccount=kueue-system:manager")
	token, err := kubectl(t.Context(), "", "--context", worker1, "-n", "kueue-system", "create", "token", "manager", "--duration=1h")
	assert.NilError(t, err)
	useCredential(t, strings.TrimSpace(token))
}

// useCredential makes the manager authenticate to worker 1 with a token.
func useCredential(t *testing.T, token string) {
	t.Helper()
	data, err := json.Marshal(map[string]any{"data": map[string]any{"kubeconfig": kubeconfigWith(t, token)}})
	assert.NilError(t, err)
	kubectlOn(t, management, "-n", "kueue-system", "patch", "secret", worker1, "--type=merge", "-p", string(data))
}

// kubeconfigWith is a kubeconfig of worker 1 with a token.
func kubeconfigWith(t *testing.T, token string) []byte {
	t.Helper()
	view := func(path string) string {
		text, err := kubectl(t.Context(), "", "--context", worker1, "config", "view", "--minify", "--flatten", "--raw", "-o", "jsonpath={.clusters[0].cluster."+path+"}")
		assert.NilError(t, err)
		return text
	}
	kubeconfig, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "w",
		"contexts": []any{map[string]any{"name": "w", "context": map[string]any{"cluster": "w", "user": "manager"}}},
		"clusters": []any{map[string]any{"name": "w", "cluster": map[string]any{"server": view("server"), "certificate-authority-data": view("certificate-authority-data")}}},
		"users":    []any{map[string]any{"name": "manager", "user": map[string]any{"token": token}}},
	})
	assert.NilError(t, err)
	return kubeconfig
}

// TestDoctor checks that doctor finds nothing in a correct set-up. It finds each broken set-up,
// and nothing more, and its fix repairs it. The test runs alone, since all tests share connections
// and configurations.
func TestDoctor(t *testing.T) {
	if multiKueue.API == "v1beta1" {
		t.Skip("managers before Kueue 0.15 and their conditions differ")
	}
	for _, cluster := range []string{management, worker1, worker2} {
		assert.NilError(t, multiKueue.Apply(t.Context(), cluster, installation))
		ready(t, cluster, 1)
	}
	assert.NilError(t, multiKueue.AddQueues(t.Context(), kueue.Queues{
		ClusterQueue: doctors, LocalQueue: queue, Namespaces: []string{doctors},
		Flavor: "default", Resource: "cpu", Quotas: map[string]string{management: "16", worker1: "8", worker2: "8"},
	}))
	var err error
	secretData, err = kubectl(t.Context(), "", "--context", management, "-n", "kueue-system", "get", "secret", worker1, "-o", "jsonpath={.data}")
	assert.NilError(t, err)
	t.Cleanup(func() {
		_, err := kubectl(context.Background(), "", "--context", management, "delete", "workloadpriorityclasses.kueue.x-k8s.io", "doctor", "--ignore-not-found")
		assert.NilError(t, err)
	})

	doctorFinds(t)
	report := doctorOf(t)
	assert.Assert(t, len(report.Unchecked) == 0 && len(report.Errors) == 0, "%v", report.Unchecked)
	assert.Equal(t, report.Summary, inspect.DoctorSummary{Managers: 1, Workers: 2})
	for _, tt := range brokenSetups() {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			tt.breaks(scene{t, doctors})
			found := doctorFinds(t, tt.codes...)
			for i := range found {
				f := &found[i]
				t.Logf("%s %s: %s\n  %s", f.Code, f.Name, f.Message, f.Remedy)
				if tt.repairs == nil {
					runFix(t, &f.Fixes[0])
					for _, step := range f.Fixes[0].Then {
						fix := f.Fixes[0]
						fix.Command = step.Command
						runFix(t, &fix)
					}
				}
			}
			if tt.repairs != nil {
				tt.repairs(scene{t, doctors})
			}
			doctorFinds(t)
			t.Logf("took %s", time.Since(start).Round(time.Millisecond))
		})
	}
	doctorWithFewRights(t)
}

// doctorWithFewRights checks that for a user who may read little, doctor lists the missing rights,
// and reports nothing as healthy.
func doctorWithFewRights(t *testing.T) {
	t.Helper()
	for _, cluster := range []string{management, worker1, worker2} {
		kubectlOn(t, cluster, "create", "clusterrole", "queues-reader", "--verb=get,list", "--resource=localqueues.kueue.x-k8s.io,clusterqueues.kueue.x-k8s.io,admissionchecks.kueue.x-k8s.io,multikueueconfigs.kueue.x-k8s.io,multikueueclusters.kueue.x-k8s.io,jobs.batch")
		kubectlOn(t, cluster, "create", "clusterrolebinding", "queues-reader", "--clusterrole=queues-reader", "--user=reader")
	}
	report := doctorOf(t, "--as", "reader")
	reasons := ""
	for _, u := range report.Unchecked {
		reasons += u.What + ": " + u.Reason + "\n"
	}
	for _, right := range []string{"get secrets in kueue-system", "get namespaces", "list mutatingwebhookconfigurations.admissionregistration.k8s.io", "list workloadpriorityclasses.kueue.x-k8s.io"} {
		assert.Check(t, strings.Contains(reasons, "needs the right to "+right), "%s is not among\n%s", right, reasons)
	}
	for _, c := range report.Clusters {
		for _, topic := range []string{"namespaces", "queues", "credentials", "rights", "kinds", "versions"} {
			assert.Check(t, !slices.Contains(c.Passed, topic), "%s passed on %s", topic, c.Context)
		}
	}
	doctorForNamedUser(t)
}

// doctorForNamedUser checks the case that a token without a user name does not show whose rights
// to check. --worker-identity names the user, and the fix grants the missing rights.
func doctorForNamedUser(t *testing.T) {
	t.Helper()
	const user = "named-manager"
	useCredential(t, "opaque")
	isAbout := func(u inspect.Unchecked) bool { return strings.Contains(u.Reason, "--worker-identity") }
	assert.Assert(t, slices.ContainsFunc(doctorOf(t).Unchecked, isAbout))
	lacks := func() *inspect.Finding {
		report := doctorOf(t, "--worker-identity", user)
		assert.Assert(t, !slices.ContainsFunc(report.Unchecked, isAbout), "%v", report.Unchecked)
		for i := range report.Items {
			if report.Items[i].Code == "JM416" {
				return &report.Items[i]
			}
		}
		return nil
	}
	found := lacks()
	assert.Assert(t, found != nil && strings.Contains(found.Message, user), "%v", found)
	t.Logf("%s %s: %s\n  %s", found.Code, found.Name, found.Message, found.Remedy)
	runFix(t, &found.Fixes[0])
	for _, step := range found.Fixes[0].Then {
		fix := found.Fixes[0]
		fix.Command = step.Command
		runFix(t, &fix)
	}
	assert.Assert(t, lacks() == nil)
	restoreSecret(t)
	doctorFinds(t)
}

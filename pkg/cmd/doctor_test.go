package cmd

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/rbactest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// installed is a Kueue installation from its manifests, with a WorkloadPriorityClass.
const installed = `- {apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: kueue-mutating-webhook-configuration},
   webhooks: [{name: mworkload.kb.io, clientConfig: {service: {namespace: kueue-system, name: kueue-webhook-service}}, rules: [{apiGroups: [kueue.x-k8s.io]}]}]}
- {apiVersion: v1, kind: Service, metadata: {name: kueue-webhook-service, namespace: kueue-system}, spec: {selector: {control-plane: controller-manager}}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: kueue-controller-manager, namespace: kueue-system}, status: {readyReplicas: READY},
   spec: {replicas: 1, template: {metadata: {labels: {control-plane: controller-manager}}, spec: {
   containers: [{name: manager, image: "registry.example/kueue/kueue:VERSION", args: ["--config=/controller_manager_config.yaml"]}], volumes: [{configMap: {name: kueue-manager-config}}]}}}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: kueue-manager-config, namespace: kueue-system}, data: {controller_manager_config.yaml: "{kind: Configuration, integrations: {frameworks: [batch/job]}}"}}
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: urgent}, value: 100}
`

// onWorkers is what the recording has only on its manager.
const onWorkers = `- {apiVersion: v1, kind: Namespace, metadata: {name: only-mgr}}
- {apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: user-queue, namespace: only-mgr}, spec: {clusterQueue: cluster-queue}}
`

// setUp returns a snapshot of a well configured fleet, with changes to its files.
func setUp(t *testing.T, change map[string]func(string) string) string {
	t.Helper()
	dir := copyOf(t, "running", func(text string) string { return text })
	for _, context := range []string{"kwok-mgr", "kwok-w1", "kwok-w2"} {
		path := filepath.Join(dir, context+".yaml")
		content, err := os.ReadFile(path)
		assert.NilError(t, err)
		text := string(content) + installed
		for _, worker := range []string{"1", "2"} {
			text = strings.Replace(text, "    name: worker"+worker+"-secret\n", "    name: worker"+worker+"-secret\n"+
				`    annotations: {jobmanagedby.github.io/credential: '{"kind":"token","user":"system:serviceaccount:kueue-system:manager","notAfter":"EXPIRY`+worker+`"}'}`+"\n", 1)
		}
		if context != "kwok-mgr" {
			text += onWorkers
		}
		if f := change[context]; f != nil {
			text = f(text)
		}
		text = strings.NewReplacer("VERSION", "v0.19.2", "READY", "1", "EXPIRY1", "2027-01-01T00:00:00Z", "EXPIRY2", "2027-01-01T00:00:00Z").Replace(text)
		assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// problemFleet returns a fleet with several problems.
func problemFleet(t *testing.T) string {
	t.Helper()
	return setUp(t, map[string]func(string) string{
		"kwok-mgr": func(text string) string { return strings.Replace(text, "EXPIRY1", "2026-11-23T00:00:00Z", 1) },
		"kwok-w1":  func(text string) string { return strings.Replace(text, "VERSION", "v0.17.1", 1) },
		"kwok-w2": func(text string) string {
			text = strings.Replace(text, "kind: LocalQueue, metadata: {name: user-queue, namespace: only-mgr}", "kind: LocalQueue, metadata: {name: other-queue, namespace: only-mgr}", 1)
			return strings.Replace(strings.Replace(text, "READY", "0", 1), "value: 100", "value: 5", 1)
		},
	})
}

// TestDoctor: a well configured fleet has no finding, and another has each finding with its fix
// below its cluster. A snapshot cannot answer questions about rights, and the report says so.
func TestDoctor(t *testing.T) {
	for name, tt := range map[string]struct {
		dir  string
		args []string
		code int
	}{
		"well":     {setUp(t, nil), nil, util.ExitPartial},
		"sick":     {problemFleet(t), nil, util.ExitFindings},
		"wide":     {problemFleet(t), []string{"-o", "wide"}, util.ExitFindings},
		"markdown": {problemFleet(t), []string{"-o", "markdown"}, util.ExitFindings},
		"errors":   {problemFleet(t), []string{"--suppress", "JM402,JM405,JM407,JM409,JM415"}, util.ExitPartial},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, code := run(t, append([]string{"doctor", "--from", tt.dir}, tt.args...)...)
			assert.Equal(t, code, tt.code, out)
			golden.Assert(t, out, "doctor/"+name+".txt")
		})
	}
}

// TestDoctorDocuments: each format has the findings and what was not checked.
func TestDoctorDocuments(t *testing.T) {
	dir := problemFleet(t)
	out, _, code := run(t, "doctor", "--from", dir, "-o", "json")
	assert.Equal(t, code, util.ExitFindings)
	var report inspect.DoctorReport
	assert.NilError(t, json.Unmarshal([]byte(out), &report))
	assert.Equal(t, report.Kind, "DoctorReport")
	var codes []string
	for _, f := range report.Items {
		codes = append(codes, f.Code)
		assert.Assert(t, len(f.Fixes) > 0 && len(f.Evidence) > 0, f.Code)
	}
	assert.DeepEqual(t, slices.Compact(codes), []string{"JM402", "JM409", "JM415", "JM405", "JM407"})
	assert.Equal(t, fmt.Sprint(report.Summary), "{3 2 0 0 1 2}")
	assert.Equal(t, report.Clusters[0].Role, inspect.RoleManager)
	assert.Assert(t, len(report.Unchecked) > 0)

	out, _, _ = run(t, "doctor", "--from", dir, "-o", "junit")
	assert.Assert(t, strings.Contains(out, `name="kubectl jobs-managedby doctor"`) && strings.Contains(out, "JM401") && strings.Contains(out, "skipped"))
	assert.Equal(t, strings.Count(out, "<failure"), 5)
	out, _, _ = run(t, "doctor", "--from", dir, "-o", "sarif")
	assert.Assert(t, strings.Contains(out, `"ruleId": "JM409"`))
	out, errOut, _ := run(t, "doctor", "--from", dir, "-o", "name")
	assert.Assert(t, strings.Contains(out, "multikueuecluster.kueue.x-k8s.io/worker2") && strings.Contains(errOut, "not checked: "), errOut)

	_, errOut, code = run(t, "doctor", "--from", dir, "--fail-on", "none")
	assert.Equal(t, code, util.ExitPartial, errOut)
	for _, wrong := range [][]string{{"--fail-on", "bad"}, {"--suppress", "JM999"}, {"-o", "bad"}, {"x"}} {
		_, _, code := run(t, append([]string{"doctor", "--from", dir}, wrong...)...)
		assert.Equal(t, code, util.ExitUsage, "%v", wrong)
	}
}

// TestDoctorOfMissingNamespace: a typo in -n must not look like a healthy fleet.
func TestDoctorOfMissingNamespace(t *testing.T) {
	out, errOut, code := run(t, "doctor", "-n", "nosuch", "--from", exampleFleet)
	assert.Equal(t, code, 1, out)
	assert.Assert(t, strings.Contains(errOut, `namespace "nosuch" does not exist in contexts management, worker-1, worker-2`), errOut)
	assert.Equal(t, out, "")
}

// TestDoctorWithoutMultiKueue: if there is nothing to check, nothing passes.
func TestDoctorWithoutMultiKueue(t *testing.T) {
	out, _, code := run(t, "doctor", "--from", setUp(t, nil), "--contexts", "kwok-w1")
	assert.Equal(t, code, util.ExitPartial)
	assert.Assert(t, strings.Contains(out, "no context reaches a cluster with MultiKueueClusters") && !strings.Contains(out, "✓"), out)
	assert.Assert(t, strings.Contains(out, "No cluster could be checked:") && !strings.Contains(out, "0 errors"), out)

	out, _, code = run(t, "doctor", "--from", setUp(t, nil), "--contexts", "kwok-mgr,kwok-w1")
	assert.Equal(t, code, util.ExitPartial)
	assert.Assert(t, strings.Contains(out, "worker worker2 on kwok-w2 (not selected)") && !strings.Contains(out, "✓ connections, configuration, credentials, rights"), out)
}

// TestDoctorRights: the table of rights is sufficient for doctor, and each right in it is needed.
// Without one of them, the report names it, and calls nothing healthy that depends on it.
func TestDoctorRights(t *testing.T) {
	dir, all := setUp(t, nil), rights.Of(rights.Doctor)
	own, _ := rights.Find(rights.Doctor)
	runAs := func(lacks *rights.Right) (out string, used []string) {
		var mu sync.Mutex
		kubeconfig := ""
		kubeconfig = serve(t, dir, func(_ string, w http.ResponseWriter, r *http.Request) bool {
			asked, ok := rbactest.RequestOf(r)
			if !ok {
				return false
			}
			mu.Lock()
			defer mu.Unlock()
			used = append(used, asked.Verb+" "+asked.Resource)
			isNeeded := asked.AllowedBy(all) && (lacks == nil || asked.Resource != lacks.Resource.Resource || asked.Verb != lacks.Verbs[0])
			assert.Check(t, asked.AllowedBy(all), "%s is not in the table", asked)
			switch {
			case !isNeeded:
				refuse(w, asked)
				return true
			case asked.Resource == "secrets" && asked.Verb == "get":
				_, _ = w.Write(secretOf(t, kubeconfig, "kwok-w"+asked.Name[len("worker"):len("worker1")]))
				return true
			case asked.Resource == "serviceaccounts":
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"namespace":%q,"name":%q}}`, asked.Namespace, asked.Name)
				return true
			case asked.Resource == "subjectaccessreviews":
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusCreated)
				_, _ = w.Write([]byte(`{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{"allowed":true}}`))
				return true
			}
			return false
		})
		out, errOut, code := run(t, "doctor", "--kubeconfig", kubeconfig)
		assert.Assert(t, code == util.ExitOK || lacks != nil && code == util.ExitPartial, "%s%s", out, errOut)
		// A request that doctor no longer waits for may still arrive.
		mu.Lock()
		defer mu.Unlock()
		return out, slices.Clone(used)
	}
	whole, used := runAs(nil)
	assert.Assert(t, strings.Contains(whole, "0 errors, 0 warnings") && !strings.Contains(whole, "Not checked"), whole)
	for _, r := range own.Rights {
		assert.Check(t, slices.Contains(used, r.Verbs[0]+" "+r.Resource.Resource), "no request needs the right to %s %s", r.Verbs[0], r.Resource)
		out, _ := runAs(&r)
		assert.Check(t, strings.Contains(out, "needs the right to "+r.Verbs[0]+" "+r.Resource.String()), "without %s: %s", r.Resource, out)
	}

	// A Secret that was not read shows nothing about its user.
	secrets := all[slices.IndexFunc(all, func(r rights.Right) bool { return r.Resource.Resource == "secrets" })]
	out, _ := runAs(&secrets)
	assert.Assert(t, strings.Contains(out, "worker rights on kwok-mgr (needs the right to get secrets"), out)
}

// secretOf returns the Secret of a MultiKueueCluster that points to a context of a kubeconfig.
func secretOf(t *testing.T, kubeconfig, context string) []byte {
	t.Helper()
	known, err := clientcmd.LoadFromFile(kubeconfig)
	assert.NilError(t, err)
	claims := base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"system:serviceaccount:kueue-system:manager"}`))
	config := clientcmdapi.NewConfig()
	config.Clusters["worker"] = &clientcmdapi.Cluster{Server: known.Clusters[known.Contexts[context].Cluster].Server}
	config.AuthInfos["manager"] = &clientcmdapi.AuthInfo{Token: "e30." + claims + ".x"}
	text, err := clientcmd.Write(*config)
	assert.NilError(t, err)
	secret, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s"}, "data": map[string]any{"kubeconfig": text}})
	assert.NilError(t, err)
	return secret
}

// refuse answers like an API server whose user lacks a right.
func refuse(w http.ResponseWriter, asked rbactest.Request) {
	where := "at the cluster scope"
	if asked.Namespace != "" {
		where = fmt.Sprintf("in the namespace %q", asked.Namespace)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"details":{"group":%q,"kind":%q},"message":%q}`,
		asked.Group, asked.Resource, fmt.Sprintf("%s is forbidden: User \"jo\" cannot %s resource %q in API group %q %s", asked.Resource, asked.Verb, asked.Resource, asked.Group, where))
}

// TestDoctorOfNamespace checks that doctor -n lists the faults of the chain of its queues, and not those of
// other queues.
func TestDoctorOfNamespace(t *testing.T) {
	dir := setUp(t, map[string]func(string) string{"kwok-mgr": func(text string) string {
		const active = "message: The admission check is active\n      observedGeneration: 1\n      reason: "
		text = strings.Replace(text, active+"Active\n", active+"SomeActiveClusters\n", 1)
		text = strings.Replace(text, "    - worker1\n    - worker2\n", "    - worker1\n    - worker2\n    - none\n", 1)
		return text + "- {apiVersion: v1, kind: Namespace, metadata: {name: other}}\n"
	}})
	for namespace, isListed := range map[string]bool{"": true, "default": true, "other": false} {
		out, errOut, _ := run(t, "doctor", "--from", dir, "-n", namespace)
		assert.Check(t, strings.Contains(out, "JM011") == isListed, "-n %s: %s%s", namespace, out, errOut)
	}
}

// TestDoctorRows: --no-headers prints one row per finding, as check does, and reports elsewhere what was not
// checked. A finding about an object without a namespace is suppressed by its name.
func TestDoctorRows(t *testing.T) {
	dir := problemFleet(t)
	out, errOut, code := run(t, "doctor", "--from", dir, "--no-headers")
	assert.Equal(t, code, util.ExitFindings, errOut)
	assert.Equal(t, strings.Count(out, "\n"), 5, out)
	assert.Assert(t, strings.Contains(out, "MultiKueueCluster/worker2") && strings.Contains(errOut, "not checked: "), out)
	names, _, _ := run(t, "doctor", "--from", dir, "--no-headers", "-o", "custom-columns=CODE:.code,NAME:.name")
	assert.Assert(t, !strings.Contains(names, "CODE") && strings.Count(names, "\n") == 5, names)
	fewer, _, _ := run(t, "doctor", "--from", dir, "--no-headers", "--suppress", "JM402=/worker2,JM409=/worker2,JM415=/worker2,JM405=/worker2,JM407=/worker2")
	assert.Assert(t, strings.Count(fewer, "\n") < 5 && !strings.Contains(fewer, "MultiKueueCluster/worker2"), fewer)
	out, _, _ = run(t, "doctor", "--from", dir, "--suppress", "JM402=/worker2", "-o", "jsonpath={.summary.suppressed}")
	assert.Equal(t, out, "1")
	out, _, _ = run(t, "doctor", "--from", dir, "--suppress", "JM402=/worker2")
	assert.Assert(t, strings.Contains(out, "; 1 error suppressed (--suppress)."), out)
	_, errOut, code = run(t, "doctor", "--from", dir, "--suppress", "JM402=worker2")
	assert.Equal(t, code, util.ExitUsage)
	assert.Assert(t, strings.HasPrefix(errOut, `error: --suppress "JM402=worker2" is not of the form CODE=NAMESPACE/NAME, or CODE=/NAME for an object without a namespace`), errOut)
}

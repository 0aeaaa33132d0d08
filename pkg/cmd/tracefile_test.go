package cmd

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// quotaFleet is a manager with three workers: one that cannot be reached, one with 1 of 4 cpu free and
// 8 on tainted nodes, and one with 2 cpu, where a container without requests gets 3.
const quotaFleet = "testdata/room"

// manifestOf writes a Job, in short form, whose pods request cpu each.
func manifestOf(t *testing.T, name string, pods int, cpu, more string) string {
	t.Helper()
	requests := ""
	if cpu != "" {
		requests = fmt.Sprintf(`, resources: {requests: {cpu: %s}}`, cpu)
	}
	path := filepath.Join(t.TempDir(), name+".yaml")
	text := fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: %s, labels: {kueue.x-k8s.io/queue-name: q}}
spec: {managedBy: kueue.x-k8s.io/multikueue, parallelism: %d, completions: %d, template: {spec: {restartPolicy: Never%s, containers: [{name: c, image: i%s}]}}}
`, name, pods, pods, more, requests)
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestTraceOfFiles: where Jobs that are not submitted could run, and the exit code for CI.
func TestTraceOfFiles(t *testing.T) {
	const tolerates = ", tolerations: [{key: spot, operator: Exists}]"
	for name, c := range map[string]struct {
		file, want string
		code       int
	}{
		// For the unreachable one, the verdict cannot be never.
		"fits both":            {manifestOf(t, "small", 1, "1", ""), "fits,fits,unknown", util.ExitPartial},
		"fits one":             {manifestOf(t, "two", 2, "1", ""), "waits,fits,unknown", util.ExitPartial},
		"waits":                {manifestOf(t, "four", 4, "1", ""), "waits,never,unknown", util.ExitPartial},
		"fits where tainted":   {manifestOf(t, "six", 6, "1", tolerates), "fits,never,unknown", util.ExitPartial},
		"too big for all":      {manifestOf(t, "nine", 9, "1", tolerates), "never,never,unknown", util.ExitPartial},
		"defaults of a worker": {manifestOf(t, "silent", 1, "", ""), "fits,never,unknown", util.ExitFindings}, // It requests nothing on the manager.
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := run(t, "trace", "-f", c.file, "--from", quotaFleet, "-o", "json")
			var trace inspect.Trace
			assert.NilError(t, json.Unmarshal([]byte(out), &trace), errOut)
			var verdicts []string
			assert.Assert(t, trace.Placements[0].Manager)
			for i := range trace.Placements[1:] {
				verdicts = append(verdicts, string(trace.Placements[1+i].Verdict))
			}
			assert.Equal(t, strings.Join(verdicts, ","), c.want, out)
			assert.Equal(t, code, c.code, errOut)
			assert.Equal(t, trace.Placements[3].Message, "connection refused")
		})
	}
}

// TestTraceOfFilesThatNeverFit: the exit code is 3 only if no cluster could run the Job.
func TestTraceOfFilesThatNeverFit(t *testing.T) {
	path := manifestOf(t, "huge", 101, "1", "")
	out, errOut, code := run(t, "trace", "-f", path, "--from", quotaFleet)
	golden.Assert(t, strings.ReplaceAll(out, path, "huge.yaml"), "room/huge.txt")
	assert.Equal(t, code, util.ExitFindings, errOut)
	assert.Assert(t, strings.Contains(errOut, "error: no cluster can run Job "), errOut)

	// One that fits, and one that never fits, in a directory.
	dir := filepath.Dir(path)
	small, err := os.ReadFile(manifestOf(t, "small", 1, "1", ""))
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(filepath.Join(dir, "small.yaml"), small, 0o600))
	_, errOut, code = run(t, "trace", "-f", dir, "--from", quotaFleet)
	assert.Equal(t, code, util.ExitFindings)
	assert.Assert(t, strings.Contains(errOut, "no cluster can run 1 of 2 objects"), errOut)
	assert.Equal(t, strings.Count(errOut, "note: ResourceQuotas were not checked: snapshots do not record them\n"), 1, errOut)
}

// TestTraceOfFileOutput: the output for people.
func TestTraceOfFileOutput(t *testing.T) {
	out, _, _ := run(t, "trace", "-f", manifestOf(t, "four", 4, "1", ""), "--from", quotaFleet, "-o", "wide")
	golden.Assert(t, out, "room/four.txt")
	// Without a queue, Kueue does not decide.
	plain := filepath.Join(t.TempDir(), "plain.yaml")
	assert.NilError(t, os.WriteFile(plain, []byte("{apiVersion: batch/v1, kind: Job, metadata: {name: plain}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}"), 0o600))
	out, _, code := run(t, "trace", "-f", plain, "--from", quotaFleet)
	assert.Equal(t, code, util.ExitPartial)
	assert.Assert(t, strings.Contains(out, "No queue label: Kueue ignores it"), out)
	assert.Assert(t, strings.Contains(out, "\nnot checked: nodes on "), out)
	assert.Assert(t, strings.Contains(out, "\nFix: use LocalQueue q: set label kueue.x-k8s.io/queue-name=q, and request cpu\n"), out)
	mine := filepath.Join(t.TempDir(), "mine.yaml")
	assert.NilError(t, os.WriteFile(mine, []byte("{apiVersion: batch/v1, kind: Job, metadata: {name: mine}, spec: {managedBy: jobmanagedby.github.io/dispatch, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}"), 0o600))
	out, _, _ = run(t, "trace", "-f", mine, "--from", quotaFleet)
	assert.Assert(t, strings.Contains(out, "Nothing runs it until you dispatch it.") && strings.Contains(out, "dispatch -f "+mine+" -n default --to CONTEXT"), out)
	// In the queue, Kueue's webhook gives it to MultiKueue, which gets it only with a request that the queue covers.
	out, _, code = run(t, "trace", "-f", plain, "--queue", "q", "--from", quotaFleet)
	assert.Assert(t, strings.Contains(out, "Would never run. hub: requests nothing that ClusterQueue main covers (cpu)"), out)
	assert.Equal(t, code, util.ExitFindings)
	requests := filepath.Join(t.TempDir(), "requests.yaml")
	assert.NilError(t, os.WriteFile(requests, []byte("{apiVersion: batch/v1, kind: Job, metadata: {name: plain}, spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}}}"), 0o600))
	out, _, _ = run(t, "trace", "-f", requests, "--queue", "q", "--from", quotaFleet)
	assert.Assert(t, strings.Contains(out, "Fits on east and west now."), out)
}

func TestTraceFileUsage(t *testing.T) {
	for _, args := range [][]string{
		{"train", "-f", "x.yaml"}, {"--queue", "q"}, {"-f", "x.yaml", "-w"}, {"-f", "x.yaml", "-o", "mermaid"}, {"-f", "x.yaml", "-l", "a=b"},
	} {
		_, errOut, code := run(t, append([]string{"trace"}, args...)...)
		assert.Equal(t, code, util.ExitUsage, "%v: %s", args, errOut)
	}
}

// TestTraceOfWrongFiles: the error names the file, the object and the field.
func TestTraceOfWrongFiles(t *testing.T) {
	const (
		job  = "{apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: ml}, spec: {parallelism: %s}}"
		cron = "{apiVersion: batch/v1, kind: CronJob, metadata: {name: a, namespace: ml}, spec: {jobTemplate: {spec: {parallelism: %s}}}}"
	)
	for _, c := range []struct{ text, value, namespace, want string }{
		{job, "x", "ml", "job ml/a is invalid: spec.parallelism is a string, not an integer"},
		{cron, "x", "ml", "cronjob ml/a is invalid: spec.jobTemplate.spec.parallelism is a string, not an integer"},
		{job, "1", "other", `Job "a" has namespace ml, not other. Remove it from the file, or omit -n`},
		{cron, "1", "other", `CronJob "a" has namespace ml, not other. Remove it from the file, or omit -n`},
	} {
		path := filepath.Join(t.TempDir(), "wrong.yaml")
		assert.NilError(t, os.WriteFile(path, fmt.Appendf(nil, c.text, c.value), 0o600))
		_, errOut, code := run(t, "trace", "-f", path, "-n", c.namespace, "--from", quotaFleet)
		assert.Equal(t, code, util.ExitError, errOut)
		assert.Equal(t, errOut, "error: "+path+": "+c.want+"\n")
	}
}

// TestTraceOfGeneratedName: trace creates nothing, so it needs no name to find the Job again.
func TestTraceOfGeneratedName(t *testing.T) {
	path := manifestOf(t, "small", 1, "1", "")
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(path, []byte(strings.Replace(string(text), "{name: small", "{generateName: small-", 1)), 0o600))
	out, errOut, code := run(t, "trace", "-f", path, "--from", quotaFleet)
	assert.Equal(t, code, util.ExitPartial, errOut)
	assert.Assert(t, strings.HasPrefix(out, "Job default/small-: "), out)
}

// TestTraceOfMixedFile checks that a file may have other objects than Jobs, which are skipped, and
// that a CronJob is judged as the Jobs that it would create.
func TestTraceOfMixedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "all.yaml")
	const others = `apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: spot}
`
	assert.NilError(t, os.WriteFile(path, []byte(others+`---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    metadata: {labels: {kueue.x-k8s.io/queue-name: qq}}
    spec:
      managedBy: kueue.x-k8s.io/multikueue
      template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}
`), 0o600))
	out, errOut, code := run(t, "trace", "-f", path, "--from", quotaFleet, "--color", "never")
	assert.Equal(t, code, util.ExitFindings, errOut)
	assert.Assert(t, strings.HasPrefix(out, "CronJob default/nightly: not submitted\nWould never run. "), out)
	assert.Assert(t, strings.Contains(out, "use LocalQueue q: set label kueue.x-k8s.io/queue-name=q in spec.jobTemplate.metadata.labels"), out)
	assert.Assert(t, strings.Contains(errOut, "note: skipped, because not a Job: ConfigMap settings, ResourceFlavor spot"), errOut)

	assert.NilError(t, os.WriteFile(path, []byte(others), 0o600))
	_, errOut, code = run(t, "trace", "-f", path, "--from", quotaFleet)
	assert.Equal(t, code, util.ExitError, errOut)
	assert.Assert(t, strings.Contains(errOut, "no Jobs found, only ConfigMap settings, ResourceFlavor spot"), errOut)
}

// TestTraceOfFileWithKinds checks that trace reports which contexts do not serve a kind, and only if the
// snapshot says so. Every API server serves the built-in kinds.
func TestTraceOfFileWithKinds(t *testing.T) {
	const object = "{apiVersion: %s, kind: %s, metadata: {name: a, labels: {kueue.x-k8s.io/queue-name: user-queue}}}"
	for _, c := range []struct{ recording, apiVersion, kind, want string }{
		{"jobsets", "ray.io/v1", "RayJob", "kwok-mgr (manager)  never    its API server rejects it: it does not serve RayJob of ray.io/v1\n"},
		{"jobsets", "jobset.x-k8s.io/v1alpha2", "JobSet", "kwok-w1             unknown  the requests of its Pods are unknown\n"},
		{"jobsets", "v1", "Pod", "kwok-w1             unknown  the requests of its Pods are unknown\n"},
		{"running", "ray.io/v1", "RayJob", "note: not checked whether kwok-w1 serves RayJob of ray.io/v1: "},
	} {
		path := filepath.Join(t.TempDir(), "object.yaml")
		assert.NilError(t, os.WriteFile(path, fmt.Appendf(nil, object, c.apiVersion, c.kind), 0o600))
		out, errOut, _ := run(t, "trace", "-f", path, "--from", recordings+"/"+c.recording)
		assert.Assert(t, strings.Contains(out+errOut, c.want), "%s%s", out, errOut)
	}
}

// TestTraceOfFileToDispatch checks that the fix of a Job of dispatch names the namespace and the kubeconfig,
// and that a Job that no cluster can run has none.
func TestTraceOfFileToDispatch(t *testing.T) {
	const job = "{apiVersion: batch/v1, kind: Job, metadata: {name: mine}, spec: {managedBy: jobmanagedby.github.io/dispatch, template: {spec: {restartPolicy: Never, serviceAccountName: %s, containers: [{name: c, image: i}]}}}}"
	kubeconfig := serve(t, quotaFleet, func(_ string, w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/serviceaccounts/robot") {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"serviceaccounts \"robot\" not found","details":{"name":"robot","kind":"serviceaccounts"}}`)
			return true
		}
		return false
	})
	for account, isRunnable := range map[string]bool{"default": true, "robot": false} {
		path := filepath.Join(t.TempDir(), "mine.yaml")
		assert.NilError(t, os.WriteFile(path, []byte(fmt.Sprintf(job, account)), 0o600))
		out, errOut, code := run(t, "trace", "-f", path, "-n", "default", "--kubeconfig", kubeconfig, "-o", "json")
		var trace inspect.Trace
		assert.NilError(t, json.Unmarshal([]byte(out), &trace), errOut)
		assert.Equal(t, code == util.ExitFindings, !isRunnable, "%s%s", out, errOut)
		assert.Equal(t, trace.Reason == inspect.ReasonUndispatched, isRunnable, trace.Summary)
		if isRunnable {
			want := []string{"kubectl", "jobs-managedby", "dispatch", "-f", path, "-n", "default", "--to", "CONTEXT", "--kubeconfig", kubeconfig}
			assert.DeepEqual(t, trace.Fixes[0].Command, want)
		}
	}
}

// TestTraceOfFileWithUnneededContext checks that a context that no answer needed changes no exit code.
func TestTraceOfFileWithUnneededContext(t *testing.T) {
	dir := fleetCopy(t, func(contexts string) string {
		return strings.Replace(contexts, "\nkind: Snapshot", "\n- name: laptop\n  server: https://127.0.0.1:1\n  error: connection refused\nkind: Snapshot", 1)
	})
	_, errOut, code := run(t, "trace", "-f", "../../examples/probe.yaml", "--from", dir)
	assert.Equal(t, code, util.ExitOK, errOut)
	assert.Assert(t, strings.Contains(errOut, `note: context "laptop": `), errOut)
}

// TestTraceOfFileWithNamespace: a namespace of the same file counts where the Job is submitted, and not on workers.
func TestTraceOfFileWithNamespace(t *testing.T) {
	out, errOut, code := run(t, "trace", "-f", "../../examples/cronjob.yaml", "--from", exampleFleet)
	assert.Equal(t, code, util.ExitPartial, out+errOut)
	assert.Assert(t, !strings.Contains(errOut, "note: skipped"), out+errOut)
	const want = "\nCannot tell whether it would run. management, worker-1, worker-2: namespace jobs-managedby does not exist yet; the input creates it.\n" +
		"Fix: create Namespace jobs-managedby first, and then run trace -f again\n\n"
	assert.Assert(t, strings.Contains(out, want), out)

	path := filepath.Join(t.TempDir(), "x.yaml")
	manifest := "{apiVersion: v1, kind: Namespace, metadata: {name: x}}\n---\n" +
		"{apiVersion: batch/v1, kind: Job, metadata: {name: x, namespace: x}, spec: {managedBy: kueue.x-k8s.io/multikueue, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}"
	assert.NilError(t, os.WriteFile(path, []byte(manifest), 0o600))
	out, errOut, code = run(t, "trace", "-f", path, "--from", exampleFleet, "-o", "jsonpath={range .placements[*]}{.context} {.verdict} {.reason},{end}")
	assert.Equal(t, out, "management unknown NamespaceMissing,", errOut)
	assert.Equal(t, code, util.ExitPartial, errOut)
}

// TestTraceOfFileInSnapshot: without an API server that tries to create a Job, trace -f names fields that do
// not exist, and a missing restartPolicy, and says what it did not check.
func TestTraceOfFileInSnapshot(t *testing.T) {
	const job = "spec: {paralelism: 3, template: {spec: {restrtPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}}"
	for _, tt := range []struct{ manifest, prefix string }{
		{"{apiVersion: batch/v1, kind: Job, metadata: {name: x}, " + job + "}", "Warning: Job default/x: unknown field \"spec."},
		{"{apiVersion: batch/v1, kind: CronJob, metadata: {name: x}, spec: {schedule: '@daily', jobTemplate: {" + job + "}}}", "Warning: CronJob default/x: unknown field \"spec.jobTemplate.spec."},
	} {
		path := filepath.Join(t.TempDir(), "x.yaml")
		assert.NilError(t, os.WriteFile(path, []byte(tt.manifest), 0o600))
		out, errOut, code := run(t, "trace", "-f", path, "--queue", "q", "--from", quotaFleet)
		assert.Equal(t, code, util.ExitFindings, out+errOut)
		for _, field := range []string{"paralelism", "template.spec.restrtPolicy"} {
			assert.Assert(t, strings.Contains(errOut, tt.prefix+field+"\"\n"), errOut)
		}
		assert.Assert(t, strings.Contains(errOut, "note: Jobs were checked without the defaults and webhooks of API servers: snapshots have none\n"), errOut)
		assert.Assert(t, strings.Contains(out, "the Pod template has no restartPolicy, which must be Never or OnFailure") && strings.Contains(out, "Fix: set restartPolicy of the Pod template to Never\n"), out)
	}
	_, errOut, _ := run(t, "trace", "-f", manifestOf(t, "small", 1, "1", ""), "--from", quotaFleet)
	assert.Assert(t, !strings.Contains(errOut, "Warning: "), errOut)
}

// TestTraceOfFileIdentity: a trace of a manifest has the type and the owner of its object.
func TestTraceOfFileIdentity(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	assert.NilError(t, os.WriteFile(path, []byte("{apiVersion: batch/v1, kind: Job, metadata: {name: x}, spec: {managedBy: kueue.x-k8s.io/multikueue, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {requests: {cpu: 1}}}]}}}}"), 0o600))
	out, _, _ := run(t, "trace", "-f", path, "--queue", "q", "--from", quotaFleet, "-o", "name")
	assert.Equal(t, out, "job.batch/x\n")
	out, _, _ = run(t, "trace", "-f", path, "--queue", "q", "--from", quotaFleet, "-o", "jsonpath={.origin.apiVersion} {.origin.managedBy}")
	assert.Equal(t, out, "batch/v1 kueue.x-k8s.io/multikueue")
}

package cmd

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// traceManifest traces a Job of 2 Pods that request a GPU each, in LocalQueue gpu, with another name,
// apiVersion, label or spec.
func traceManifest(t *testing.T, apiVersion, metadata, spec string, args ...string) (trace inspect.Trace, errOut string, code int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "job.yaml")
	text := fmt.Sprintf(`apiVersion: %s
kind: Job
metadata: {labels: {kueue.x-k8s.io/queue-name: gpu}, %s}
spec: {parallelism: 2, completions: 2, %s template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}}}
`, apiVersion, metadata, spec)
	assert.NilError(t, os.WriteFile(path, []byte(text), 0o600))
	out, errOut, code := run(t, append([]string{"trace", "-f", path, "--from", exampleFleet, "-o", "json"}, args...)...)
	assert.NilError(t, json.Unmarshal([]byte(out), &trace), errOut)
	return trace, errOut, code
}

// TestTraceOfTakenName checks that an existing Job of the same name is named, is not before itself in a queue,
// and that no copy goes to a worker where another Job has the name.
func TestTraceOfTakenName(t *testing.T) {
	trace, _, _ := traceManifest(t, "batch/v1", "name: finetune, namespace: vision", "")
	assert.Assert(t, strings.HasPrefix(trace.Message, "Job vision/finetune exists on management. Under another name: "), trace.Message)
	assert.Equal(t, trace.Fixes[0].Shell(), "kubectl jobs-managedby trace finetune -n vision --context management")
	assert.Equal(t, trace.Fixes[1].Text, "submit this Job under another name")
	for _, p := range trace.Placements {
		assert.Assert(t, p.Position == nil && p.Reason != inspect.NameTaken, p.Context)
	}

	trace, _, _ = traceManifest(t, "batch/v1", "name: train-old, namespace: ml", "")
	assert.Equal(t, trace.Placements[2].Context, "worker-2")
	assert.Equal(t, trace.Placements[2].Reason, inspect.NameTaken)
	assert.Equal(t, trace.Placements[2].Verdict, inspect.Never)

	trace, _, _ = traceManifest(t, "batch/v1", "name: new, namespace: ml", "")
	assert.Assert(t, trace.Placements[2].Position != nil && !strings.Contains(trace.Message, "exists"), trace.Message)
}

// TestTraceOfRefusedManifest checks that a version that is not served, and a name that no API server takes, are
// the reasons, with what to change.
func TestTraceOfRefusedManifest(t *testing.T) {
	long := strings.Repeat("a", 63)
	for name, tt := range map[string]struct{ apiVersion, metadata, spec, reason, fix string }{
		"an old version":                 {"batch/v1beta1", "name: a", "", "it does not serve Job of batch/v1beta1", "set apiVersion to batch/v1"},
		"a future version":               {"batch/v2", "name: a", "", "it does not serve Job of batch/v2", "set apiVersion to batch/v1"},
		"capitals":                       {"batch/v1", "name: T_1", "", `metadata.name "T_1" is invalid: a lowercase RFC 1123 subdomain`, "change metadata.name"},
		"capitals in a prefix":           {"batch/v1", "generateName: T_", "", `metadata.generateName "T_" is invalid`, "change metadata.generateName"},
		"too long for a label":           {"batch/v1", "name: a" + long, "", "must be no more than 63", "change metadata.name"},
		"too long for an index":          {"batch/v1", "name: " + long, "completionMode: Indexed,", "must be no more than 63", "change metadata.name"},
		"no host name":                   {"batch/v1", "name: a.b", "completionMode: Indexed,", "must not contain dots", "change metadata.name"},
		"long":                           {"batch/v1", "name: " + long, "", "", ""},
		"a subdomain":                    {"batch/v1", "name: a.b", "", "", ""},
		"a prefix that ends with a dash": {"batch/v1", "generateName: a-", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			trace, errOut, code := traceManifest(t, tt.apiVersion, tt.metadata+", namespace: vision", tt.spec)
			if tt.reason == "" {
				assert.Assert(t, trace.Placements[0].Reason != inspect.RefusedByServer, trace.Message)
				return
			}
			assert.Equal(t, code, util.ExitFindings, errOut)
			assert.Assert(t, strings.Contains(trace.Message, tt.reason), trace.Message)
			assert.Equal(t, trace.Fixes[0].Text, tt.fix)
		})
	}
}

// TestTraceWithQueueFlag checks that the fix changes the flag that replaced the label of the manifest.
func TestTraceWithQueueFlag(t *testing.T) {
	trace, _, _ := traceManifest(t, "batch/v1", "name: new, namespace: vision", "", "--queue", "nosuch")
	assert.Equal(t, trace.Fixes[0].Text, "use LocalQueue gpu: omit --queue")
}

// TestTraceOfUnreadClass checks that a class that a snapshot does not record is not called missing, and that no
// place in a queue is computed without it.
func TestTraceOfUnreadClass(t *testing.T) {
	path := filepath.Join(t.TempDir(), "job.yaml")
	assert.NilError(t, os.WriteFile(path, []byte(`{apiVersion: batch/v1, kind: Job,
		metadata: {namespace: vision, name: new, labels: {kueue.x-k8s.io/queue-name: gpu, kueue.x-k8s.io/priority-class: high}},
		spec: {parallelism: 5, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]}}}}`), 0o600))
	out, errOut, _ := run(t, "trace", "-f", path, "--from", exampleFleet)
	const unread = "WorkloadPriorityClass high is unknown: the snapshot lacks workloadpriorityclasses.kueue.x-k8s.io; record a new snapshot"
	assert.Assert(t, strings.Contains(errOut, "note: the place of Job vision/new in queues is not estimated: "+unread+"\n"), errOut)
	assert.Assert(t, !strings.Contains(out, "(estimated)"), out)
}

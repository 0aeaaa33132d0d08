package cmd

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"
)

// TestBehindAndFitsNowhere checks that a Job that waits for Kueue on two workers, and fits on neither, has one
// finding, which says that it fits on no cluster: because of quotas or of LimitRanges.
func TestBehindAndFitsNowhere(t *testing.T) {
	const (
		limitRange = "{apiVersion: v1, kind: LimitRange, metadata: {name: lr, namespace: vision, uid: u}, spec: {limits: [{type: Container, max: {nvidia.com/gpu: '0'}}]}}"
		again      = "then delete Job vision/finetune, and create it again"
	)
	for name, tt := range map[string]struct{ quota, other, message, fix string }{
		"quota": {"5", "", "needs 6 nvidia.com/gpu; the largest limit is 5", "fix: run 5 Pods at once, not 6, to fit on worker-1 and worker-2 when other Jobs end (1 nvidia.com/gpu free now): `"},
		"LimitRange": {
			"9", limitRange, "fits on no cluster. worker-1, worker-2: container main has a limit of 1 nvidia.com/gpu; LimitRange lr allows at most 0",
			"fix: limit container main to at most 0 nvidia.com/gpu, for worker-1 and worker-2, " + again,
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			assert.NilError(t, os.CopyFS(dir, os.DirFS("../../examples/fleet")))
			for _, worker := range []string{"worker-1", "worker-2"} {
				withoutAnswer(t, filepath.Join(dir, worker+".yaml"), tt.quota, tt.other)
			}
			checked, errOut, _ := run(t, "check", "-A", "--grace", "0s", "--from", dir)
			found := regexp.MustCompile(`(?m)^JM\d+ +vision/finetune .*\n.*`).FindAllString(checked, -1)
			assert.Equal(t, len(found), 1, "%s%s", checked, errOut)
			assert.Assert(t, strings.HasPrefix(found[0], "JM029 ") && strings.Contains(found[0], tt.message) && strings.Contains(found[0], tt.fix), checked)
			assert.Assert(t, !strings.Contains(checked, "JM114"), checked)
			young, _, _ := run(t, "check", "-A", "--from", dir)
			assert.Assert(t, regexp.MustCompile(`JM029 +vision/finetune [^\n]*(\n [^\n]*)*; check reports it after 5m\)`).MatchString(young), young)
			traced, _, _ := run(t, "trace", "finetune", "-n", "vision", "--from", dir)
			assert.Equal(t, strings.Count(traced, "\nJM029  vision/finetune  the reason above"), 1, traced)
			assert.Assert(t, !strings.Contains(traced, "JM114"), traced)
		})
	}
}

// withoutAnswer removes what Kueue says on a worker about the copy of the Job finetune, sets the first quota of
// its ClusterQueues, and replaces an Event with another object.
func withoutAnswer(t *testing.T, path, quota, other string) {
	t.Helper()
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	var list struct {
		APIVersion string           `json:"apiVersion"`
		Kind       string           `json:"kind"`
		Items      []map[string]any `json:"items"`
	}
	assert.NilError(t, yaml.Unmarshal(text, &list))
	for _, o := range list.Items {
		name, _ := o["metadata"].(map[string]any)["name"].(string)
		switch {
		case o["kind"] == "Workload" && strings.HasPrefix(name, "job-finetune"):
			delete(o, "status")
		case o["kind"] == "ClusterQueue":
			group := o["spec"].(map[string]any)["resourceGroups"].([]any)[0].(map[string]any)
			flavor := group["flavors"].([]any)[0].(map[string]any)
			flavor["resources"].([]any)[0].(map[string]any)["nominalQuota"] = quota
		}
	}
	if other != "" {
		var o map[string]any
		assert.NilError(t, yaml.Unmarshal([]byte(other), &o))
		// The snapshot knows how many objects it has.
		event := slices.IndexFunc(list.Items, func(o map[string]any) bool { return o["kind"] == "Event" })
		list.Items[event] = o
	}
	text, err = yaml.Marshal(list)
	assert.NilError(t, err)
	assert.NilError(t, os.WriteFile(path, text, 0o600))
}

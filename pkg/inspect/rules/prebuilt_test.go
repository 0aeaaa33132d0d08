package rules_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// renameWorkload gives a Workload and its copies the name that a user chose.
func renameWorkload(object map[string]any) {
	changeStrings(object, func(_ []string, text string) string { return strings.ReplaceAll(text, "job-train-1c348", "team-wl") })
}

// TestPrebuiltWorkload checks that a Job with a Workload that its user created is judged as any other, in a list and
// alone.
func TestPrebuiltWorkload(t *testing.T) {
	stopped := patch("kwok-mgr", "Job/train", `{spec: {suspend: true}, status: null}`)
	for name, tt := range map[string]struct {
		edits   []edit
		summary string
		codes   []string
	}{
		"runs": {nil, "running on kwok-w1. 0/2 completions.", nil},
		"does not exist": {
			[]edit{stopped, remove("kwok-mgr", "Workload/*"), remove("kwok-w1", "Workload/*"), remove("kwok-w1", "Job/train"), remove("kwok-w1", "Pod/*")},
			"not running. It names Workload default/team-wl, which does not exist on kwok-mgr; Kueue creates none for it.",
			[]string{"JM017"},
		},
		"belongs to another Job": {
			[]edit{
				stopped, remove("kwok-w1", "Workload/*"), remove("kwok-w1", "Job/train"), remove("kwok-w1", "Pod/*"),
				patch("kwok-mgr", "Workload/*", `{metadata: {labels: null, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: other, uid: another, controller: true}]}}`),
			},
			"not running. It names Workload default/team-wl, which belongs to Job default/other; Kueue creates none for it.",
			[]string{"JM017"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := open(t, testCase{base: "running", edits: append(tt.edits, names("team-wl")), mutate: renameWorkload}.bundle(t))
			listed, alone := o.inventory(t), o.traced(t, "", "train")
			assert.DeepEqual(t, codesOf(judge(t, listed, rules.All(), 0)), tt.codes)
			for _, v := range []*inspect.Inventory{listed, alone} {
				assert.Equal(t, answer.Trace(v, only(t, v.Pairs.Pairs)).Summary, tt.summary)
			}
		})
	}
}

// TestQueuesOfTrace checks that trace reads the queues that only the mirror or the Workloads name, because the origin
// has lost its label.
func TestQueuesOfTrace(t *testing.T) {
	const noLabel = `{metadata: {labels: {kueue.x-k8s.io/queue-name: null}}}`
	for name, edits := range map[string][]edit{
		"on the mirror":          {patch("kwok-mgr", "Job/train", noLabel)},
		"on the Workloads":       {patch("kwok-mgr", "Job/train", noLabel), patch("kwok-w1", "Job/train", noLabel)},
		"with a Workload's name": {names("job-train-1c348")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := open(t, testCase{base: "running", edits: edits}.bundle(t)).traced(t, "", "train")
			for _, context := range []string{"kwok-mgr", "kwok-w1"} {
				assert.Assert(t, v.Facts(context).Lookup().Route("default", "user-queue").Cluster.Object != nil, context)
			}
		})
	}
}

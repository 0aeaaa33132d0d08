package rules_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestSilenceInOneNamespace checks that Kueue's silence about a Workload proves nothing if only its
// namespace was read: a Workload of another one may explain it.
func TestSilenceInOneNamespace(t *testing.T) {
	rule, _ := rules.ByCode("JM031")
	for name, tt := range map[string]struct {
		neighbours *inspect.Neighbours
		findings   int
	}{
		"others were not read": {nil, 0},
		"there are no others":  {&inspect.Neighbours{}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			v := testCase{base: recordedKueueDown}.make(t)
			for _, f := range v.Clusters {
				f.Namespace = "default"
				if f.Kueue != nil {
					f.Kueue.Neighbours = tt.neighbours
				}
			}
			assert.Equal(t, len(judge(t, v, []rules.Rule{rule}, 0)), tt.findings)
		})
	}
}

// TestMistypedMultiKueueInItsQueue checks that a typo in the name of MultiKueue is one finding, also
// if the Job is in a queue of MultiKueue, which would reject it.
func TestMistypedMultiKueueInItsQueue(t *testing.T) {
	edits := []edit{patch("kwok-mgr", "Job/train", `{metadata: {managedFields: null}, spec: {managedBy: kueue.x-k8s.io/multikeue}, status: null}`)}
	v := testCase{base: recordedNoQuota, edits: edits}.make(t)
	rejected, _ := rules.ByCode("JM012")
	assert.Equal(t, len(judge(t, v, []rules.Rule{rejected}, 0)), 1)
	codes := codesOf(judge(t, v, rules.All(), 0))
	assert.Assert(t, slices.Contains(codes, "JM102"), codes)
	assert.Assert(t, !slices.Contains(codes, "JM012"), codes)
}

// TestPlainJobOfMistypedQueue checks that a plain Job gets the label of the plain queue that its own
// label misspells, and is not recreated for MultiKueue.
func TestPlainJobOfMistypedQueue(t *testing.T) {
	rule, _ := rules.ByCode("JM019")
	edits := []edit{
		patch("kwok-mgr", "Job/train", `{spec: {managedBy: null}}`),
		add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: no-such-queues, namespace: default}, spec: {clusterQueue: plain}}`),
		add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: plain}, spec: {namespaceSelector: {}}}`),
	}
	found := judge(t, testCase{base: "wrong-queue", edits: edits}.make(t), []rules.Rule{rule}, 0)
	assert.Equal(t, len(found), 1)
	assert.Assert(t, strings.HasSuffix(found[0].Message, "; did you mean no-such-queues?"), found[0].Message)
	assert.Equal(t, found[0].Fixes[0].Shell(), "kubectl --context kwok-mgr -n default label job train --overwrite kueue.x-k8s.io/queue-name=no-such-queues")
}

// TestUnevaluatedInTrace checks that trace, too, reports Workloads that stay unevaluated: it reads the other Workloads of the
// queue, none of which explains that.
func TestUnevaluatedInTrace(t *testing.T) {
	pending := `{` + withConditions(unevaluated) + `}`
	c := testCase{base: "running", later: time.Hour, edits: offered(patch(w1, workload, `{metadata: {managedFields: null}, status: `+pending+`}`), copied(pending))}
	v := open(t, c.bundle(t)).traced(t, "jobs", "train")
	findingOf(t, judge(t, v, rules.All(), 0), "JM031")
	trace := answersOf(t, v, 0)[0]
	assert.Equal(t, trace.State, inspect.StateBlocked)
	assert.Equal(t, trace.Message, "Kueue on kwok-w1 and kwok-w2 has not evaluated the Workload.")
}

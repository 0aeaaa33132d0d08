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

// TestStoppedQueueIsNotTheCause checks that a Job that fits on no worker remains an error if one queue
// is stopped, and that the problem of the queue is as old as the stop.
func TestStoppedQueueIsNotTheCause(t *testing.T) {
	stopped := strings.Replace(stoppedQueue, "23:24:40Z", "23:24:48Z", 1)
	edits := []edit{
		patch("kwok-w2", "ClusterQueue/cluster-queue", stopped), patch("kwok-w2", waitingWorkload, withoutQuota("Suspended", "ClusterQueue cluster-queue is inactive")),
	}
	found := judge(t, testCase{base: recordedNoQuota, edits: edits}.make(t), rules.All(), 0)
	at := func(code string) *inspect.Finding {
		i := slices.IndexFunc(found, func(f inspect.Finding) bool { return f.Code == code })
		assert.Assert(t, i >= 0, linesOf(found))
		return &found[i]
	}
	assert.Equal(t, at("JM029").Severity, inspect.Error)
	assert.Equal(t, at("JM029").Message, "Job default/train: fits on no worker: needs 2 cpu, limit 1 (flavor default-flavor)")
	assert.Equal(t, at("JM027").Since.UTC().Format(time.TimeOnly), "23:24:48")

	found = judge(t, testCase{base: recordedNoQuota, edits: append(edits, withCPU("kwok-w2", "3"))}.make(t), rules.All(), 0)
	assert.Assert(t, !slices.Contains(codesOf(found), "JM029"), linesOf(found))
	assert.Equal(t, at("JM027").Severity, inspect.Error)
}

// TestEachJobOfAnObstacle checks that what keeps two Jobs from one worker is an error only about the Job that no other worker
// can take: the other Job waits for quota. Both findings have their own fingerprint.
func TestEachJobOfAnObstacle(t *testing.T) {
	const inUse = "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default-flavor, 1 more needed"
	copyOf := func(context, conditions string) edit {
		return add(context, `{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: job-second-abcde, namespace: default, uid: second-copy,
			creationTimestamp: "2026-11-20T23:24:45Z", labels: {kueue.x-k8s.io/multikueue-origin: multikueue}},
			spec: {active: true, priority: 0, queueName: user-queue, podSets: [{name: main, count: 1}]}, status: {`+conditions+`}}`)
	}
	held := func(reason, message string) []edit {
		return []edit{patch("kwok-w2", waitingWorkload, withoutQuota(reason, message)), copyOf("kwok-w2", withConditions(condition("QuotaReserved", "False", reason, message)))}
	}
	rejected := `admissionChecks: [{name: nodes, state: Rejected, message: "no nodes", lastTransitionTime: "2026-11-20T23:24:46Z"}]`
	for code, tt := range map[string]struct {
		edits []edit
		texts [2]string
	}{
		"JM024": {
			[]edit{remove("kwok-w2", "Namespace/default"), remove("kwok-w2", waitingWorkload)},
			[2]string{"Namespace default does not exist on kwok-w2, and no other worker can admit the Job", "Namespace default does not exist on kwok-w2"},
		},
		"JM026": {
			append(held("Inadmissible", "LocalQueue user-queue doesn't exist"), remove("kwok-w2", "LocalQueue/default/user-queue")),
			[2]string{"LocalQueue default/user-queue does not exist on kwok-w2, and no other worker can admit the Job", "LocalQueue default/user-queue does not exist on kwok-w2"},
		},
		"JM027": {
			append(held("Suspended", "ClusterQueue cluster-queue is inactive"), patch("kwok-w2", "ClusterQueue/cluster-queue", stoppedQueue)),
			[2]string{"ClusterQueue cluster-queue is stopped on kwok-w2, and no other worker can admit the Job", "ClusterQueue cluster-queue is stopped on kwok-w2"},
		},
		"JM030": {
			[]edit{
				patch("kwok-w1", waitingWorkload, `{status: {`+rejected+`}}`), patch("kwok-w2", waitingWorkload, `{status: {`+rejected+`}}`), copyOf("kwok-w2", withConditions(condition("QuotaReserved", "False", "WaitingForQuota", inUse))+", "+rejected),
			},
			[2]string{"AdmissionCheck nodes of kwok-w2 rejected Jobs: they never run there; default/train: no nodes", "AdmissionCheck nodes of kwok-w2 rejected Jobs: they never run there; default/second: no nodes"},
		},
	} {
		t.Run(code, func(t *testing.T) {
			edits := slices.Concat(tt.edits, secondJob("2026-11-20T23:24:45Z"), []edit{withCPU("kwok-w2", "3"), copyOf("kwok-w1", withConditions(condition("QuotaReserved", "False", "WaitingForQuota", inUse)))})
			v := testCase{base: recordedNoQuota, edits: edits}.make(t)
			var found []inspect.Finding
			for _, f := range judge(t, v, rules.All(), 0) {
				if f.Code == code && f.Context == "kwok-w2" {
					found = append(found, f)
				}
			}
			assert.Equal(t, len(found), 2, linesOf(found))
			assert.Assert(t, found[0].Fingerprint != found[1].Fingerprint)
			for i, want := range []struct {
				job      string
				severity inspect.Severity
				state    inspect.JobState
			}{{"train", inspect.Error, inspect.StateBlocked}, {"second", inspect.Warning, inspect.StateWaiting}} {
				f := found[i]
				assert.Equal(t, f.Message, tt.texts[i])
				assert.Equal(t, f.Severity, want.severity)
				assert.Assert(t, len(f.Jobs) == 1 && f.Jobs[0].Name == want.job, linesOf(found))
				traces := answersOf(t, v, 0)
				at := slices.IndexFunc(traces, func(trace *inspect.Trace) bool { return trace.Origin != nil && trace.Origin.Name == want.job })
				assert.Equal(t, traces[at].State, want.state, traces[at].Summary)
			}
		})
	}
}

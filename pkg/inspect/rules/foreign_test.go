package rules_test

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// foreignCluster is a broken MultiKueueCluster that only another config names, with the address of a
// Secret.
func foreignCluster(name, secret string) []edit {
	return []edit{
		add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueConfig, metadata: {name: of-`+name+`}, spec: {clusters: [`+name+`]}}`),
		add("kwok-mgr", `{apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueCluster, metadata: {name: `+name+`, creationTimestamp: "2026-11-20T23:23:30Z"},
			spec: {clusterSource: {kubeConfig: {location: `+secret+`, locationType: Secret}}},
			status: {conditions: [{type: Active, status: "False", reason: ClientConnectionFailed, message: Unauthorized, lastTransitionTime: "2026-11-20T23:23:40Z"}]}}`),
	}
}

// TestOtherNameOfWorker checks that a broken MultiKueueCluster of another config is neither in the answer
// for a Job nor in its chain, although it has the address of the Job's worker.
func TestOtherNameOfWorker(t *testing.T) {
	trace := answersOf(t, testCase{base: "running", edits: foreignCluster("a-foreign", "worker1-secret")}.make(t), 0)[0]
	assert.Equal(t, string(trace.State)+" "+string(trace.Reason), string(inspect.StateRunning)+" "+string(inspect.ReasonNone))
	assert.Check(t, !strings.Contains(trace.Message, "a-foreign"), trace.Message)
	assert.Check(t, !slices.ContainsFunc(trace.Hops, func(h inspect.Hop) bool { return h.Name == "a-foreign" }), "%v", trace.Hops)
}

// TestForeignClusters checks that broken MultiKueueClusters of other configs change no finding about
// other objects, whether they have the address of a worker or an unknown one.
func TestForeignClusters(t *testing.T) {
	about := func(v *inspect.Inventory) []string {
		var lines []string
		for _, f := range rules.Judge(v, rules.All(), rules.Options{}).Findings {
			if !strings.HasSuffix(f.Name, "-foreign") {
				lines = append(lines, f.Code+" "+f.Kind+" "+f.Name+": "+f.Message+" "+f.Remedy)
			}
		}
		return lines
	}
	for _, c := range cases() {
		hub := c.inventory(t).Facts(mgr)
		// The fix of JM008 lists all configs. For JM054, no MultiKueueCluster may point to the worker.
		if !c.fires || c.code == "JM008" || c.code == "JM054" || strings.HasPrefix(c.code, "JM4") || hub == nil || hub.Kueue == nil {
			continue
		}
		t.Run(c.code+" "+c.name, func(t *testing.T) {
			t.Parallel()
			with := c
			with.edits = slices.Concat(c.edits, foreignCluster("a-foreign", "worker1-secret"), foreignCluster("z-foreign", "no-secret"))
			assert.DeepEqual(t, about(with.make(t)), about(c.inventory(t)))
		})
	}
}

// TestForeignMirror checks that a mirror with the label of another manager is not paired with an origin of the same
// name, whether a mirror or only a copy of the Workload shows the label of the origin's manager.
func TestForeignMirror(t *testing.T) {
	foreign := addMirror("kwok-w2", "train", "job-train-abcde", "somebody-else")
	for name, edits := range map[string][]edit{
		"next to the mirror": {foreign},
		"without a mirror":   {foreign, remove("kwok-w1", "Job/train")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := open(t, testCase{base: "running", edits: edits}.bundle(t))
			for _, v := range []*inspect.Inventory{o.inventory(t), o.traced(t, "", "train")} {
				p := only(t, v.Pairs.Pairs)
				for _, m := range p.Mirrors {
					assert.Equal(t, m.Job.Context, "kwok-w1")
				}
				assert.Equal(t, len(p.Namesakes), 1)
				hops := chain.Trace(v, p).Hops
				i := slices.IndexFunc(hops, func(h inspect.Hop) bool { return h.Kind == "Job" && h.Context == "kwok-w2" })
				assert.Assert(t, i >= 0)
				assert.Equal(t, hops[i].Message, "not its mirror but another manager's Job of this name: kueue.x-k8s.io/multikueue-origin is somebody-else")
			}
		})
	}
}

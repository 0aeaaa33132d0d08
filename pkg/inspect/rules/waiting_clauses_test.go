package rules_test

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// clauseOf returns what a finding of a code says about a Job of the manager.
func clauseOf(t *testing.T, v *inspect.Inventory, code, job string) (clause string, f inspect.Finding) {
	t.Helper()
	rule, _ := rules.ByCode(code)
	for _, f := range judge(t, v, []rules.Rule{rule}, 0) {
		i := slices.IndexFunc(f.Jobs, func(r inspect.Ref) bool { return r.Name == job })
		if i >= 0 {
			return f.Clauses[f.Jobs[i]], f
		}
	}
	t.Fatalf("no finding of %s about %s", code, job)
	return "", f
}

// TestClausesOfWorkers checks that findings about objects of workers say what they mean for one Job.
func TestClausesOfWorkers(t *testing.T) {
	v := inventory(t, recordings+"/jobsets")
	for _, job := range []string{"d06a", "d06b"} {
		clause, _ := clauseOf(t, v, "JM030", job)
		assert.Equal(t, clause, "it has quota on kwok-w1 and kwok-w2, but AdmissionCheck gate has not passed there")
	}
	clause, _ := clauseOf(t, inventory(t, recordings+"/"+recordedKueueDown), "JM031", "train")
	assert.Equal(t, clause, "no Kueue controller processes Workloads on kwok-w1 and kwok-w2")
}

// TestFixOfWorkersCheck checks that the fix of a pending check on workers names its controller and shows
// the Workloads.
func TestFixOfWorkersCheck(t *testing.T) {
	_, f := clauseOf(t, inventory(t, recordings+"/jobsets"), "JM030", "d06a")
	assert.Assert(t, strings.HasPrefix(f.Remedy, "check that controller acme.example.com/gate runs on kwok-w1 and kwok-w2, and read the message of the check: "), f.Remedy)
	assert.Equal(t, strings.Count(f.Remedy, " describe "), 2, f.Remedy)
	assert.Equal(t, strings.Count(f.Remedy, " describe workloads.kueue.x-k8s.io job-d06a-"), 2, f.Remedy)
}

// TestFixOfManyEvictions checks that the fix of JM045 for a Job that workers evict again and again does
// not wait for more evictions.
func TestFixOfManyEvictions(t *testing.T) {
	for _, c := range evictedCases() {
		if c.code == "JM045" && c.fires {
			_, f := clauseOf(t, c.inventory(t), "JM045", "train")
			assert.Equal(t, strings.HasPrefix(f.Remedy, "if this repeats, "), c.name == "being withdrawn now", f.Remedy)
		}
	}
}

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
	clause, f := clauseOf(t, v, "JM030", "d06c")
	assert.Equal(t, clause, "it has quota on kwok-w1 and kwok-w2, but AdmissionCheck gate is pending again: its last answer was Retry (later)")
	assert.Assert(t, strings.HasPrefix(f.Message, "Jobs have quota on kwok-w1 and kwok-w2, but AdmissionCheck gate has passed on neither"), f.Message)
	clause, _ = clauseOf(t, inventory(t, recordings+"/"+recordedKueueDown), "JM031", "train")
	assert.Equal(t, clause, "Kueue on kwok-w1 and kwok-w2 has not processed the Workload")
}

// TestAnswersOfChecks checks that findings about AdmissionChecks quote what the checks last said.
func TestAnswersOfChecks(t *testing.T) {
	v := inventory(t, recordings+"/jobsets")
	clause, f := clauseOf(t, v, "JM020", "d05b")
	assert.Equal(t, clause, "MultiKueue waits for AdmissionCheck budget of kwok-mgr, which is pending again: its last answer was Retry (ask again)")
	assert.Assert(t, strings.Contains(f.Message, "is pending again for default/d05b: its last answer was Retry"), f.Message)
	assert.Assert(t, strings.HasPrefix(f.Remedy, "check that controller acme.example.com/budget runs on kwok-mgr, and read "), f.Remedy)
	clause, _ = clauseOf(t, v, "JM020", "d05a")
	assert.Assert(t, strings.HasSuffix(clause, "is pending again: its last answer was Rejected (no money left)"), clause)

	workers := func(first, second string) *inspect.Inventory {
		answer := func(state string) string {
			return `{status: {conditions: [{type: QuotaReserved, status: "True", reason: QuotaReserved, message: "", lastTransitionTime: "2026-11-20T23:24:46Z"}],
				admissionChecks: [{name: prov, state: ` + state + `, lastTransitionTime: "2026-11-20T23:24:46Z"}]}}`
		}
		return testCase{base: recordedNoQuota, edits: []edit{
			patch("kwok-w1", waitingWorkload, answer(first)), patch("kwok-w2", waitingWorkload, answer(second)),
		}}.make(t)
	}
	const stockout = `Retry, message: "no nodes: stockout"`
	clause, f = clauseOf(t, workers(stockout, stockout), "JM030", "train")
	assert.Equal(t, clause, "it has quota on kwok-w1 and kwok-w2, but AdmissionCheck prov requests a later attempt: no nodes: stockout")
	assert.Equal(t, f.Message, "Jobs have quota on kwok-w1 and kwok-w2, but AdmissionCheck prov requests a later attempt for default/train: no nodes: stockout")
	clause, _ = clauseOf(t, workers(stockout, "Pending"), "JM030", "train")
	assert.Equal(t, clause, "it has quota on kwok-w1 and kwok-w2, but AdmissionCheck prov has not passed: kwok-w1 requests a later attempt: no nodes: stockout; kwok-w2 has not answered")
	clause, _ = clauseOf(t, workers(`Rejected, message: "no money"`, "Pending"), "JM030", "train")
	assert.Assert(t, clause == "AdmissionCheck prov of kwok-w1 rejected it (no money): it never runs there" || strings.HasPrefix(clause, "it has quota on kwok-w2"), clause)
}

// TestClausesOfYoungFindings checks that a young finding about several Jobs says what it means for each.
func TestClausesOfYoungFindings(t *testing.T) {
	v := inventory(t, recordings+"/many-quota-faults")
	judgment := rules.Judge(v, rules.Catalogue(), rules.Options{Grace: 5 * time.Minute})
	for _, name := range []string{"d06a", "d06b", "d06c"} {
		i := slices.IndexFunc(v.Pairs.Pairs, func(p inspect.Pair) bool { return p.Origin.Name == name })
		all := judgment.All(func(code string) bool { return code == "JM030" })
		clause := all[0].Clauses[inspect.RefOf(v.Pairs.Pairs[i].Origin)]
		assert.Assert(t, strings.HasPrefix(clause, "it has quota on kwok-w1 and kwok-w2, but AdmissionCheck gate "), clause)
	}
}

// TestFixOfWorkersCheck checks that the fix of a pending check on workers names its controller and shows
// the Workloads.
func TestFixOfWorkersCheck(t *testing.T) {
	_, f := clauseOf(t, inventory(t, recordings+"/jobsets"), "JM030", "d06a")
	assert.Assert(t, strings.HasPrefix(f.Remedy, "check that controller acme.example.com/gate runs on kwok-w1 and kwok-w2, and read the message of the check: "), f.Remedy)
	assert.Equal(t, strings.Count(f.Remedy, " describe "), 2, f.Remedy)
	assert.Equal(t, strings.Count(f.Remedy, " describe workloads.kueue.x-k8s.io job-d06a-"), 2, f.Remedy)
}

// TestFixOfAnsweredCheck checks that the fix does not ask whether a controller runs that has said why its check is
// pending, on the manager and on workers.
func TestFixOfAnsweredCheck(t *testing.T) {
	const want = "resolve what AdmissionCheck budget reports, or ask the owner of controller acme.example.com/budget, and read the events of the Workload: "
	check := `{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: budget}, spec: {controllerName: acme.example.com/budget}}`
	const answer = `{name: budget, state: Pending, message: "used up until 1 December", lastTransitionTime: "2026-11-20T23:24:44Z"}`
	const onWorker = `{status: {conditions: [{type: QuotaReserved, status: "True", reason: QuotaReserved, message: "", lastTransitionTime: "2026-11-20T23:24:46Z"}], admissionChecks: [` + answer + `]}}`
	for code, edits := range map[string][]edit{
		"JM020": append(noNomination(", "+answer), add("kwok-mgr", check)),
		"JM030": {add("kwok-w1", check), add("kwok-w2", check), patch("kwok-w1", waitingWorkload, onWorker), patch("kwok-w2", waitingWorkload, onWorker)},
	} {
		_, f := clauseOf(t, testCase{base: recordedNoQuota, edits: edits}.make(t), code, "train")
		assert.Assert(t, strings.HasPrefix(f.Remedy, want), f.Remedy)
	}
}

// TestFixOfProvisioning checks that the fix of a ProvisioningRequest that is pending is about the nodes: the controller
// of the check is Kueue itself.
func TestFixOfProvisioning(t *testing.T) {
	var edits []edit
	for _, worker := range []string{"kwok-w1", "kwok-w2"} {
		edits = append(edits,
			add(worker, `{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: prov}, spec: {controllerName: kueue.x-k8s.io/provisioning-request}}`),
			patch(worker, waitingWorkload, `{status: {conditions: [{type: QuotaReserved, status: "True", reason: QuotaReserved, message: "", lastTransitionTime: "2026-11-20T23:24:46Z"}],
				admissionChecks: [{name: prov, state: Pending, message: out of stock, lastTransitionTime: "2026-11-20T23:24:46Z"}]}}`))
	}
	_, f := clauseOf(t, testCase{base: recordedNoQuota, edits: edits}.make(t), "JM030", "train")
	const show = " -n default get provisioningrequests.autoscaling.x-k8s.io`"
	assert.Assert(t, strings.HasPrefix(f.Remedy, "check that the cluster autoscaler on kwok-w1 and kwok-w2 provides nodes for the ProvisioningRequests: "+
		"`kubectl --context kwok-w1"+show+", and `kubectl --context kwok-w2"+show+", and read the events of the Workload: "), f.Remedy)
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

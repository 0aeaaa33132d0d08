package rules_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/glob"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// adviseAll returns the findings of a snapshot about the Jobs that isNamed accepts, or all of them if
// that is nil, as check does.
func adviseAll(t *testing.T, dir string, options rules.Options, isNamed func(inspect.Ref) bool) []inspect.Finding {
	t.Helper()
	o := open(t, dir)
	known := o.inventory(t)
	judgment := rules.Judge(known, rules.All(), options)
	findings := judgment.Findings
	if isNamed != nil {
		findings = judgment.Select(func(f *inspect.Finding) bool { return slices.ContainsFunc(f.Jobs, isNamed) }, isNamed)
	}
	queues, workloads := answer.Places(known, findings)
	v := read.Read(t.Context(), o.fleet, read.Want{Capacity: true, Queues: queues, Workloads: workloads, Known: known, Addresses: o.addresses, Now: o.takenAt})
	return answer.AdviseAll(v, findings, judgment, command.Reach{}, nil)
}

// TestSuppressedNever checks that a finding is suppressed by the code with which it is printed: Jobs that
// wait behind others and fit on no cluster have another one than the rest.
func TestSuppressedNever(t *testing.T) {
	for suppressed, want := range map[string]struct{ never, waits string }{
		"":                     {"JM029 ", "JM115 "},
		"JM115 *":              {"JM029 ", ""},
		"JM115 default/p1-202": {"JM029 ", "JM115 "},
		"JM115 default/p1-208": {"JM029 ", ""},
		"JM029 *":              {"", "JM115 "},
		"JM029 default/p1-202": {"", "JM115 "},
	} {
		code, object, _ := strings.Cut(suppressed, " ")
		findings := adviseAll(t, recordings+"/dispatch-origin-in-multikueue-queue", rules.Options{Suppressed: func(f inspect.Finding) bool {
			isObject, err := glob.Match(object, f.Namespace+"/"+f.Name)
			return f.Code == code && (isObject || object == "*") && err == nil
		}}, nil)
		codes := map[string]string{}
		for _, f := range findings {
			if f.Code != "JM029" && f.Code != "JM115" {
				continue
			}
			for _, r := range f.Jobs {
				codes[r.Name] += f.Code + " "
			}
		}
		assert.Check(t, codes["p1-202"] == want.never, "suppressed %q: %s", suppressed, codes["p1-202"])
		assert.Check(t, codes["p1-208"] == want.waits, "suppressed %q: %s", suppressed, codes["p1-208"])
	}
}

// TestNeverBehindController checks that a Job that fits on no cluster is an error although MultiKueue has not copied
// its Workload yet, as in trace. Before its grace period, the finding is no error.
func TestNeverBehindController(t *testing.T) {
	isNamed := func(r inspect.Ref) bool { return r.Name == "p1-211" }
	for grace, want := range map[time.Duration]string{0: "JM029 error", time.Second: "JM029 error", 5 * time.Minute: ""} {
		var found []string
		for _, f := range adviseAll(t, recordings+"/dispatch-origin-in-multikueue-queue", rules.Options{Grace: grace}, isNamed) {
			found = append(found, f.Code+" "+string(f.Severity))
			assert.Equal(t, f.Predicate(), "fits on no cluster. kwok-w2: needs 30 cpu and 18 nvidia.com/gpu, limits 26 and 10, borrowing included; 1 more on kwok-w1")
			assert.Assert(t, f.Cost != nil && len(f.Evidence) == 2 && strings.HasPrefix(f.Fixes[0].Text, "run 3 Pods at once, not 6, to fit on kwok-w2"))
		}
		assert.Equal(t, strings.Join(found, "\n"), want, grace)
	}
}

// copiesOfBlocked returns edits that add Jobs equal to the waiting one of recordedHead, except for their
// requests. The name of each begins with "big".
func copiesOfBlocked(t *testing.T, cpus ...int) []edit {
	t.Helper()
	var edits []edit
	for _, context := range []string{"kwok-mgr", "kwok-w1", "kwok-w2"} {
		for _, i := range recorded(t, filepath.Join(recordings, recordedHead, context+".yaml")) {
			if !matches(i.object, "Job/behind") && !matches(i.object, blockedCopy) {
				continue
			}
			text, err := json.Marshal(i.object)
			assert.NilError(t, err)
			for n, cpu := range cpus {
				name, uid := fmt.Sprintf("big%02d", n), fmt.Sprintf("-%02d-", n)
				edits = append(edits, add(context, strings.NewReplacer(
					`"behind"`, `"`+name+`"`, "job-behind-", "job-"+name+"-", `"cpu":"1"`, fmt.Sprintf(`"cpu":"%d"`, cpu),
					// The UIDs of the Job, and of its Workload on each cluster.
					"-e1c1-", uid, "-c36d-", uid, "-9312-", uid, "-db4b-", uid,
				).Replace(string(text))))
			}
		}
	}
	return edits
}

// TestManyNever checks that Jobs that wait behind others and fit on no cluster for the same reason are one
// error, also if they are more than get their own advice, with one fingerprint for all of them.
func TestManyNever(t *testing.T) {
	var cpus []int
	for range 15 {
		cpus = append(cpus, 50, 60)
	}
	c := testCase{name: "many never fit", code: "JM115", base: recordedHead, edits: copiesOfBlocked(t, cpus...)}
	dir := c.bundle(t)
	found := map[string]string{}
	for _, f := range adviseAll(t, dir, rules.Options{}, nil) {
		if f.Kind != "Job" {
			continue
		}
		found[f.Name] = fmt.Sprintf("%s %s, %d: %s", f.Code, f.Severity, len(f.Jobs), f.Predicate())
		if f.Code != "JM029" {
			continue
		}
		last := f.Jobs[len(f.Jobs)-1]
		isLast := func(r inspect.Ref) bool { return r == last }
		for _, own := range adviseAll(t, dir, rules.Options{}, isLast) {
			if own.Code == "JM029" && own.Name == last.Name {
				found[own.Name] = own.Code
				assert.Equal(t, own.Fingerprint, f.Fingerprint)
				assert.Equal(t, own.Predicate(), f.Predicate())
			}
		}
	}
	assert.DeepEqual(t, found, map[string]string{
		"behind": "JM115 info, 1: kwok-w1: behind default/head (priority 0) in ClusterQueue cluster-queue (StrictFIFO)",
		"big00":  "JM029 error, 15: needs 50 cpu; the largest limit is 4 (kwok-w1, flavor default-flavor)",
		"big01":  "JM029 error, 15: needs 60 cpu; the largest limit is 4 (kwok-w1, flavor default-flavor)",
		"big28":  "JM029",
		"big29":  "JM029",
	})
}

// TestNamedNever checks that findings about chosen Jobs are about these also after the split.
func TestNamedNever(t *testing.T) {
	c := testCase{name: "some never fit", code: "JM115", base: recordedHead, edits: copiesOfBlocked(t, 50, 50, 60, 60)}
	isChosen := func(r inspect.Ref) bool { return r.Name == "big01" || r.Name == "big03" }
	names := map[string]int{}
	for _, f := range adviseAll(t, c.bundle(t), rules.Options{}, isChosen) {
		if f.Code == "JM029" && slices.ContainsFunc(f.Jobs, isChosen) {
			names[f.Name] = len(f.Jobs)
			assert.Assert(t, strings.HasPrefix(f.Message, "Job default/"+f.Name+": "), f.Message)
		}
	}
	assert.DeepEqual(t, names, map[string]int{"big01": 2, "big03": 2})
}

package cmd

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"

	sarifreport "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestCheckOfRecordings: the output of check for each recording.
func TestCheckOfRecordings(t *testing.T) {
	t.Parallel()
	eachRecording(t, func(t *testing.T, name, dir string) {
		t.Helper()
		out, errOut, code := run(t, "check", "-A", "--from", dir, "--grace", "0s")
		golden.Assert(t, out, "check/"+name+".txt")
		healthy := name == "running" || name == "starting" || name == "priority-class-unread"
		// Findings of severity info fail nothing.
		isInfo := name == "deactivated" || name == "preempted-on-worker" || strings.HasPrefix(name, "burst-") || name == "strict-fifo-head-blocks"
		assert.Equal(t, code == util.ExitOK, healthy || isInfo, errOut)
		if healthy {
			jobs := cmp.Or(map[string]string{"priority-class-unread": "3 delegated Jobs"}[name], "1 delegated Job")
			assert.Equal(t, out+errOut, "No findings in "+jobs+" on 3 clusters\n")
		}
		out, _, _ = run(t, "check", "-A", "--from", dir, "--grace", "0s", "-o", "json")
		fits(t, "findinglist", out)
		out, _, _ = run(t, "check", "-A", "--from", dir, "--grace", "1000h")
		assert.Assert(t, !strings.Contains(out, "JM0"), "young problems must not be shown: %s", out)
	})
}

func TestCheckReports(t *testing.T) {
	dir := filepath.Join(recordings, "worker-lost")
	out, _, code := run(t, "check", "-A", "--from", dir, "--grace", "0s", "-o", "sarif")
	assert.Equal(t, code, util.ExitFindings)
	report, err := sarifreport.FromString(out)
	assert.NilError(t, err)
	assert.NilError(t, report.Validate())
	assert.Assert(t, len(report.Runs[0].Results) > 0)
	assert.Assert(t, !*report.Runs[0].Invocations[0].ExecutionSuccessful, "a context could not be read")

	// No context reaches a worker that Jobs wait for: only Unchecked says so.
	fleet := copyOf(t, "no-quota-on-workers", func(snapshot string) string {
		before, _, _ := strings.Cut(snapshot, "- name: kwok-w2")
		return before
	})
	out, _, code = run(t, "check", "-A", "--from", fleet, "--fail-on", "none", "-o", "sarif")
	assert.Equal(t, code, util.ExitPartial)
	report, err = sarifreport.FromString(out)
	assert.NilError(t, err)
	invocation := report.Runs[0].Invocations[0]
	assert.Assert(t, !*invocation.ExecutionSuccessful)
	assert.Assert(t, len(invocation.ToolExecutionNotifications) > 0)
	assert.Assert(t, strings.Contains(*invocation.ToolExecutionNotifications[0].Message.Text, "not checked: worker worker2"), *invocation.ToolExecutionNotifications[0].Message.Text)
}

func TestCheckExitCodes(t *testing.T) {
	problemFleet, well := filepath.Join(recordings, "no-queue-name"), filepath.Join(recordings, "running")
	for name, tt := range map[string]struct {
		args []string
		code int
		err  string
	}{
		"found":              {[]string{"--from", problemFleet, "--grace", "0s"}, util.ExitFindings, "1 error in 1 delegated Job on 3 clusters\n"},
		"nothing to fail on": {[]string{"--from", problemFleet, "--grace", "0s", "--fail-on", "none"}, util.ExitOK, ""},
		"suppressed":         {[]string{"--from", problemFleet, "--grace", "0s", "--suppress", "jm013"}, util.ExitOK, "No findings in 1 delegated Job on 3 clusters; 1 error suppressed (--suppress)\n"},
		"suppressed by name": {[]string{"--from", problemFleet, "--grace", "0s", "--suppress", "JM013=default/tr*"}, util.ExitOK, "No findings in 1 delegated Job on 3 clusters; 1 error suppressed (--suppress)\n"},
		"suppressed after advice": {
			[]string{"-A", "--from", filepath.Join(recordings, "cohort-borrowing"), "--grace", "0s", "--suppress", "JM029"},
			util.ExitOK,
			"No findings in 4 delegated Jobs on 3 clusters; 1 error, 1 info suppressed (--suppress)\n",
		},
		"suppressed document": {
			[]string{"--from", problemFleet, "--grace", "0s", "--suppress", "JM013", "-o", "jsonpath={.summary.errors} {.summary.suppressed} {.items}"}, util.ExitOK, "0 1 []",
		},
		"another suppressed":   {[]string{"--from", problemFleet, "--grace", "0s", "--suppress", "JM013=other/train"}, util.ExitFindings, "1 error in 1 delegated Job on 3 clusters\n"},
		"healthy":              {[]string{"--from", well}, util.ExitOK, "No findings"},
		"unread part":          {[]string{"--from", filepath.Join(recordings, "worker-lost")}, util.ExitPartial, "No findings in what was checked: 1 delegated Job"},
		"finding, unread part": {[]string{"--from", filepath.Join(recordings, "worker-lost"), "--grace", "0s"}, util.ExitFindings, "1 error in 1 delegated Job on 2 clusters"},
		"bad code":             {[]string{"--from", well, "--suppress", "JM999"}, util.ExitUsage, `error: unknown code "JM999"`},
		"bad object":           {[]string{"--from", well, "--suppress", "JM013=train"}, util.ExitUsage, `error: --suppress "JM013=train" is not of the form`},
		"bad severity":         {[]string{"--from", well, "--fail-on", "fatal"}, util.ExitUsage, "error: unknown --fail-on"},
		"bad grace":            {[]string{"--from", well, "--grace", "-1s"}, util.ExitUsage, "error: --grace must be zero or more"},
		"watch a bundle":       {[]string{"--from", well, "-w"}, util.ExitUsage, "error: --from cannot be combined with --watch"},
		"a name":               {[]string{"train", "--from", problemFleet, "--grace", "0s"}, util.ExitFindings, "1 error in 1 delegated Job on 3 clusters\n"},
		"no such name":         {[]string{"nothing", "--from", problemFleet}, util.ExitError, `error: job "nothing" not found in namespace "default"`},
		"a bad name":           {[]string{"a/b/c", "--from", problemFleet}, util.ExitUsage, "error: "},
		"a label":              {[]string{"-l", "no=such", "--from", problemFleet, "--grace", "0s"}, util.ExitOK, "No delegated Jobs found on"},
		"no such namespace":    {[]string{"-n", "none", "--from", problemFleet}, util.ExitError, `error: namespace "none" does not exist in contexts kwok-mgr, kwok-w1, kwok-w2`},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := run(t, append([]string{"check"}, tt.args...)...)
			assert.Equal(t, code, tt.code, errOut)
			assert.Assert(t, strings.HasPrefix(out+errOut, tt.err), out+errOut)
		})
	}
}

// TestUncheckedCodes: resources that may not be read are reported with the codes that depend on them,
// and do not count as healthy.
func TestUncheckedCodes(t *testing.T) {
	dir := copyOf(t, "running", func(snapshot string) string {
		return strings.Replace(snapshot, "  file: kwok-w1.yaml", `  file: kwok-w1.yaml
  unread:
  - resource: workloads.kueue.x-k8s.io
    status: {code: 403, reason: Forbidden, message: 'workloads is forbidden: User "u" cannot list'}`, 1)
	})
	out, _, code := run(t, "check", "-A", "--from", dir, "--grace", "0s")
	assert.Equal(t, code, util.ExitPartial)
	assert.Assert(t, strings.Contains(out, "not checked: workloads on kwok-w1 ("), out)
	assert.Assert(t, !strings.Contains(out, "JM024  "), "a finding that depends on unread objects: %s", out)
}

// TestPartlyCheckedCode: a code with a finding is not reported as not judged.
func TestPartlyCheckedCode(t *testing.T) {
	dir := copyOf(t, "pods-unschedulable", func(snapshot string) string {
		return strings.Replace(snapshot, "  file: kwok-mgr.yaml", `  file: kwok-mgr.yaml
  unread:
  - resource: pods
    status: {code: 403, reason: Forbidden, message: 'pods is forbidden: User "u" cannot list'}`, 1)
	})
	out, _, code := run(t, "check", "-A", "--from", dir, "--grace", "0s")
	assert.Equal(t, code, util.ExitFindings)
	assert.Assert(t, strings.Contains(out, "\nJM049  "), out)
	out, _, _ = run(t, "check", "-A", "--from", dir, "--grace", "0s", "-o", "json")
	_, unread, _ := strings.Cut(out, "cannot read pods, so ")
	unread, _, _ = strings.Cut(unread, ": list pods")
	codes, inPart, _ := strings.Cut(unread, " were not checked, and ")
	assert.Assert(t, !strings.Contains(codes, "JM049") && inPart == "JM049 only in part", unread)
}

// TestClockSkewIsShown: a cluster whose clock is off is reported, and its times are left
// unchanged.
func TestClockSkewIsShown(t *testing.T) {
	dir := copyOf(t, "running", func(snapshot string) string {
		return strings.Replace(snapshot, "  file: kwok-w1.yaml", "  clockSkewSeconds: 90\n  file: kwok-w1.yaml", 1)
	})
	out, _, _ := run(t, "trace", "train", "--from", dir)
	assert.Assert(t, strings.Contains(out, "note: the clock of kwok-w1 is 90s ahead of yours"), out)
	out, _, _ = run(t, "trace", "train", "--from", dir, "-o", "json")
	var trace inspect.Trace
	assert.NilError(t, json.Unmarshal([]byte(out), &trace))
	assert.DeepEqual(t, trace.Clocks, []inspect.ClockSkew{{Context: "kwok-w1", AheadSeconds: 90}})
}

// TestOlderKueue: the same chain is read if the clusters serve only v1beta1.
func TestOlderKueue(t *testing.T) {
	dir := copyOf(t, "running", func(snapshot string) string { return snapshot })
	for _, file := range []string{"kwok-mgr.yaml", "kwok-w1.yaml", "kwok-w2.yaml"} {
		path := filepath.Join(dir, file)
		text, err := os.ReadFile(path)
		assert.NilError(t, err)
		older := strings.ReplaceAll(string(text), "kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1")
		older = strings.ReplaceAll(older, "    clusterSource:\n      kubeConfig:\n        location: worker", "    kubeConfig:\n        location: worker")
		assert.NilError(t, os.WriteFile(path, []byte(older), 0o600))
	}
	newer, _, _ := run(t, "trace", "train", "--from", filepath.Join(recordings, "running"))
	out, _, code := run(t, "trace", "train", "--from", dir)
	assert.Equal(t, code, util.ExitOK)
	assert.Equal(t, out, newer)
}

func TestExplain(t *testing.T) {
	out, _, code := run(t, "explain")
	assert.Equal(t, code, util.ExitOK)
	for _, r := range rules.All() {
		assert.Assert(t, strings.Contains(out, r.Code))
		text, _, code := run(t, "explain", strings.ToLower(r.Code))
		assert.Equal(t, code, util.ExitOK)
		for _, heading := range []string{r.Title, "Why it happens", "How it shows", "What to do", r.Link} {
			assert.Assert(t, strings.Contains(text, heading), text)
		}
		for line := range strings.Lines(text) {
			assert.Assert(t, len(line) < 200, line)
		}
	}
	// Several codes have their texts one after the other, each once.
	first, _, _ := run(t, "explain", "JM013")
	second, _, _ := run(t, "explain", "JM034")
	both, _, code := run(t, "explain", "JM013", "jm034", "jm013")
	assert.Equal(t, code, util.ExitOK)
	assert.Equal(t, both, first+"\n"+second)

	_, errOut, code := run(t, "explain", "JM99")
	assert.Equal(t, code, util.ExitUsage)
	assert.Assert(t, strings.HasPrefix(errOut, `error: unknown code "JM99"`), errOut)
	_, errOut, code = run(t, "explain", "-o", "wide")
	assert.Equal(t, code, util.ExitUsage)
	assert.Assert(t, strings.HasPrefix(errOut, `error: unknown output format "wide"; choose one of json, yaml, kyaml`), errOut)
}

// TestExplainAsDocument: a document describes all codes, or the given one.
func TestExplainAsDocument(t *testing.T) {
	out, _, code := run(t, "explain", "-o", "json")
	assert.Equal(t, code, util.ExitOK)
	var list inspect.CodeList
	assert.NilError(t, json.Unmarshal([]byte(out), &list))
	assert.Equal(t, len(list.Items), len(rules.Catalogue()))
	for _, item := range list.Items {
		assert.Assert(t, item.Why != "" && item.Shows != "" && item.Remedy != "", item.Code)
		assert.Assert(t, strings.HasSuffix(item.Docs, "docs/codes.md#"+strings.ToLower(item.Code)) && strings.HasPrefix(item.Link, "https://"), "%s: %s %s", item.Code, item.Docs, item.Link)
		assert.Assert(t, !strings.Contains(item.Why+item.Shows+item.Remedy, "\n"), item.Code)
	}
	out, _, code = run(t, "explain", "jm013", "-o", "json")
	assert.Equal(t, code, util.ExitOK)
	assert.NilError(t, json.Unmarshal([]byte(out), &list))
	assert.Equal(t, len(list.Items), 1)
	assert.Equal(t, list.Items[0].Code, "JM013")
}

// TestCheckSelectedChain checks that check of a Job or a namespace has the findings about the setup
// that trace shows for the Job, and not those about the setup of others.
func TestCheckSelectedChain(t *testing.T) {
	dir := copyWith(t, "running", "kwok-mgr.yaml", func(text string) string {
		const active = "message: The admission check is active\n      observedGeneration: 1\n      reason: "
		text = strings.Replace(text, active+"Active\n", active+"SomeActiveClusters\n", 1)
		return strings.Replace(text, "    - worker1\n    - worker2\n", "    - worker1\n    - worker2\n    - none\n", 1)
	})
	out, errOut, _ := run(t, "trace", "train", "--from", dir)
	assert.Assert(t, strings.Contains(out, "JM011"), out+errOut)
	for _, args := range [][]string{{"train", "-n", "default"}, {"-n", "default"}, {"-l", "!missing", "-n", "default"}} {
		out, errOut, _ := run(t, append([]string{"check", "--grace", "0s", "--from", dir}, args...)...)
		assert.Check(t, strings.Contains(out, "JM011"), "%v: %s", args, out+errOut)
	}
	out, errOut, _ = run(t, "check", "--grace", "0s", "-n", "kube-public", "--from", dir)
	assert.Check(t, !strings.Contains(out, "JM011"), out+errOut)
}

// copyOf copies a recording and changes its snapshot.yaml.
func copyOf(t *testing.T, name string, change func(string) string) string {
	t.Helper()
	return copyWith(t, name, "snapshot.yaml", change)
}

// copyWith copies a recording and changes one of its files.
func copyWith(t *testing.T, name, file string, change func(string) string) string {
	t.Helper()
	dir := t.TempDir()
	assert.NilError(t, os.CopyFS(dir, os.DirFS(filepath.Join(recordings, name))))
	path := filepath.Join(dir, file)
	text, err := os.ReadFile(path)
	assert.NilError(t, err)
	changed := change(string(text))
	assert.NilError(t, os.WriteFile(path, []byte(changed), 0o600))
	return dir
}

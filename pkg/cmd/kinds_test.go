package cmd

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

func TestCacheDir(t *testing.T) {
	home := t.TempDir()
	for _, tt := range []struct {
		usual string
		args  []string
		want  string
	}{
		{usual: home, want: home},
		{usual: home, args: []string{"--cache-dir", "elsewhere"}, want: "elsewhere"},
		{usual: home, args: []string{"--cache-dir="}, want: home},
		// Without a home directory, kubectl's path is relative to the current directory.
		{usual: ".kube/cache", want: ""},
		{usual: ".kube/cache", args: []string{"--cache-dir", "elsewhere"}, want: "elsewhere"},
	} {
		t.Setenv("KUBECACHEDIR", tt.usual)
		f := util.NewGlobalFlags()
		root := &cobra.Command{}
		addGlobalFlags(root, f, complete.New(util.Environment{}, f))
		assert.NilError(t, root.ParseFlags(tt.args))
		assert.Equal(t, f.CacheDir(), tt.want)
	}
}

func TestKindsCommand(t *testing.T) {
	dir := filepath.Join(recordings, "running")
	out, _, code := run(t, "kinds", "-A", "--from", dir)
	assert.Equal(t, code, util.ExitOK)
	titles, rows, _ := strings.Cut(out, "\n")
	assert.DeepEqual(t, strings.Fields(titles), []string{"CONTEXT", "KIND", "APIVERSION", "FIELD", "ALLOWED", "OBJECTS"})
	row, _, _ := strings.Cut(rows, "\n")
	assert.DeepEqual(t, strings.Fields(row), []string{"kwok-mgr", "Job", "batch/v1", "spec.managedBy", "any", "kueue.x-k8s.io/multikueue=1"})

	out, _, code = run(t, "kinds", "-A", "--from", dir, "-o", "json")
	assert.Equal(t, code, util.ExitOK)
	fits(t, "kindlist", out)
	var list inspect.KindList
	assert.NilError(t, json.Unmarshal([]byte(out), &list))
	assert.Equal(t, list.APIVersion+" "+list.Kind, inspect.APIVersion+" KindList")
	assert.Equal(t, list.Items[0].Resource, "jobs.batch")

	out, _, code = run(t, "kinds", "-A", "--from", dir, "-o", "name")
	assert.Equal(t, code, util.ExitOK)
	assert.Assert(t, strings.HasPrefix(out, "jobs.batch\n") && strings.Count(out, "jobs.batch\n") == 1, out)

	lost := filepath.Join(recordings, "worker-lost")
	out, errOut, code := run(t, "kinds", "-A", "--from", lost)
	assert.Equal(t, code, util.ExitPartial)
	assert.Assert(t, strings.Contains(out, "not read completely:"), out)
	assert.Equal(t, errOut, "error: incomplete answer: 1 of 3 contexts were not read completely\n")
	_, errOut, code = run(t, "kinds", "-A", "--from", lost, "-o", "name")
	assert.Equal(t, code, util.ExitPartial)
	assert.Assert(t, strings.HasPrefix(errOut, "error: context "), errOut)

	_, errOut, code = run(t, "kinds", "-o", "nonsense")
	assert.Equal(t, code, util.ExitUsage)
	assert.Assert(t, strings.Contains(errOut, `unknown output format "nonsense"`), errOut)
}

// TestUnservedKinds: a kind that no cluster serves is an error in every command, and is reported
// even if other kinds are served.
func TestUnservedKinds(t *testing.T) {
	dir := filepath.Join(recordings, "running")
	for _, args := range [][]string{
		{"ls", "--kinds", "widget"}, {"ls", "--kinds", "job,widget"}, {"check", "--kinds", "widget"}, {"trace", "--kinds", "widget"}, {"trace", "widget/train"},
	} {
		out, errOut, code := run(t, append(args, "-A", "--from", dir)...)
		assert.Equal(t, code, util.ExitError, "%v: %s", args, errOut)
		assert.Equal(t, out, "")
		assert.Assert(t, strings.HasPrefix(errOut, "error: no context serves kind \"widget\" with a managedBy field; kubectl jobs-managedby kinds lists the kinds of each context"), errOut)
	}
	_, errOut, code := run(t, "ls", "-A", "--kinds", "widget", "--from", filepath.Join(recordings, "worker-lost"))
	assert.Equal(t, code, util.ExitError)
	assert.Assert(t, strings.HasPrefix(errOut, "error: context "), errOut)
	assert.Assert(t, strings.Contains(errOut, "error: no context that was read serves kind \"widget\""), errOut)
}

func TestKindsAreShown(t *testing.T) {
	dir := filepath.Join(recordings, "running")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"ls"}, "CONTEXT NAMESPACE NAME STATUS COMPLETIONS DURATION MIRROR AGE"},
		{[]string{"ls", "--kinds", "jobs"}, "CONTEXT NAMESPACE NAME STATUS COMPLETIONS DURATION MIRROR AGE"},
		{[]string{"ls", "--kinds", "all"}, "CONTEXT NAMESPACE KIND NAME STATUS COMPLETIONS DURATION MIRROR AGE"},
		{[]string{"ls", "--kinds", "all", "--summary"}, "MANAGED-BY OBJECTS RUNNING"},
		{[]string{"trace"}, "CONTEXT NAMESPACE NAME STATUS MIRROR MIRROR-STATUS RELATION IN-SYNC AGE"},
		{[]string{"trace", "--kinds", "all"}, "CONTEXT NAMESPACE KIND NAME STATUS MIRROR MIRROR-STATUS RELATION IN-SYNC AGE"},
	} {
		out, errOut, code := run(t, append(tt.args, "-A", "--from", dir)...)
		assert.Equal(t, code, util.ExitOK, errOut)
		titles, _, _ := strings.Cut(out, "\n")
		assert.Equal(t, strings.Join(strings.Fields(titles), " "), tt.want)
	}
	_, errOut, code := run(t, "trace", "train", "--kinds", "all", "--from", dir)
	assert.Equal(t, code, util.ExitUsage)
	assert.Assert(t, strings.Contains(errOut, "--kinds cannot be combined with a NAME"), errOut)

	out, errOut, code := run(t, "ls", "--kinds", "all", "-n", "nowhere", "--from", dir)
	assert.Equal(t, code, util.ExitOK)
	assert.Equal(t, out, "")
	assert.Assert(t, strings.HasPrefix(errOut, "No objects found in namespace nowhere"), errOut)
}

// TestKindsOfMissingNamespace: kinds counts no objects in a namespace that does not exist, and says so.
func TestKindsOfMissingNamespace(t *testing.T) {
	for namespace, want := range map[string]string{
		"nosuch": "note: namespace \"nosuch\" does not exist in contexts management, worker-1, worker-2; choose another with -n, or all with -A\n",
		"ml":     "",
	} {
		_, errOut, code := run(t, "kinds", "-n", namespace, "--all-contexts", "--from", exampleFleet)
		assert.Equal(t, code, util.ExitOK)
		assert.Equal(t, errOut, want)
	}
}

// TestKindsHaveOwnDefaults: the default of --kinds of one command leaves those of others unchanged.
func TestKindsHaveOwnDefaults(t *testing.T) {
	for _, cmd := range NewRootCommand(util.Environment{}).Commands() {
		if flag := cmd.Flag("kinds"); flag != nil {
			assert.Equal(t, flag.Value.String(), flag.DefValue, cmd.Name())
		}
	}
}

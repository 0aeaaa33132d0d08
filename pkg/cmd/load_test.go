package cmd

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// nowhere is a server that refuses connections.
const nowhere = "https://127.0.0.1:1"

// TestContextsVariable: the environment variable replaces --contexts, and flags that choose
// contexts replace it.
func TestContextsVariable(t *testing.T) {
	kubeconfig(t, "lab", map[string]string{"lab": nowhere, "prod-eu": nowhere + "/eu", "prod-us": nowhere + "/us", "prod-old": nowhere + "/old"})
	for _, tt := range []struct {
		name, variable string
		args           []string
		want           string
	}{
		{"without it", "", []string{"ls"}, "lab"},
		{"blank", " , ", []string{"ls"}, "lab"},
		{"patterns", "prod-*, ^prod-old", []string{"ls"}, "prod-eu prod-us"},
		{"command that reads all", "prod-*,^prod-old", []string{"check"}, "prod-eu prod-us"},
		{"--contexts", "prod-*", []string{"ls", "--contexts", "lab"}, "lab"},
		{"--context", "prod-*", []string{"ls", "--context", "prod-us"}, "prod-us"},
		{"--all-contexts", "prod-*", []string{"ls", "--all-contexts"}, "lab prod-eu prod-old prod-us"},
		{"--server", "prod-*", []string{"ls", "--server", nowhere}, "lab"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			variables := map[string]string{util.ContextsVariable: tt.variable}
			stdout, stderr, code := runIn(t, "kubectl-jobs_managedby", variables, append(tt.args, "-o", "json")...)
			assert.Equal(t, code, util.ExitPartial, stderr)
			var list inspect.OwnerList
			assert.NilError(t, json.Unmarshal([]byte(stdout), &list), stdout)
			var asked []string
			for _, e := range list.Errors {
				asked = append(asked, e.Context)
			}
			assert.Equal(t, strings.Join(asked, " "), tt.want)
		})
	}

	_, stderr, code := runIn(t, "kubectl-jobs_managedby", map[string]string{util.ContextsVariable: "staging"}, "ls")
	assert.Equal(t, code, util.ExitError)
	assert.Assert(t, strings.HasPrefix(stderr, "error: environment variable "+util.ContextsVariable+": "), stderr)
}

// TestConcurrentCommands: concurrent commands in one process share nothing that changes.
func TestConcurrentCommands(t *testing.T) {
	kubeconfig(t, "lab", map[string]string{"lab": nowhere})
	calls := [][]string{
		{"ls", "-A", "--from", exampleFleet},
		{"ls", "-A", "--from", exampleFleet, "-o", "json", "--kinds", "all"},
		{"ls", "-A", "--color", "always", "--from", exampleFleet},
		{"ls", "-o", "json"},
		{"kinds", "-A", "--from", exampleFleet},
		{"trace", "sweep", "-n", "ml", "--from", exampleFleet},
		{"check", "-A", "--from", exampleFleet, "-o", "sarif"},
		{"explain", "JM001"},
		{"dispatch", "--help"},
		{"lss"},
	}
	type result struct {
		stdout, stderr string
		code           int
	}
	runs := func(args []string) (r result) {
		r.stdout, r.stderr, r.code = runIn(t, "kubectl-jobs_managedby", nil, args...)
		return r
	}
	alone := make([]result, len(calls))
	for i, args := range calls {
		alone[i] = runs(args)
		assert.Assert(t, alone[i].stdout+alone[i].stderr != "", args)
	}
	const times = 4
	together := make([]result, times*len(calls))
	var wg sync.WaitGroup
	for i := range together {
		wg.Go(func() { together[i] = runs(calls[i%len(calls)]) })
	}
	wg.Wait()
	for i, got := range together {
		assert.Equal(t, got, alone[i%len(calls)], "%q", calls[i%len(calls)])
	}
}

func TestUnknownFlags(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"ls", "--stauts", "x"}, "error: unknown flag: --stauts; did you mean --status?\n"},
		{[]string{"dispatch", "--dryrun=client"}, "error: unknown flag: --dryrun; did you mean --dry-run?\n"},
		{[]string{"ls", "--al-contexts"}, "error: unknown flag: --al-contexts; did you mean --all-contexts?\n"},
		{[]string{"ls", "--zzzzzzzz"}, "error: unknown flag: --zzzzzzzz\n"},
		{[]string{"ls", "-Z"}, "error: unknown shorthand flag: 'Z' in -Z\n"},
	} {
		_, stderr, code := run(t, tt.args...)
		assert.Equal(t, code, util.ExitUsage, tt.args)
		assert.Assert(t, strings.HasPrefix(stderr, tt.want), stderr)
	}
}

package cmd

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestNamedJobsWithKinds: --kinds never hides an object that is named explicitly.
func TestNamedJobsWithKinds(t *testing.T) {
	from := []string{"-n", "default", "--all-contexts", "--from", recordings + "/jobsets"}
	for _, command := range []string{"ls", "check"} {
		for _, args := range [][]string{{"--kinds", "jobset", "job/d01"}, {"--kinds", "jobset", "jobset/js-susp", "d01"}, {"--kinds", "jobs", "d01"}} {
			out, errOut, code := run(t, append(append([]string{command}, args...), from...)...)
			assert.Assert(t, code != util.ExitError, "%s %v: %s%s", command, args, out, errOut)
			assert.Assert(t, !strings.Contains(errOut, "not found"), errOut)
		}
	}
	out, _, _ := run(t, append([]string{"ls", "--kinds", "jobset", "job/d01", "-o", "name"}, from...)...)
	assert.Equal(t, out, "job.batch/d01\n")
}

// TestEmptyNames: an empty name or kind is the same usage error in each command with optional names of Jobs.
func TestEmptyNames(t *testing.T) {
	for _, args := range [][]string{{"ls"}, {"check"}, {"trace"}, {"cancel"}, {"dispatch", "--to", "worker-1"}} {
		for _, name := range []string{"", "/train"} {
			_, errOut, code := invoke(t, slices.Insert(slices.Clone(args), 1, name)...)
			assert.Equal(t, code, util.ExitUsage, errOut)
			assert.Assert(t, strings.HasPrefix(errOut, "error: "+strconv.Quote(name)+" is not of the form [KIND/]NAME"), "%v: %s", args, errOut)
		}
	}
}

// TestNameWithSelector: a name with a selector is the same usage error as in kubectl, in every command and
// for every output format.
func TestNameWithSelector(t *testing.T) {
	for _, args := range []string{
		"ls train -l team=x", "ls train -l team=x --reason", "ls train -l team=x -o wide", "ls train -l team=x -o json",
		"ls train --field-selector metadata.name=x", "check train -l team=x", "trace train -l team=x",
	} {
		out, errOut, code := run(t, append(strings.Fields(args), "-n", "ml", "--from", exampleFleet)...)
		assert.Equal(t, code, util.ExitUsage, args)
		assert.Equal(t, out, "", args)
		assert.Assert(t, strings.HasPrefix(errOut, "error: name cannot be provided when a selector is specified\n"), errOut)
	}
}

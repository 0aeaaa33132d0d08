package cmd

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestSelectorDoesNotChangeFindings: the judgment of a Job is the same whether its mirror has
// the selected labels, or its origin, or both.
func TestSelectorDoesNotChangeFindings(t *testing.T) {
	const ofMirror = "kueue.x-k8s.io/multikueue-origin"
	from := []string{"--from", recordings + "/running", "-A"}
	judged := func(args ...string) map[string]string {
		out, errOut, code := run(t, append(args, from...)...)
		assert.Equal(t, code, 0, errOut)
		var list inspect.OwnerList
		assert.NilError(t, json.Unmarshal([]byte(out), &list))
		found := map[string]string{}
		for _, j := range list.All() {
			text, err := json.Marshal([]any{j.Findings, j.Mirrors})
			assert.NilError(t, err)
			found[j.UID] = string(text)
		}
		return found
	}
	all, origins, mirrors := judged("ls", "--mirrors", "-o", "json"), judged("ls", "-o", "json", "-l", "!"+ofMirror), judged("ls", "-o", "json", "-l", ofMirror)
	assert.Assert(t, len(origins) > 0 && len(mirrors) > 0)
	assert.Equal(t, len(origins)+len(mirrors), len(all))
	for _, some := range []map[string]string{origins, mirrors} {
		for uid, what := range some {
			assert.Equal(t, what, all[uid])
		}
	}

	want, _, _ := run(t, append([]string{"trace"}, from...)...)
	for _, selector := range []string{ofMirror, "!" + ofMirror} {
		out, errOut, code := run(t, append([]string{"trace", "-l", selector}, from...)...)
		assert.Equal(t, code, 0, errOut)
		assert.Equal(t, out, want)
	}
	out, errOut, _ := run(t, append([]string{"trace", "--orphans", "-l", ofMirror}, from...)...)
	assert.Equal(t, out, "")
	assert.Assert(t, strings.Contains(errOut, "No mirrors without an origin found"), errOut)
	_, errOut, code := run(t, append([]string{"trace", "-l", "no such selector"}, from...)...)
	assert.Equal(t, code, util.ExitUsage, errOut)

	// If nothing is judged, an object that may be hidden is not taken for missing.
	out, _, _ = run(t, append([]string{"ls", "-l", "!" + ofMirror, "--no-headers", "--delegated"}, from...)...)
	whole, _, _ := run(t, append([]string{"ls", "--no-headers", "--delegated"}, from...)...)
	assert.Equal(t, out, whole)
}

// TestInvalidSelectors: a selector that a server would refuse is a usage error, in every command
// with selectors.
func TestInvalidSelectors(t *testing.T) {
	checked := 0
	for _, cmd := range documented(t) {
		if cmd.Flags().Lookup("selector") == nil {
			continue
		}
		checked++
		for _, selector := range []string{"a=b,", "a in b", "=b"} {
			_, stderr, code := invoke(t, cmd.Name(), "-l", selector)
			assert.Equal(t, code, util.ExitUsage, stderr)
			assert.Assert(t, strings.Contains(stderr, "--selector "+strconv.Quote(selector)+" is invalid: "), stderr)
		}
	}
	assert.Assert(t, checked >= 4, "%d commands", checked)
	_, stderr, code := invoke(t, "ls", "--field-selector", "a")
	assert.Equal(t, code, util.ExitUsage, stderr)
}

// TestUnsupportedFieldSelector: a field that no context selects by is the user's mistake, as in
// kubectl, and not an outage.
func TestUnsupportedFieldSelector(t *testing.T) {
	from := []string{"ls", "-A", "--contexts", "management", "--from", exampleFleet}
	for _, output := range [][]string{nil, {"-o", "wide"}, {"-o", "json"}, {"-o", "name"}, {"-o", "name", "--no-headers"}, {"--summary"}} {
		out, stderr, code := invoke(t, slices.Concat(from, []string{"--field-selector", "foo.bar=train"}, output)...)
		assert.Equal(t, code, util.ExitError, stderr)
		assert.Equal(t, out, "")
		assert.Equal(t, stderr, `error: --field-selector "foo.bar=train": cannot list jobs in all namespaces: field label "foo.bar" not supported`+"\n")
	}
	out, stderr, code := invoke(t, append(from, "--field-selector", "status.successful=0")...)
	assert.Equal(t, code, util.ExitOK, out+stderr)
}

// TestSelectorThatMatchesNothing: every command says that a selector limited what it read, for every output format.
func TestSelectorThatMatchesNothing(t *testing.T) {
	for _, args := range []string{"check -A", "check -A -o junit", "check -A -o json", "trace -A", "trace -A --orphans", "history -A", "history -A -o csv"} {
		_, errOut, code := run(t, append(strings.Fields(args), "-l", "team=visoin", "--from", exampleFleet)...)
		assert.Equal(t, code, util.ExitOK, errOut)
		assert.Equal(t, strings.Count(errOut, "note: only Jobs that match --selector team=visoin were read\n"), 1, "%s: %s", args, errOut)
	}
	// The note follows what was not found, and is missing if something was.
	_, errOut, _ := run(t, "trace", "-n", "default", "--from", exampleFleet)
	assert.Equal(t, errOut, "No delegated Jobs, and no mirrors without an origin, found in namespace default\nnote: only namespace default was read; -A reads all namespaces\n")
	_, errOut, _ = run(t, "trace", "-n", "nosuch", "--from", exampleFleet)
	assert.Equal(t, strings.Count(errOut, "-A"), 1, errOut)
	_, errOut, _ = run(t, "check", "train", "--grace", "0s", "--from", recordings+"/wrong-queue")
	assert.Assert(t, !strings.Contains(errOut, "was read"), errOut)
}

// TestMissingNamespaceIsNotedLast: every command that finds nothing in a namespace that does not exist says so at the
// end, for every output format.
func TestMissingNamespaceIsNotedLast(t *testing.T) {
	for _, args := range []string{"ls", "ls -o json", "ls -o name", "trace", "trace -o json", "history", "history -o json", "queues", "queues -o json", "kinds", "kinds -o json"} {
		_, errOut, code := run(t, append(strings.Fields(args), "-n", "nosuch", "--all-contexts", "--from", exampleFleet)...)
		assert.Equal(t, code, util.ExitOK, errOut)
		lines := strings.Split(strings.TrimSpace(errOut), "\n")
		const note = `note: namespace "nosuch" does not exist in contexts management, worker-1, worker-2`
		assert.Assert(t, strings.HasPrefix(lines[len(lines)-1], note) && strings.Count(errOut, note) == 1, "%s: %s", args, errOut)
	}
}

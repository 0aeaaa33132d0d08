package cmd

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/fuzzfleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// FuzzReading: for any fleet, the reading commands print lines without control characters, and
// one document that fits its schema, and never panic.
func FuzzReading(f *testing.F) {
	skipIfShort(f)
	bases := []string{"running", "worker-lost", "unknown-owner", "cluster-removed-from-config", "pods-unschedulable", "origin-edited-while-running", "created-again-with-kueues-leftovers", "two-flavors"}
	for i := range bases {
		f.Add([]byte{byte(i * 32)})
		f.Add([]byte{byte(i * 32), 0xff, 0xc0, 0x80, 0x40, 0x00, 0xaa, 0x55})
	}
	schemas := map[string]*jsonschema.Schema{}
	for _, name := range []string{"findinglist", "trace", "tracelist", "ownerlist"} {
		compiled, err := jsonschema.NewCompiler().Compile("../../docs/schema/" + name + ".json")
		assert.NilError(f, err)
		schemas[name] = compiled
	}
	var source fuzzfleet.Source
	f.Fuzz(func(t *testing.T, data []byte) {
		r := fuzzfleet.Chance(data)
		base := bases[r.IntN(len(bases))]
		dir := source.Bundle(t, recordings+"/"+base, r)
		for _, args := range [][]string{
			{"check", "-A", "--grace", "0s"}, {"trace", "-A", "--orphans"}, {"trace", tracedJob(base), "-n", "default"}, {"ls", "-A", "--kinds", "all"},
		} {
			out, errOut, code := run(t, append(args, "--from", dir, "-o", "json")...)
			assert.Assert(t, slices.Contains([]int{util.ExitOK, util.ExitError, util.ExitFindings, util.ExitPartial}, code), "%d: %s", code, errOut)
			checkVisible(t, errOut)
			if out != "" {
				document, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
				assert.NilError(t, err, out)
				fields, _ := document.(map[string]any)
				kind, _ := fields["kind"].(string)
				assert.Assert(t, schemas[strings.ToLower(kind)] != nil, out)
				assert.NilError(t, schemas[strings.ToLower(kind)].Validate(document), out)
			}
			again, _, _ := run(t, append(args, "--from", dir, "-o", "json")...)
			assert.Equal(t, again, out)
			out, errOut, textCode := run(t, append(args, "--from", dir, "-o", "wide")...)
			assert.Equal(t, textCode, code)
			checkVisible(t, out)
			checkVisible(t, errOut)
		}
	})
}

// checkVisible checks that a text has no control characters but line ends.
func checkVisible(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		bad := strings.IndexFunc(line, func(r rune) bool { return !strconv.IsPrint(r) || unicode.Is(unicode.Bidi_Control, r) })
		assert.Assert(t, bad < 0, "%q", line)
	}
}

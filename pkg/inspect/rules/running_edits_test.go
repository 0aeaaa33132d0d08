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

// TestSinceOfLostLabel checks that a mirror without its label is reported since its status was last copied or, after its
// end, since that.
func TestSinceOfLostLabel(t *testing.T) {
	t.Parallel()
	for recording, since := range map[string]string{
		"many-edits-one-timed-out":        "2026-11-23T19:04:17Z",
		"mirror-without-multikueue-label": "2026-11-23T19:11:13Z",
	} {
		f := foundOnce(t, recording, "JM136", "a03-label")
		assert.Assert(t, f.Since != nil)
		assert.Equal(t, f.Since.UTC().Format(time.RFC3339), since, recording)
	}
}

// TestProvenSince checks that a finding has no date if nothing proves since when it is so, and otherwise the date of the
// last write.
func TestProvenSince(t *testing.T) {
	t.Parallel()
	suspended := patch("kwok-mgr", "Job/train", "{spec: {suspend: true}}")
	uncopied := patch("kwok-w1", "Job/train", "{status: {ready: 1, succeeded: 1, active: 1}}")
	written := func(context, subresource, at string) edit {
		return patch(context, "Job/train", `{metadata: {managedFields: [{manager: kubectl, operation: Update, subresource: "`+subresource+`", time: "`+at+`"}]}}`)
	}
	for name, tt := range map[string]struct {
		code  string
		edits []edit
		since string
	}{
		"suspended at an unknown time": {"JM041", []edit{suspended}, ""},
		"suspended":                    {"JM041", []edit{suspended, written("kwok-mgr", "", "2026-11-20T23:43:30Z")}, "23:43:30"},
		"not copied since unknown":     {"JM104", []edit{uncopied, written("kwok-mgr", "status", "2026-11-20T23:43:19Z")}, ""},
		"not copied":                   {"JM104", []edit{uncopied, written("kwok-w1", "status", "2026-11-20T23:43:31Z"), written("kwok-mgr", "status", "2026-11-20T23:43:19Z")}, "23:43:31"},
	} {
		t.Run(name, func(t *testing.T) {
			rule, _ := rules.ByCode(tt.code)
			f := findingOf(t, judge(t, testCase{base: "running", edits: tt.edits, later: time.Hour}.make(t), []rules.Rule{rule}, 0), tt.code)
			since := ""
			if f.Since != nil {
				since = f.Since.UTC().Format(time.TimeOnly)
			}
			assert.Equal(t, since, tt.since)
		})
	}
}

// TestChangedSize checks that the finding about a changed number of Pods names the field that can have changed, with its
// value, and how to restore the number.
func TestChangedSize(t *testing.T) {
	t.Parallel()
	const ignored = ", but it was admitted with 4 Pods: Kueue ignores the change while kwok-w1 runs it"
	rule, _ := rules.ByCode("JM125")
	for name, tt := range map[string]struct{ spec, message, remedy string }{
		"fewer, and the status is not copied": {
			"{parallelism: 2}", "changed to 2" + ignored + ", and does not copy its status",
			`set parallelism to 4 again, and Kueue copies the status again: ` + "`" + `kubectl --context kwok-mgr -n default patch job train --type=merge -p '{"spec":{"parallelism":4}}'`,
		},
		"fewer, and the status is copied": {
			"{parallelism: 2, suspend: false}", "changed to 2" + ignored,
			`set parallelism to 4 again: ` + "`" + `kubectl --context kwok-mgr -n default patch job train --type=merge -p '{"spec":{"parallelism":4}}'`,
		},
		"more than completions": {"{parallelism: 10, completions: 8}", "changed to 10 (8 Pods)" + ignored + ", and does not copy its status", "set parallelism to 4 again, "},
		"together with completions": {
			"{parallelism: 2, completions: 2, suspend: false}", "changed to 2" + ignored,
			`set parallelism and completions to 4 again: ` + "`" + `kubectl --context kwok-mgr -n default patch job train --type=merge -p '{"spec":{"completions":4,"parallelism":4}}'`,
		},
	} {
		f := findingOf(t, judge(t, testCase{base: editedOrigin, edits: []edit{patch("kwok-mgr", "Job/train", "{spec: "+tt.spec+"}")}}.make(t), []rules.Rule{rule}, 0), "JM125")
		assert.Equal(t, f.Message, "Job default/train: its parallelism on kwok-mgr was "+tt.message, name)
		assert.Assert(t, strings.HasPrefix(f.Remedy, tt.remedy), "%s: %s", name, f.Remedy)
	}
}

// TestTimeOfEdit checks that the time of an edit is that of its writer: Kueue writes to the mirror afterwards.
func TestTimeOfEdit(t *testing.T) {
	t.Parallel()
	f := foundOnce(t, "many-edits-one-timed-out", "JM036", "a02-par")
	assert.Assert(t, slices.ContainsFunc(f.Evidence, func(line string) bool {
		return strings.HasSuffix(line, "name kubectl-patch, last at 2026-11-23T19:04:24Z")
	}), "%q", f.Evidence)
}

// foundOnce returns the one finding with a code about a Job in a recording.
func foundOnce(t *testing.T, recording, code, job string) inspect.Finding {
	t.Helper()
	found := slices.DeleteFunc(judge(t, inventory(t, recordings+"/"+recording), rules.All(), 0), func(f inspect.Finding) bool {
		return f.Code != code || !slices.ContainsFunc(f.Jobs, func(r inspect.Ref) bool { return r.Name == job })
	})
	assert.Equal(t, len(found), 1, linesOf(found))
	return found[0]
}

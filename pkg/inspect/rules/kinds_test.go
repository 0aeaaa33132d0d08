package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// everyKind makes every kind of the table be read.
func everyKind() []string { return []string{"all", "pod", "statefulset", "leaderworkerset"} }

// TestSpecimensAreHealthy checks for every kind that MultiKueue can dispatch
// that a healthy object has no finding, even if its kind, or the kind of its
// owner, was not read.
func TestSpecimensAreHealthy(t *testing.T) {
	for _, s := range specimens() {
		states := map[string][]edit{"running": s.running(), "waiting": s.waiting()}
		if s.ended != "" {
			states["over"] = s.over()
		}
		for state, edits := range states {
			opened := open(t, testCase{base: "running", edits: edits}.bundle(t))
			t.Run(s.row.Name+" "+state+", alone", func(t *testing.T) {
				v := opened.traced(t, s.row.Name, s.name)
				assert.DeepEqual(t, judge(t, v, rules.All(), 0), []inspect.Finding{})
				assert.Assert(t, len(v.Facts("kwok-mgr").Jobs) == 1)
			})
			for read, kinds := range map[string][]string{"all kinds": everyKind(), "this kind": {s.row.Name}, "Jobs": nil} {
				t.Run(s.row.Name+" "+state+", "+read, func(t *testing.T) {
					v := opened.inventory(t, kinds...)
					assert.DeepEqual(t, judge(t, v, rules.All(), 0), []inspect.Finding{})
					isRead := slices.ContainsFunc(v.Facts("kwok-mgr").Jobs, func(j *inspect.Job) bool { return j.UID == s.uid() })
					assert.Equal(t, isRead, kinds != nil)
					if isRead && state == "running" {
						checkPair(t, v, s)
					}
				})
			}
		}
	}
}

// checkPair checks the status of a running specimen and its mirror.
func checkPair(t *testing.T, v *inspect.Inventory, s specimen) {
	t.Helper()
	for _, p := range v.Pairs.Pairs {
		if p.Origin.UID != s.uid() {
			continue
		}
		assert.Equal(t, len(p.Mirrors), 1)
		assert.Assert(t, p.Mirrors[0].Current)
		assert.Equal(t, p.Mirrors[0].Job.Status, delegation.Running)
		if !s.row.NoStatusSync {
			assert.Equal(t, p.Origin.Status, delegation.Running)
		}
		return
	}
	t.Error("the mirror is in no pair")
}

// TestKindFindings shows the findings of all rules about every kind when
// something is wrong with it.
func TestKindFindings(t *testing.T) {
	var text strings.Builder
	for _, c := range kindCases() {
		if !c.fires {
			continue
		}
		fmt.Fprintf(&text, "# %s %s\n", c.code, c.name)
		for _, f := range judge(t, c.inventory(t), rules.All(), 0) {
			fmt.Fprintf(&text, "%s %s %s %s %s/%s: %s\n", f.Code, f.Severity, f.Context, f.Kind, f.Namespace, f.Name, f.Message)
			for _, e := range f.Evidence {
				fmt.Fprintf(&text, "  seen  %s\n", e)
			}
			fmt.Fprintf(&text, "  do    %s\n", f.Remedy)
		}
		text.WriteString("\n")
	}
	golden.Assert(t, text.String(), "kinds.txt")
}

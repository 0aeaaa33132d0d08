package cmd

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/rbactest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// TestChainWithoutEachRight: a user without one of the reading rights sees the same chain
// of a Job, the same clusters for it and the same quota as a user with all rights, or less
// and a message about it.
func TestChainWithoutEachRight(t *testing.T) {
	skipIfShort(t)
	all := rights.Of(rights.LookSecrets)
	for _, name := range []string{"running", "strict-fifo-head-blocks"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runAs := func(lacks rights.Right, verb string, args ...string) (text, errOut string, refused bool) {
				var mu sync.Mutex
				kubeconfig := guarded(t, filepath.Join(recordings, name), func(r rbactest.Request) bool {
					taken := lacks
					taken.Verbs = []string{verb}
					is := r.AllowedBy(all) && !r.AllowedBy([]rights.Right{taken})
					mu.Lock()
					defer mu.Unlock()
					refused = refused || !is
					return is
				})
				text, errOut, code := run(t, append(args, "-o", "json", "--kubeconfig", kubeconfig)...)
				assert.Assert(t, code == util.ExitOK || code == util.ExitPartial || code == util.ExitFailed, "%s %s: %s", verb, lacks.Resource, errOut)
				// Printed commands name it.
				return strings.ReplaceAll(text, kubeconfig, "KUBECONFIG"), errOut, refused
			}
			for _, args := range [][]string{{"trace", tracedJob(name), "-n", "default"}, {"queues", "--all-contexts"}} {
				full, _, _ := runAs(rights.Right{}, "", args...)
				for _, r := range all {
					for _, verb := range r.Verbs {
						if verb == "watch" {
							continue // Nothing is watched in a bundle.
						}
						what := "without " + verb + " " + r.Resource.String() + strings.Join(r.Names, " ") + ", " + args[0]
						text, errOut, refused := runAs(r, verb, args...)
						if !refused {
							continue
						}
						// Without UIDs, addresses identify the clusters; trace gets other
						// namespaces.
						isLost := r.Resource.Resource != "namespaces"
						assert.Check(t, !isLost || text == full || strings.Contains(strings.ToLower(text+errOut), "may not") || strings.Contains(strings.ToLower(text+errOut), "forbidden"), "%s tells: %s", what, text[max(0, len(text)-900):]+errOut)
						if args[0] == "queues" {
							checkLessOfTheQuota(t, what, text, full)
						} else {
							checkLessOfTheTrace(t, what, text, full)
						}
					}
				}
			}
		})
	}
}

// checkLessOfTheTrace checks that the full trace has everything that a trace shows, unless the
// trace shows it as unknown.
func checkLessOfTheTrace(t *testing.T, what, text, full string) {
	t.Helper()
	if text == "" {
		return // An error, which is printed.
	}
	var less, all inspect.Trace
	assert.NilError(t, json.Unmarshal([]byte(text), &less))
	assert.NilError(t, json.Unmarshal([]byte(full), &all))
	isUnknown := func(state string) bool {
		return slices.Contains([]string{"Forbidden", "Unknown", "Unreachable"}, state)
	}
	for _, h := range less.Hops {
		isThere := slices.ContainsFunc(all.Hops, func(o inspect.Hop) bool {
			return h.Kind == o.Kind && h.Name == o.Name && h.Context == o.Context && h.State == o.State
		})
		assert.Check(t, isThere || isUnknown(h.State), "%s shows %s %s on %s as %s: %s", what, h.Kind, h.Name, h.Context, h.State, h.Message)
	}
	for _, p := range less.Placements {
		isThere := slices.ContainsFunc(all.Placements, func(o inspect.Placement) bool { return p.Cluster == o.Cluster && p.Verdict == o.Verdict })
		assert.Check(t, isThere || p.Verdict == inspect.Unknown, "%s says that it %s on %s: %s", what, p.Verdict, p.Context, p.Message)
	}
	for _, m := range less.Mirrors {
		assert.Check(t, slices.ContainsFunc(all.Mirrors, func(o inspect.TraceMirror) bool { return m.UID == o.UID && m.Relation == o.Relation }), "%s takes %s for a mirror", what, m.UID)
	}
	for _, f := range less.Findings {
		assert.Check(t, slices.ContainsFunc(all.Findings, func(o inspect.Finding) bool { return f.Name == o.Name && f.Context == o.Context }), "%s finds %s", what, f.Code)
	}
}

// checkLessOfTheQuota checks that each number of queues is that of the full output, or null.
func checkLessOfTheQuota(t *testing.T, what, text, full string) {
	t.Helper()
	rowsOf := func(text string) map[string]map[string]any {
		rows := map[string]map[string]any{}
		if text == "" {
			return rows
		}
		var list struct{ Items []map[string]any }
		assert.NilError(t, json.Unmarshal([]byte(text), &list))
		for _, row := range list.Items {
			rows[strings.Join([]string{row["context"].(string), row["kind"].(string), row["name"].(string), row["flavor"].(string), row["resource"].(string)}, " ")] = row
		}
		return rows
	}
	all := rowsOf(full)
	for key, row := range rowsOf(text) {
		for field, value := range row {
			isSame := value == nil || reflect.DeepEqual(value, all[key][field])
			assert.Check(t, isSame || field == "workers" || field == "clusterUID" && value == "", "%s says of %s that %s is %v, not %v", what, key, field, value, all[key][field])
		}
	}
}

package cmd

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// withDeadWorker serves the example fleet: worker-2 rejects all credentials, and Pods on worker-1
// have logs.
func withDeadWorker(t *testing.T) []string {
	t.Helper()
	return serveWithHooks(t, exampleFleet, map[string]func(http.ResponseWriter, *http.Request) bool{
		"worker-1": func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, "/log") {
				return false
			}
			answered(200, "text/plain", "one\n")(w, r)
			return true
		},
		"worker-2": func(w http.ResponseWriter, r *http.Request) bool {
			answered(401, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}`)(w, r)
			return true
		},
	})
}

// TestUnneededContexts: a context that the answer does not need causes a note, and no exit code.
func TestUnneededContexts(t *testing.T) {
	const note = "note: context \"worker-2\": cannot reach the cluster: the server rejects these credentials. "
	flags := append(withDeadWorker(t), "-n", "ml")
	out, errOut, code := run(t, append(flags, "logs", "train")...)
	assert.Equal(t, code, util.ExitOK, errOut)
	assert.Assert(t, strings.Contains(out, "one\n"), out)
	assert.Equal(t, strings.Count(errOut, "worker-2"), 1, errOut)
	assert.Assert(t, strings.Contains(errOut, note) && !strings.Contains(errOut, "error:"), errOut)

	// The stream itself fails here, because nothing serves it.
	_, errOut, _ = run(t, append(flags, "exec", "train", "--", "true")...)
	assert.Assert(t, strings.Contains(errOut, note) && !strings.Contains(errOut, "error: context"), errOut)

	// The Job may run there.
	_, errOut, code = run(t, append(flags, "logs", "score", "-n", "vision")...)
	assert.Assert(t, code != util.ExitOK && strings.Contains(errOut, note), errOut)
}

// TestUncheckedOfLists: every list has in JSON what it depends on and could not be read.
func TestUncheckedOfLists(t *testing.T) {
	skipIfShort(t)
	for _, args := range [][]string{
		{"ls", "-A"},
		{"ls", "-A", "--summary"},
		{"ls", "-A", "--reason"},
		{"queues"},
		{"queues", "-A"},
		{"queues", "--summary"},
		{"kinds", "-A"},
		{"trace", "-A"},
		{"check", "-A", "--fail-on", "none"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			out, errOut, code := run(t, append(append(withDeadWorker(t), args...), "-o", "json", "--contexts", "management,worker-1,worker-2")...)
			assert.Equal(t, code, util.ExitPartial, errOut)
			unchecked := uncheckedIn(t, out)
			assert.Assert(t, len(unchecked) > 0, out)
			assert.Equal(t, unchecked[0].What, inspect.Everything)
			assert.DeepEqual(t, unchecked[0].Contexts, []string{"worker-2"})
			assert.Assert(t, strings.Contains(unchecked[0].Reason, "the server rejects these credentials"), out)

			out, errOut, _ = run(t, append(args, "-o", "json", "--all-contexts", "--from", exampleFleet)...)
			assert.Equal(t, len(uncheckedIn(t, out)), 0, errOut)
			assert.Assert(t, strings.Contains(out, `"unchecked": []`), out)
		})
	}
}

// TestUncheckedOfRefusals: all refusals of a context are one entry.
func TestUncheckedOfRefusals(t *testing.T) {
	flags := serveWithHooks(t, exampleFleet, map[string]func(http.ResponseWriter, *http.Request) bool{
		"worker-2": func(w http.ResponseWriter, r *http.Request) bool {
			resource := path.Base(r.URL.Path)
			if !slices.Contains([]string{"cohorts", "clusterqueues"}, resource) {
				return false
			}
			answered(403, "application/json", fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"details":{"kind":%q}}`, resource))(w, r)
			return true
		},
	})
	out, errOut, code := run(t, append(flags, "queues", "-o", "json", "--contexts", "management,worker-2")...)
	assert.Equal(t, code, util.ExitPartial, errOut)
	assert.DeepEqual(t, uncheckedIn(t, out), []inspect.Unchecked{{What: "clusterqueues", Contexts: []string{"worker-2"}, Reason: "you may not read them"}})
}

func uncheckedIn(t *testing.T, out string) []inspect.Unchecked {
	t.Helper()
	var list struct {
		Unchecked []inspect.Unchecked `json:"unchecked"`
	}
	assert.NilError(t, json.Unmarshal([]byte(out), &list), out)
	return list.Unchecked
}

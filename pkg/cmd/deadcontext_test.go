package cmd

import (
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// withDeadWorker serves the example fleet: worker-2 rejects all credentials, and Pods on
// worker-1 have logs.
func withDeadWorker(t *testing.T) []string {
	t.Helper()
	return twisted(t, exampleFleet, map[string]func(http.ResponseWriter, *http.Request) bool{
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

// A context that the answer does not need costs a note, and no exit code.
func TestUnneededContexts(t *testing.T) {
	const note = "note: context \"worker-2\": cannot reach the cluster: the server rejects these credentials. "
	flags := append(withDeadWorker(t), "-n", "ml")
	out, errOut, code := run(t, append(flags, "logs", "train")...)
	assert.Equal(t, code, util.ExitOK, errOut)
	assert.Assert(t, strings.Contains(out, "one\n"), out)
	assert.Equal(t, strings.Count(errOut, "worker-2"), 1, errOut)
	assert.Assert(t, strings.Contains(errOut, note) && !strings.Contains(errOut, "error:"), errOut)

	// The stream itself fails here: nothing serves it.
	_, errOut, _ = run(t, append(flags, "exec", "train", "--", "true")...)
	assert.Assert(t, strings.Contains(errOut, note) && !strings.Contains(errOut, "error: context"), errOut)

	// It may be where the Job runs.
	_, errOut, code = run(t, append(flags, "logs", "score", "-n", "vision")...)
	assert.Assert(t, code != util.ExitOK && strings.Contains(errOut, note), errOut)
}

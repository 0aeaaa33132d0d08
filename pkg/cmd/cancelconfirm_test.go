package cmd

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// cancelled runs cancel for a dispatched Job whose API servers record what is written, and answer a write
// with what they got.
func cancelled(t *testing.T, args ...string) (out, errOut string, code int, writes []string) {
	t.Helper()
	var lock sync.Mutex
	kubeconfig := serve(t, filepath.Join(recordings, "dispatch-origin-in-multikueue-queue"), func(context string, w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet || strings.Contains(r.URL.Path, "selfsubject") {
			return false
		}
		var object map[string]any
		assert.Check(t, json.NewDecoder(r.Body).Decode(&object))
		dryRun := r.URL.Query().Get("dryRun")
		if r.Method == http.MethodDelete {
			tried, _, _ := unstructured.NestedStringSlice(object, "dryRun")
			dryRun = strings.Join(tried, ",")
			object = map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Success"}
		} else {
			object["apiVersion"], object["kind"] = "batch/v1", "Job"
		}
		lock.Lock()
		writes = append(writes, context+" "+r.Method+" dryRun="+dryRun)
		lock.Unlock()
		w.Header().Set("Content-Type", "application/json")
		assert.Check(t, json.NewEncoder(w).Encode(object))
		return true
	})
	out, errOut, code = run(t, append([]string{"cancel", "--kubeconfig", kubeconfig, "--context", "kwok-mgr", "-n", "disp"}, args...)...)
	return out, errOut, code, writes
}

// TestCancelAsks: without a terminal, cancel needs --yes or --dry-run, and a dry run changes nothing.
func TestCancelAsks(t *testing.T) {
	_, errOut, code, writes := cancelled(t, "d1")
	assert.Equal(t, code, util.ExitUsage, errOut)
	assert.Check(t, strings.Contains(errOut, "cancel must ask before it ends dispatches, but standard input is not a terminal. Confirm with --yes, or preview with --dry-run"), errOut)
	assert.Equal(t, len(writes), 0)

	var out string
	out, errOut, code, writes = cancelled(t, "d1", "--dry-run")
	assert.Equal(t, code, util.ExitOK, errOut)
	assert.Equal(t, out, "job disp/d1 would fail with reason DispatchCancelled; its mirror disp/d1 on kwok-w2 would be deleted (dry run)\n")
	assert.Equal(t, len(writes), 0, "%v", writes)

	out, errOut, code, writes = cancelled(t, "d1", "--dry-run=server")
	assert.Equal(t, code, util.ExitOK, errOut)
	assert.Assert(t, strings.HasSuffix(out, "(server dry run)\n"), out)
	assert.DeepEqual(t, writes, []string{"kwok-w2 DELETE dryRun=All", "kwok-mgr PATCH dryRun=All"})

	_, errOut, code, writes = cancelled(t, "d1", "--yes")
	assert.Assert(t, len(writes) > 2, "%v %d %s", writes, code, errOut)
	assert.DeepEqual(t, writes[:3], []string{"kwok-w2 DELETE dryRun=All", "kwok-mgr PATCH dryRun=", "kwok-w2 DELETE dryRun="})

	for _, args := range [][]string{{"--dry-run=maybe"}, {"--dry-run", "-o", "json"}} {
		_, errOut, code, writes = cancelled(t, append(args, "d1")...)
		assert.Equal(t, code, util.ExitUsage, errOut)
		assert.Equal(t, len(writes), 0)
	}
}

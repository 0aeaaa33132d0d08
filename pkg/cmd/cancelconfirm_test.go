package cmd

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// cancelled runs cancel for a dispatched Job whose API servers record what is written, and answer a write
// with what they got.
func cancelled(t *testing.T, args ...string) (out, errOut string, code int, writes []string) {
	t.Helper()
	kubeconfig, recorded := recordWrites(t, func(string, http.ResponseWriter) bool { return false })
	out, errOut, code = run(t, append([]string{"cancel", "--kubeconfig", kubeconfig, "--context", "kwok-mgr", "-n", "disp"}, args...)...)
	return out, errOut, code, recorded()
}

// recordWrites serves a dispatched Job, and records the writes. answer may answer a write instead.
func recordWrites(t *testing.T, answer func(write string, w http.ResponseWriter) bool) (kubeconfig string, recorded func() []string) {
	t.Helper()
	var lock sync.Mutex
	var writes []string
	kubeconfig = serve(t, filepath.Join(recordings, "dispatch-origin-in-multikueue-queue"), func(at string, w http.ResponseWriter, r *http.Request) bool {
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
		write := at + " " + r.Method + " dryRun=" + dryRun
		lock.Lock()
		writes = append(writes, write)
		lock.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if !answer(write, w) {
			assert.Check(t, json.NewEncoder(w).Encode(object))
		}
		return true
	})
	return kubeconfig, func() []string {
		lock.Lock()
		defer lock.Unlock()
		return writes
	}
}

// TestInterruptedCancel: if Ctrl-C follows the end of the Job, cancel still deletes the mirror. If it cannot, it says
// that the mirror may still run.
func TestInterruptedCancel(t *testing.T) {
	ctx, interrupt := context.WithCancelCause(t.Context())
	kubeconfig, recorded := recordWrites(t, func(write string, w http.ResponseWriter) bool {
		switch write {
		case "kwok-mgr PATCH dryRun=":
			interrupt(&util.SignalError{Signal: syscall.SIGINT})
		case "kwok-w2 DELETE dryRun=":
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "no"}`))
			return true
		}
		return false
	})
	var out, errOut bytes.Buffer
	root, _ := newRootCommand(util.Environment{
		IOStreams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut}, Program: "kubectl-jobs_managedby",
		Args:      []string{"cancel", "d1", "--yes", "--kubeconfig", kubeconfig, "--context", "kwok-mgr", "-n", "disp", "--cache-dir", t.TempDir()},
		LookupEnv: func(string) (string, bool) { return "", false }, Clock: &skippingClock{},
	})
	code := exitCode(&errOut, root.ExecuteContext(ctx), command.Reach{})
	assert.Equal(t, code, util.ExitError, errOut.String())
	assert.DeepEqual(t, recorded(), []string{"kwok-w2 DELETE dryRun=All", "kwok-mgr PATCH dryRun=", "kwok-w2 DELETE dryRun="})
	assert.Check(t, strings.Contains(out.String(), "interrupted; requesting the deletion of its mirror on kwok-w2 first"), out.String())
	assert.Check(t, strings.Contains(errOut.String(), "error: job disp/d1: its mirror may still run on kwok-w2: "), errOut.String())
	assert.Check(t, strings.Contains(errOut.String(), "`kubectl --context kwok-w2 -n disp delete job d1` removes it"), errOut.String())
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

package cmd

import (
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestWaitsForRunningPod checks that exec waits for a Job that no cluster runs so far, and for a
// cluster that does not answer for a moment, until --pod-running-timeout.
func TestWaitsForRunningPod(t *testing.T) {
	const absent = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found", "details": {"name": "train", "group": "batch", "kind": "jobs"}}`
	const overloaded = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "ServiceUnavailable", "code": 503, "message": "try again"}`
	for name, tt := range map[string]struct {
		// resource is what the worker answers with answer and code in the first requests.
		resource, answer string
		code             int
		timeout          string
		isFound          bool
		want             string
	}{
		"no place so far":      {"jobs/train", absent, 404, "30s", true, "note: waiting 30s for a running Pod: "},
		"no place at all":      {"jobs/train", absent, 404, "1ms", false, "train has no running Pod: "},
		"no answer for a time": {"pods", overloaded, 503, "30s", true, "note: waiting 30s for a running Pod: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			var command atomic.Bool
			kubeconfig := serve(t, filepath.Join(recordings, "running"), func(context string, w http.ResponseWriter, r *http.Request) bool {
				switch {
				case strings.HasSuffix(r.URL.Path, "/exec"):
					command.Store(true)
					http.Error(w, "no kubelet", http.StatusBadRequest)
					return true
				case context != "kwok-w1" || !strings.HasSuffix(r.URL.Path, "/"+tt.resource) || r.URL.Query().Has("watch"):
					return false
				}
				if asked.Add(1) > 2 && tt.isFound {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tt.code)
				_, err := w.Write([]byte(tt.answer))
				return err == nil
			})
			_, errOut, code := run(t, "exec", "train", "-n", "default", "--kubeconfig", kubeconfig, "--pod-running-timeout", tt.timeout, "--", "true")
			assert.Equal(t, code, util.ExitError, errOut)
			assert.Check(t, strings.Contains(errOut, tt.want), errOut)
			assert.Equal(t, command.Load(), tt.isFound, "whether a Pod got the command: %s", errOut)
		})
	}
}

// TestNoWaitForUnreadCluster checks that exec and port-forward fail at once, as logs does, if the Pods are
// on a cluster that they cannot read.
func TestNoWaitForUnreadCluster(t *testing.T) {
	kubeconfig := serve(t, filepath.Join(recordings, "running"), func(context string, w http.ResponseWriter, r *http.Request) bool {
		if context == "kwok-w1" {
			answered(401, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}`)(w, r)
		}
		return context == "kwok-w1"
	})
	for _, args := range [][]string{{"exec", "train", "--pod-running-timeout", "2s", "--", "true"}, {"port-forward", "train", "8080", "--pod-running-timeout", "2s"}} {
		_, errOut, code := run(t, append([]string{"-n", "default", "--kubeconfig", kubeconfig}, args...)...)
		assert.Equal(t, code, util.ExitError, errOut)
		assert.Check(t, strings.Contains(errOut, "train has no running Pod: ") && !strings.Contains(errOut, "waiting"), errOut)
	}
}

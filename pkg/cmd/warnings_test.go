package cmd

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestWarningsAsErrors: as in kubectl, a warning of any context's server makes a call with
// --warnings-as-errors fail.
func TestWarningsAsErrors(t *testing.T) {
	warns := func(text string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if text != "" {
				w.Header().Set("Warning", fmt.Sprintf("299 - %q", text))
			}
			w.Header().Set("Content-Type", "application/json")
			if strings.HasSuffix(r.URL.Path, "/jobs") {
				_, _ = fmt.Fprint(w, `{"apiVersion": "batch/v1", "kind": "JobList", "metadata": {}, "items": []}`)
				return
			}
			w.WriteHeader(http.StatusNotFound)
			_, _ = fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}`)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	kubeconfig(t, "silent", map[string]string{"silent": warns(""), "old": warns("batch/v1 is old"), "older": warns("batch/v1 is older")})
	for _, tt := range []struct {
		name, contexts, want string
		code                 int
	}{
		{"none", "silent", "", util.ExitOK},
		{"one", "silent,old", "error: 1 warning received", util.ExitError},
		{"of several contexts", "silent,old,older", "error: 2 warnings received", util.ExitError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, stderr, code := runIn(t, "kubectl-jobs_managedby", nil, "ls", "--contexts", tt.contexts)
			assert.Equal(t, code, util.ExitOK, stderr)
			assert.Equal(t, strings.Contains(stderr, "is old"), tt.want != "", stderr)
			_, stderr, code = runIn(t, "kubectl-jobs_managedby", nil, "ls", "--contexts", tt.contexts, "--warnings-as-errors")
			assert.Equal(t, code, tt.code, stderr)
			assert.Assert(t, strings.Contains(stderr, tt.want), stderr)
		})
	}
}

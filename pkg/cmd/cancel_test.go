package cmd

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestCancelToItsOwnCluster: a --to that has no cluster to search is refused, before any request.
func TestCancelToItsOwnCluster(t *testing.T) {
	kubeconfig := serve(t, filepath.Join(recordings, "running"), func(_ string, _ http.ResponseWriter, r *http.Request) bool {
		t.Errorf("%s %s", r.Method, r.URL)
		return false
	})
	_, errOut, code := run(t, "cancel", "train", "--to", "kwok-mgr", "--kubeconfig", kubeconfig)
	assert.Equal(t, code, util.ExitUsage, errOut)
	assert.Check(t, strings.Contains(errOut, `--to kwok-mgr names only the cluster of the Job, context "kwok-mgr"`), errOut)
}

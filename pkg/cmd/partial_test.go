package cmd

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestUnreadContextsCount checks that all commands count the contexts that reach the same cluster once.
func TestUnreadContextsCount(t *testing.T) {
	path := serve(t, filepath.Join(recordings, "running"), func(context string, w http.ResponseWriter, r *http.Request) bool {
		if context == "kwok-w2" {
			answered(401, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}`)(w, r)
		}
		return context == "kwok-w2"
	})
	config, err := clientcmd.LoadFromFile(path)
	assert.NilError(t, err)
	config.Contexts["same"] = config.Contexts["kwok-w1"].DeepCopy()
	assert.NilError(t, clientcmd.WriteToFile(*config, path))
	for _, args := range []string{"ls -A", "kinds -A", "queues", "queues --pending -A", "trace -A"} {
		_, errOut, code := run(t, append(strings.Fields(args), "--kubeconfig", path, "--all-contexts")...)
		assert.Check(t, code == util.ExitPartial && strings.Contains(errOut, "1 of 3 contexts were not read"), "%s: %s", args, errOut)
	}
}

package cmd

import (
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestProbeFlags: a call of doctor --probe that makes no sense is refused before any request.
func TestProbeFlags(t *testing.T) {
	for _, tt := range []struct{ args, message string }{
		{"--queue gpu", "--queue requires --probe"},
		{"--all-workers", "--all-workers requires --probe"},
		{"--dry-run", "--dry-run requires --probe"},
		{"--probe --from x", "--probe cannot be combined with --from"},
		{"--probe --suppress JM405", "--suppress is for findings"},
		{"--probe --no-headers", "--no-headers cannot be combined with --probe"},
		{"--probe --timeout 0s", "--timeout must be positive"},
		{"--probe --dry-run=maybe", `--dry-run must be none, client or server, not "maybe"`},
		{"--probe --image=", `--image "" is not an image`},
		{"--probe --requests cpu=lots", `"lots" is not a quantity`},
	} {
		_, want, code := run(t, append([]string{"doctor"}, strings.Fields(tt.args)...)...)
		assert.Check(t, code == util.ExitUsage && strings.Contains(want, tt.message), "%s: exit code %d, %s", tt.args, code, want)
	}
}

// TestProbeWithoutQueue: if no queue uses MultiKueue, the error lists the existing queues.
func TestProbeWithoutQueue(t *testing.T) {
	kubeconfig := serve(t, setUp(t, nil), func(string, http.ResponseWriter, *http.Request) bool { return false })
	_, errOut, code := run(t, "doctor", "--probe", "-n", "none", "--kubeconfig", kubeconfig)
	assert.Equal(t, code, util.ExitError, errOut)
	assert.Check(t, strings.Contains(errOut, "no LocalQueue in namespace none uses MultiKueue"), errOut)
	_, errOut, code = run(t, "doctor", "--probe", "--kubeconfig", kubeconfig)
	assert.Equal(t, code, util.ExitUsage, errOut)
	assert.Check(t, strings.Contains(errOut, "LocalQueues use MultiKueue: "), errOut)
}

// TestProbeOfUnreadQueues: contexts that were not read may have the queue, so the answer is unknown, and the error says
// why.
func TestProbeOfUnreadQueues(t *testing.T) {
	kubeconfig(t, "management", map[string]string{"management": nowhere, "worker-1": nowhere})
	for args, want := range map[string]string{
		"-n ml --queue gpu": "error: cannot tell whether LocalQueue gpu in namespace ml uses MultiKueue\n",
		"":                  "error: cannot tell whether any LocalQueue uses MultiKueue\n",
	} {
		_, errOut, code := run(t, append([]string{"doctor", "--probe"}, strings.Fields(args)...)...)
		assert.Equal(t, code, util.ExitPartial, errOut)
		assert.Check(t, strings.Contains(errOut, `error: context "management": `) && strings.Contains(errOut, "connection refused"), errOut)
		assert.Check(t, strings.HasSuffix(errOut, want), errOut)
	}
	forbidden := serve(t, setUp(t, nil), func(_ string, w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/localqueues") {
			http.Error(w, "", http.StatusForbidden)
			return true
		}
		return false
	})
	_, errOut, code := run(t, "doctor", "--probe", "-n", "default", "--kubeconfig", forbidden)
	assert.Equal(t, code, util.ExitPartial, errOut)
	assert.Check(t, strings.HasSuffix(errOut, "error: cannot tell whether any LocalQueue in namespace default uses MultiKueue. If you may not list queues, name yours with -n and --queue\n"), errOut)
}

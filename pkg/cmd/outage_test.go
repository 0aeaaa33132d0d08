package cmd

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestWatchingOneJobWithoutAnAnswer: check and trace keep watching a Job while the only cluster that
// has it does not answer, and end once it is deleted. A finding of that Job is not cleared.
func TestWatchingOneJobWithoutAnAnswer(t *testing.T) {
	for command, outage := range map[string]string{
		"check": "not checked: context kwok-mgr",
		"trace": "this is the last known state",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			args := []string{command, "train", "--context-timeout", "5s"}
			program, file := collector(t, "")
			if command == "check" {
				args = append(args, "--grace", "0s", "--exec", program)
			}
			f := newWatchedFleet(t, filepath.Join(recordings, "no-queue-name"))
			w := f.follow(args...)
			w.until("it has looked", func() bool { return w.clock.count() == 1 })
			w.rest(2)
			start := f.stopServer("kwok-mgr")
			w.restUntil("it reports the outage", func() bool {
				return strings.Contains(w.out.String(), outage)
			})
			w.rest(3)
			assert.Assert(t, !strings.Contains(strings.Join(collected(t, file), ""), " cleared "), collected(t, file))
			start()
			w.restUntil("it ends", func() bool {
				// Some watches may begin after an event was sent.
				f.send("kwok-mgr", "/apis/batch/v1/namespaces/default/jobs", "DELETED")
				return strings.Contains(w.errOut.String(), "not found in namespace")
			})
			assert.Equal(t, w.stop(), util.ExitError)
		})
	}
}

// TestProbeTriesWorkersOnly: the dry runs of --all-workers reach no cluster that is not known to be a
// worker of the queue. In the recording, no context has the address of a worker.
func TestProbeTriesWorkersOnly(t *testing.T) {
	var mu sync.Mutex
	written := map[string]bool{}
	note := func(context string, r *http.Request) {
		if r.Method == http.MethodPost && !strings.Contains(r.URL.Path, "authorization.k8s.io") {
			mu.Lock()
			defer mu.Unlock()
			written[context] = true
		}
	}
	kubeconfig := serve(t, setUp(t, nil), func(context string, _ http.ResponseWriter, r *http.Request) bool {
		note(context, r)
		return false
	})
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note("elsewhere", r)
		answered(http.StatusForbidden, "application/json", `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)(w, r)
	}))
	t.Cleanup(other.Close)
	config, err := clientcmd.LoadFromFile(kubeconfig)
	assert.NilError(t, err)
	config.Clusters["elsewhere"] = &clientcmdapi.Cluster{Server: other.URL}
	config.Contexts["elsewhere"] = &clientcmdapi.Context{Cluster: "elsewhere", AuthInfo: "admin", Namespace: "default"}
	assert.NilError(t, clientcmd.WriteToFile(*config, kubeconfig))

	out, errOut, _ := run(t, "doctor", "--probe", "--all-workers", "--dry-run", "-n", "default", "--queue", "user-queue", "--kubeconfig", kubeconfig)
	assert.Assert(t, len(written) == 0 && strings.Contains(out, "worker1: no known context reaches it"), "%v %s%s", written, out, errOut)
}

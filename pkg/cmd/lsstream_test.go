package cmd

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
)

// TestNamesComeWhilePagesArrive: a name is printed before the page behind it has come.
func TestNamesComeWhilePagesArrive(t *testing.T) {
	isRead := make(chan struct{})
	job := `{"metadata":{"namespace":"ns","name":%q,"uid":%q}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/namespaces/kube-system"):
			_, _ = io.WriteString(w, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"kube-system","uid":"c"}}`)
		case r.URL.Path != "/apis/batch/v1/jobs":
			http.NotFound(w, r)
		case r.URL.Query().Get("continue") == "":
			_, _ = fmt.Fprintf(w, jobList, "more", fmt.Sprintf(job, "first", "u1"))
		default:
			select {
			case <-isRead:
			case <-r.Context().Done():
			}
			_, _ = fmt.Fprintf(w, jobList, "", fmt.Sprintf(job, "second", "u2"))
		}
	}))
	defer server.Close()
	in, out := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- Run(util.Environment{
			IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: io.Discard},
			Program:   "kubectl-jobs_managedby", LookupEnv: func(string) (string, bool) { return "", false }, Clock: clock.RealClock{},
			Args: []string{"ls", "-A", "-o", "name", "--no-headers", "--server", server.URL, "--cache-dir", t.TempDir()},
		})
		_ = out.Close()
	}()
	lines := bufio.NewScanner(in)
	assert.Assert(t, lines.Scan())
	assert.Equal(t, lines.Text(), "job.batch/first")
	close(isRead)
	assert.Assert(t, lines.Scan())
	assert.Equal(t, lines.Text(), "job.batch/second")
	assert.Assert(t, !lines.Scan())
	assert.Equal(t, <-code, util.ExitOK)
}

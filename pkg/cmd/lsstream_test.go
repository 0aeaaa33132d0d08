package cmd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// TestRowsArePrintedBeforeNextPage: a row is printed before the next page has arrived. In a watch
// this holds for Jobs that are not delegated, because where the others run is known only when all
// are read.
func TestRowsArePrintedBeforeNextPage(t *testing.T) {
	for args, want := range map[string][]string{
		"ls -A -o name --no-headers": {"job.batch/first", "job.batch/away", "job.batch/second"},
		"ls -A -o name -w":           {"job.batch/first", "job.batch/second", "job.batch/away"},
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			isRead := make(chan struct{})
			server := pagedJobs(t, isRead)
			in, out := io.Pipe()
			ctx, interrupt := context.WithCancelCause(t.Context())
			defer interrupt(nil)
			code := make(chan int, 1)
			root, _ := newRootCommand(util.Environment{
				IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: io.Discard},
				Program:   "kubectl-jobs_managedby", LookupEnv: func(string) (string, bool) { return "", false }, Clock: clock.RealClock{},
				Args: append(strings.Fields(args), "--server", server.URL, "--cache-dir", t.TempDir()),
			})
			go func() {
				code <- exitCode(io.Discard, root.ExecuteContext(ctx), command.Reach{})
				_ = out.Close()
			}()
			lines := bufio.NewScanner(in)
			for i, line := range want {
				assert.Assert(t, lines.Scan())
				assert.Equal(t, lines.Text(), line)
				if i == 0 {
					close(isRead)
				}
			}
			if strings.HasSuffix(args, "-w") {
				interrupt(&util.SignalError{Signal: syscall.SIGINT})
				assert.Equal(t, <-code, 130)
				return
			}
			assert.Assert(t, !lines.Scan())
			assert.Equal(t, <-code, util.ExitOK)
		})
	}
}

// pagedJobs serves a list of Jobs, the second page only after the first is read.
func pagedJobs(t *testing.T, isRead <-chan struct{}) *httptest.Server {
	t.Helper()
	const job = `{"metadata":{"namespace":"ns","name":%q,"uid":%q},"spec":{"managedBy":%q}}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/namespaces/kube-system"):
			_, _ = io.WriteString(w, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"kube-system","uid":"c"}}`)
		case r.URL.Path != "/apis/batch/v1/jobs":
			http.NotFound(w, r)
		case r.URL.Query().Get("watch") != "":
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case r.URL.Query().Get("continue") == "":
			_, _ = fmt.Fprintf(w, jobList, "more", fmt.Sprintf(job, "first", "u1", "")+","+fmt.Sprintf(job, "away", "u2", "example.com/x"))
		default:
			select {
			case <-isRead:
			case <-r.Context().Done():
			}
			_, _ = fmt.Fprintf(w, jobList, "", fmt.Sprintf(job, "second", "u3", ""))
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server
}

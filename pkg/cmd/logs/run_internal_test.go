package logs

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/running"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/logs"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// worker is an API server with a Pod of the Job with the UID u.
type worker struct{}

func (worker) RoundTrip(r *http.Request) (*http.Response, error) {
	contentType, body := "application/json", `{"kind":"Status","apiVersion":"v1"}`
	switch {
	case strings.HasSuffix(r.URL.Path, "/kube-system"):
		body = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"kube-system","uid":"k"}}`
	case strings.HasSuffix(r.URL.Path, "/log"):
		contentType, body = "text/plain", "epoch 1\n"
	case strings.HasSuffix(r.URL.Path, "/pods"):
		body = `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"train-0","namespace":"ml","uid":"p",
			"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"train","uid":"u","controller":true}]},
			"spec":{"containers":[{"name":"main"}]},
			"status":{"phase":"Running","containerStatuses":[{"name":"main","state":{"running":{}}}]}}]}`
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {contentType}}, Request: r, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// TestReadWithoutAnAnswer checks that the logs of a duplicated Job are printed from the clusters that
// answer, with exit code 4.
func TestReadWithoutAnAnswer(t *testing.T) {
	var out, errOut bytes.Buffer
	contexts := []fleet.Context{{Name: "worker-1", Namespace: "ml", Config: &rest.Config{Host: "https://worker-1", Transport: worker{}}}}
	search := &running.Search{
		Environment: util.Environment{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &errOut}, Clock: clock.RealClock{}},
		Contexts:    contexts, What: "train",
	}
	on := func(name string) *inspect.Job {
		return &inspect.Job{Context: name, APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train", UID: "u"}
	}
	r := &logsRun{
		logsOptions: &logsOptions{Search: *search},
		job:         &running.FoundJob{Search: search, Fleet: fleet.Open(t.Context(), contexts, fleet.Options{})},
		reader: &logs.Reader{
			Options: logs.Options{Tail: -1, MaxRequests: 1}, Clock: clock.RealClock{},
			Sink: printers.NewLogs(&out, printers.LogOptions{}), Note: func(string) {},
		},
	}
	err := r.read(t.Context(), logs.Placement{Jobs: []*inspect.Job{on("worker-2"), on("worker-1")}})
	partial := (*util.PartialError)(nil)
	assert.Assert(t, errors.As(err, &partial), "%v", err)
	assert.Assert(t, strings.Contains(out.String(), "epoch 1\n"), out.String())
	assert.Assert(t, strings.Contains(errOut.String(), `error: context "worker-2": cannot read logs: the cluster no longer answers`), errOut.String())

	err = r.read(t.Context(), logs.Placement{Jobs: []*inspect.Job{on("worker-2")}})
	assert.ErrorContains(t, err, "the cluster no longer answers")
	assert.Assert(t, !errors.As(err, &partial), "%v", err)
}

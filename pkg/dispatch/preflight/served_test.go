package preflight

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
)

// TestServesIsInterrupted checks that the end of a command ends the question which kinds a server
// has, although the server does not answer.
func TestServesIsInterrupted(t *testing.T) {
	jobset, _ := delegation.KindNamed("jobset")
	server := dispatchtest.NewServer(t)
	asked, released := make(chan struct{}, 1), make(chan struct{})
	t.Cleanup(func() { close(released) })
	server.SetBefore(func(r *http.Request) *apierrors.StatusError {
		if strings.HasPrefix(r.URL.Path, "/apis/jobset.x-k8s.io") {
			asked <- struct{}{}
			<-released
		}
		return nil
	})
	p := NewProbe(server.Cluster(t, "there"))
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := p.serves(ctx, jobset.Resource)
		ended <- err
	}()
	<-asked
	interrupt()
	select {
	case err := <-ended:
		assert.ErrorIs(t, err, context.Canceled)
	case <-time.After(10 * time.Second):
		t.Fatal("it still waits for the server 10s after the interrupt")
	}
}

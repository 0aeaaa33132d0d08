package fleet_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// TestTimeoutsAreNamed checks that the error names the time limit that was reached, which is the
// one to raise.
func TestTimeoutsAreNamed(t *testing.T) {
	for _, begins := range []bool{false, true} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if begins {
				w.WriteHeader(http.StatusOK)
				_, _ = w.Write([]byte("{"))
				_ = http.NewResponseController(w).Flush()
			}
			<-r.Context().Done()
		}))
		for _, tt := range []struct {
			request, context time.Duration
			want, not        string
		}{
			{50 * time.Millisecond, time.Minute, "Raise --request-timeout", "--context-timeout"},
			{time.Minute, 50 * time.Millisecond, "Raise --context-timeout", "--request-timeout"},
		} {
			config := &rest.Config{Host: server.URL, Timeout: tt.request}
			f := fleet.Open(t.Context(), []fleet.Context{{Name: "slow", Namespace: "default", Config: config}}, fleet.Options{Timeout: tt.context})
			answer := fleet.Ask(t.Context(), f, func(context.Context, *fleet.Cluster) (int, error) { return 0, nil })[0]
			assert.ErrorContains(t, answer.Err, tt.want)
			assert.Assert(t, !strings.Contains(answer.Err.Error(), tt.not), "%v", answer.Err)
		}
		server.CloseClientConnections()
		server.Close()
	}
}

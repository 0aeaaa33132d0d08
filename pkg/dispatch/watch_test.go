package dispatch

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// TestRefusedWatch checks that a cluster that refuses a watch is not reported as disconnected: it
// answers. The refusal is reported once. 410 Gone is not reported: the list is repeated.
func TestRefusedWatch(t *testing.T) {
	jobs := delegation.Job().Resource.GroupResource()
	for name, tt := range map[string]struct {
		answer *apierrors.StatusError
		want   []string
	}{
		"403": {apierrors.NewForbidden(jobs, "", nil), []string{`cannot watch jobs.batch in namespace "ml"`}},
		"404": {apierrors.NewNotFound(jobs, ""), []string{`cannot watch jobs.batch in namespace "ml"`}},
		"410": {apierrors.NewResourceExpired("too old"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			var refused atomic.Int32
			s.there.SetBefore(func(r *http.Request) *apierrors.StatusError {
				if r.URL.Query().Get("watch") == "" || !strings.HasSuffix(r.URL.Path, "/jobs") {
					return nil
				}
				refused.Add(1)
				return tt.answer
			})
			events, ended, stop := s.start()
			s.until("the watch is refused three times", func() bool { return refused.Load() >= 3 })
			stop()
			awaits(t, ended, "the dispatch ends")
			var warnings []string
			for len(events) > 0 {
				e := <-events
				assert.Assert(t, e.Event != Disconnected && e.Event != Reconnected, e.Message)
				if e.Event == Warned && e.Origin == nil {
					warnings = append(warnings, e.Message)
				}
			}
			assert.Equal(t, len(warnings), len(tt.want), "%q", warnings)
			for i, want := range tt.want {
				assert.Assert(t, strings.Contains(warnings[i], `context "there"`) && strings.Contains(warnings[i], want), warnings[i])
			}
		})
	}
}

package read_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// jobsFirst answers requests for Workloads only after a request for Jobs.
type jobsFirst struct {
	serves
	asked atomic.Int32
	begun chan struct{}
}

func (s *jobsFirst) RoundTrip(r *http.Request) (*http.Response, error) {
	switch r.URL.Path {
	case "/apis/batch/v1/namespaces/ml/jobs":
		if s.asked.Add(1) == 1 {
			close(s.begun)
		}
	case kueueAPI + "workloads":
		select {
		case <-s.begun:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	return s.serves.RoundTrip(r)
}

// TestAhead checks that the Jobs around a waiting one are listed once, in parallel with Workloads,
// and without Ahead only when needed.
func TestAhead(t *testing.T) {
	for _, ahead := range []*read.Ahead{{}, nil} {
		s := &jobsFirst{begun: make(chan struct{}), serves: serves{answers: map[string]string{
			whichCluster: identity("m"), mlJob: jobJSON("ml", "train", "j", `,"labels":{"kueue.x-k8s.io/queue-name":"q"}},"spec":{"suspend":true,"managedBy":"kueue.x-k8s.io/multikueue"}}`),
			"/apis/kueue.x-k8s.io": kueueServed, mlPods: none, kueueAPI + "workloads": none,
			"/apis/batch/v1/namespaces/ml/jobs": `{"kind":"JobList","apiVersion":"batch/v1","metadata":{},"items":[{"metadata":{"namespace":"ml","name":"train","uid":"j"}},{"metadata":{"namespace":"ml","name":"other","uid":"o"}}]}`,
		}}}
		if ahead == nil {
			close(s.begun)
			s.asked.Add(1)
		}
		f := fleet.Open(t.Context(), []fleet.Context{{Name: "m", Namespace: "ml", Config: &rest.Config{Host: "https://m", Transport: s}}}, fleet.Options{Timeout: time.Minute})
		wanted := read.Wanted{Name: "train", Namespace: "ml"}
		v := read.Read(t.Context(), f, read.Want{Named: &wanted, Ahead: ahead, Now: time.Now})
		assert.NilError(t, v.Facts("m").Kueue.Capacity.Gaps[inspect.PartClaims])
		assert.Equal(t, len(v.Facts("m").Jobs), 1)
		assert.Equal(t, s.asked.Load(), int32(1))
		around := read.Read(t.Context(), f, read.Want{Jobs: wanted.Around(), Evidence: true, Known: v, Ahead: ahead, Now: time.Now})
		assert.Equal(t, len(around.Facts("m").Jobs), 2, "%v", around.Facts("m").Err)
		if ahead != nil {
			assert.Equal(t, s.asked.Load(), int32(1))
			ahead.Stop()
		}
	}
}

package read_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// paging serves the pages of a LocalQueue with count pending Workloads.
type paging struct {
	serves
	count int
	ours  string
	// early is the second wanted Workload, "" for one only.
	early string
	// asked are the requested offsets.
	asked []string
}

func (p *paging) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/localqueues/q/pendingworkloads") {
		return p.serves.RoundTrip(r)
	}
	var limit, offset int
	query := r.URL.Query()
	_, _ = fmt.Sscan(query.Get("limit"), &limit)
	_, _ = fmt.Sscan(query.Get("offset"), &offset)
	p.asked = append(p.asked, query.Get("offset"))
	if p.count == 0 {
		return p.serves.RoundTrip(r)
	}
	var items []string
	for i := offset; i < min(p.count, offset+limit); i++ {
		name := fmt.Sprintf("other-%d", i)
		if i == p.count-1 {
			name = p.ours
		}
		if i == 1 && p.early != "" {
			name = p.early
		}
		items = append(items, fmt.Sprintf(`{"metadata":{"namespace":"ml","name":%q},"positionInClusterQueue":%d}`, name, 2*i))
	}
	answer := serves{answers: map[string]string{r.URL.Path: `{"items":[` + strings.Join(items, ",") + `]}`}}
	return answer.RoundTrip(r)
}

// TestReadOrder checks that a Workload's position is found on any page of its LocalQueue, and that
// a user who may not read the ClusterQueue gets the first Workloads of the LocalQueue. If the API
// is not served, denies, or has no end, there is no order and no error.
func TestReadOrder(t *testing.T) {
	const visibility = "/apis/visibility.kueue.x-k8s.io"
	served := strings.ReplaceAll(kueueServed, `"kueue.x-k8s.io`, `"visibility.kueue.x-k8s.io`)
	ours := delegation.Job().WorkloadNames("train", "j", "")[0]
	// The Workload of a Job with a long name may have either name.
	long := strings.Repeat("train", 12)
	names := delegation.Job().WorkloadNames(long, "j", "")
	for name, test := range map[string]struct {
		answers map[string]string
		refused []string
		count   int
		isLong  bool
		want    *kueue.Order
		asked   int
	}{
		"not served": {count: 5},
		"refused":    {answers: map[string]string{visibility: served}, refused: []string{visibility + "/v1beta2"}, count: 0, asked: 1},
		"on the third page": {
			answers: map[string]string{visibility: served}, refused: []string{visibility + "/v1beta2/clusterqueues"}, count: 2500, asked: 3,
			want: &kueue.Order{Before: map[string]int{ours: 4998}},
		},
		"on different pages": {
			answers: map[string]string{visibility: served}, refused: []string{visibility + "/v1beta2/clusterqueues"}, count: 2500, isLong: true, asked: 3,
			want: &kueue.Order{Before: map[string]int{names[0]: 2, names[1]: 4998}},
		},
		"first": {answers: map[string]string{
			visibility: served, visibility + "/v1beta2/clusterqueues/cq/pendingworkloads": `{"items":[{"metadata":{"namespace":"x","name":"y"},"positionInClusterQueue":0}]}`,
		}, count: 1, asked: 1, want: &kueue.Order{Before: map[string]int{ours: 0}}},
		"without its like": {answers: map[string]string{visibility: strings.ReplaceAll(served, "v1beta2", "v9")}, count: 5},
	} {
		t.Run(name, func(t *testing.T) {
			job, early, last := "train", "", ours
			if test.isLong {
				job, early, last = long, names[0], names[1]
			}
			p := &paging{count: test.count, ours: last, early: early, serves: serves{refused: test.refused, answers: map[string]string{
				whichCluster: identity("m"), strings.ReplaceAll(mlJob, "train", job): jobJSON("ml", job, "j", `,"labels":{"kueue.x-k8s.io/queue-name":"q"}},"spec":{"suspend":true}}`),
				"/apis/kueue.x-k8s.io": kueueServed, kueueAPI + "namespaces/ml/localqueues/q": `{"metadata":{"namespace":"ml","name":"q"},"spec":{"clusterQueue":"cq"}}`,
			}}}
			for path, answer := range test.answers {
				p.answers[path] = answer
			}
			f := fleet.Open(t.Context(), []fleet.Context{{Name: "m", Namespace: "ml", Config: &rest.Config{Host: "https://m", Transport: p}}}, fleet.Options{})
			v := read.Read(t.Context(), f, read.Want{Named: &read.Wanted{Name: job, Namespace: "ml"}, Now: time.Now})
			order := v.Facts("m").Kueue.Orders[types.NamespacedName{Namespace: "ml", Name: "q"}]
			assert.Equal(t, len(p.asked), test.asked, "%q", p.asked)
			if test.want == nil {
				assert.Assert(t, order == nil, "%+v", order)
				return
			}
			assert.DeepEqual(t, order.Before, test.want.Before)
			if test.count == 1 {
				assert.Equal(t, order.First[0].Name, "y")
			} else {
				assert.Equal(t, order.First[2].Name, "other-2")
			}
		})
	}
}

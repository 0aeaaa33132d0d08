package read_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

const kueueAPI = "/apis/kueue.x-k8s.io/v1beta2/"

// kueueServed is the discovery answer for Kueue's API.
const kueueServed = `{"kind":"APIGroup","apiVersion":"v1","name":"kueue.x-k8s.io","versions":[{"groupVersion":"kueue.x-k8s.io/v1beta2","version":"v1beta2"}]}`

func roomOf(ctx context.Context, host string, server http.RoundTripper) *inspect.Inventory {
	f := fleet.Open(ctx, []fleet.Context{{Name: "w", Namespace: "ml", Config: &rest.Config{Host: host, Transport: server, QPS: -1}}}, fleet.Options{})
	queues := []types.NamespacedName{{Namespace: "ml", Name: "q"}}
	return read.Read(ctx, f, read.Want{Capacity: true, Queues: queues, Now: time.Now})
}

// TestReadCapacityWithFewRights checks that an unreadable part of the capacity is a gap there and
// no error of the command, and that a queue that may be read by name is found.
func TestReadCapacityWithFewRights(t *testing.T) {
	v := roomOf(t.Context(), "https://w", serves{
		answers: map[string]string{
			whichCluster:                 identity("w"),
			"/apis/kueue.x-k8s.io":       kueueServed,
			kueueAPI + "admissionchecks": none, kueueAPI + "multikueueconfigs": none, kueueAPI + "multikueueclusters": none,
			kueueAPI + "namespaces/ml/localqueues/q": `{"metadata":{"namespace":"ml","name":"q"},"spec":{"clusterQueue":""}}`,
		},
		refused: []string{
			kueueAPI + "clusterqueues", kueueAPI + "cohorts", kueueAPI + "resourceflavors", kueueAPI + "topologies", kueueAPI + "localqueues", kueueAPI + "workloads", "/api/v1/namespaces",
		},
	})
	assert.Equal(t, len(v.Errors()), 0, "%v", v.Errors())
	f := v.Facts("w")
	for _, part := range []inspect.Part{
		inspect.PartClusterQueues, inspect.PartCohorts, inspect.PartFlavors, inspect.PartTopologies, inspect.PartClaims, inspect.PartQueues, inspect.PartLimitRanges, inspect.PartNamespaces,
	} {
		assert.ErrorContains(t, f.Kueue.Capacity.Gaps[part], "Forbidden", string(part))
	}
	assert.Assert(t, f.Kueue.LocalQueueNamed("ml", "q") != nil)
}

// counting records the requests for lists of Workloads.
type counting struct {
	serves
	mu    sync.Mutex
	lists []string
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/workloads") && r.URL.Query().Get("labelSelector") == "" {
		c.mu.Lock()
		c.lists = append(c.lists, r.URL.Path)
		c.mu.Unlock()
	}
	return c.serves.RoundTrip(r)
}

// TestWorkloadsAreListedOnce checks that tracing a waiting Job downloads all Workloads only once,
// even if Kueue ignores the Job and another namespace's Workload preempted it. Without the right to
// list all, it lists those of one namespace.
func TestWorkloadsAreListedOnce(t *testing.T) {
	const all, ours, far = kueueAPI + "workloads", kueueAPI + "namespaces/ml/workloads", kueueAPI + "namespaces/far/workloads/winner"
	name := "job-train-" // and a hash, which no test needs to know: it is found by its uid
	silent := `{"metadata":{"namespace":"ml","name":"` + name + `","uid":"w","labels":{"kueue.x-k8s.io/job-uid":"j"},"creationTimestamp":"2026-11-22T09:00:00Z"},"spec":{"queueName":"q"},"status":{"conditions":[
{"type":"Preempted","status":"True","reason":"InClusterQueue","message":"Preempted to accommodate a workload (UID: winner-uid, JobUID: x) due to prioritization","lastTransitionTime":"2026-11-22T09:00:00Z"}]}}`
	neighbour := `{"metadata":{"namespace":"ml","name":"neighbour","uid":"n"},"spec":{"queueName":"q"},"status":{}}`
	winner := `{"metadata":{"namespace":"far","name":"winner","uid":"winner-uid"},"spec":{"queueName":"q"},"status":{"conditions":[{"type":"QuotaReserved","status":"True","reason":"","message":"","lastTransitionTime":null}]}}`
	list := func(items ...string) string { return `{"metadata":{},"items":[` + strings.Join(items, ",") + `]}` }
	for _, mayListAll := range []bool{true, false} {
		c := &counting{serves: serves{answers: map[string]string{
			whichCluster: identity("m"), mlJob: jobJSON("ml", "train", "j", `,"labels":{"kueue.x-k8s.io/queue-name":"q"}},"spec":{"suspend":true,"managedBy":"kueue.x-k8s.io/multikueue"}}`),
			"/apis/kueue.x-k8s.io": kueueServed, mlPods: none, "/apis/batch/v1/namespaces/ml/jobs": `{"kind":"JobList","apiVersion":"batch/v1","metadata":{},"items":[]}`, ours: list(silent, neighbour), far: winner,
		}}}
		if mayListAll {
			c.answers[all] = list(silent, neighbour, winner)
		}
		f := fleet.Open(t.Context(), []fleet.Context{{Name: "m", Namespace: "ml", Config: &rest.Config{Host: "https://m", Transport: c}}}, fleet.Options{})
		now := func() time.Time { return time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC) }
		wanted := read.Wanted{Name: "train", Namespace: "ml"}
		v := read.Read(t.Context(), f, read.Want{Named: &wanted, Now: now})
		names := func(v *inspect.Inventory) (found []string) {
			for _, w := range v.Facts("m").Kueue.Workloads {
				found = append(found, w.Name)
			}
			slices.Sort(found)
			return found
		}
		v = read.Read(t.Context(), f, read.Want{Jobs: wanted.Around(), Evidence: true, Known: v, Now: now})
		if mayListAll {
			assert.DeepEqual(t, c.lists, []string{all})
			assert.DeepEqual(t, names(v), []string{name, "neighbour", "winner"})
			continue
		}
		assert.Assert(t, slices.Contains(c.lists, ours), "%q", c.lists)
		assert.DeepEqual(t, names(v), []string{name, "neighbour"})
	}
}

// workloadJSON returns a finished Workload of the usual size.
func workloadJSON(i int) string {
	container := `{"name":"main","image":"registry.example.com/team/train:v1","env":[` + strings.TrimSuffix(strings.Repeat(`{"name":"SOME_VARIABLE","value":"of no great importance here"},`, 20), ",") +
		`],"resources":{"requests":{"cpu":"1","memory":"4Gi"}}}`
	return fmt.Sprintf(`{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload","metadata":{"namespace":"ml","name":"job-%[1]d","uid":"uid-%[1]d","creationTimestamp":"2026-01-01T00:00:00Z",
"managedFields":[{"manager":"kueue","operation":"Update","fieldsV1":{%[3]s"f:x":{}}}],"ownerReferences":[{"kind":"Job","name":"job-%[1]d","controller":true}]},
"spec":{"queueName":"q","priority":0,"podSets":[{"name":"main","count":4,"template":{"spec":{"containers":[%[2]s]}}}]},
"status":{"admission":{"clusterQueue":"q","podSetAssignments":[{"name":"main","count":4,"flavors":{"cpu":"f","memory":"f"},"resourceUsage":{"cpu":"4","memory":"16Gi"}}]},
"conditions":[{"type":"QuotaReserved","status":"True","reason":"QuotaReserved","message":"Quota reserved in ClusterQueue q","lastTransitionTime":"2026-01-01T00:00:00Z"},
{"type":"Admitted","status":"True","reason":"Admitted","message":"The workload is admitted","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`,
		i, container, strings.Repeat(`"f:some-field-that-is-managed":{},`, 20))
}

// BenchmarkReadCapacity reads 10,000 Workloads, and compares the time with a raw download. It also
// reports the memory kept.
func BenchmarkReadCapacity(b *testing.B) {
	const count, page = 10000, 500
	pages := make([][]byte, count/page)
	for p := range pages {
		var text bytes.Buffer
		fmt.Fprintf(&text, `{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"WorkloadList","metadata":{"continue":%q},"items":[`, map[bool]string{true: strconv.Itoa(p + 1)}[p+1 < len(pages)])
		for i := range page {
			if i > 0 {
				text.WriteByte(',')
			}
			text.WriteString(workloadJSON(p*page + i))
		}
		text.WriteString("]}")
		pages[p] = text.Bytes()
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case kueueAPI + "workloads":
			p, _ := strconv.Atoi(r.URL.Query().Get("continue"))
			_, _ = w.Write(pages[p])
		case "/apis/kueue.x-k8s.io":
			_, _ = io.WriteString(w, kueueServed)
		case whichCluster:
			_, _ = io.WriteString(w, identity("w"))
		default:
			_, _ = io.WriteString(w, none)
		}
	}))
	defer server.Close()
	raw := time.Duration(0)
	var kept uint64
	for b.Loop() {
		b.StopTimer()
		began := time.Now()
		for p := range pages {
			response, err := http.Get(fmt.Sprintf("%s%sworkloads?continue=%d", server.URL, kueueAPI, p))
			assert.NilError(b, err)
			_, err = io.Copy(io.Discard, response.Body)
			assert.NilError(b, errors.Join(err, response.Body.Close()))
		}
		raw += time.Since(began)
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b.StartTimer()
		v := roomOf(b.Context(), server.URL, nil)
		b.StopTimer()
		assert.Equal(b, len(v.Facts("w").Kueue.Capacity.Claims), count)
		runtime.GC()
		runtime.ReadMemStats(&after)
		kept = after.HeapAlloc - before.HeapAlloc
		runtime.KeepAlive(v)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(raw), "times-raw")
	b.ReportMetric(float64(kept)/(1<<20), "MB-kept")
}

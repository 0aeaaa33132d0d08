package read_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// claiming is a cluster with Jobs of MultiKueue, of which all but the last few have a Workload. It
// counts the requests for Workloads.
type claiming struct {
	serves
	jobs, claimed int
	refuses       bool

	mu           sync.Mutex
	byUID, lists int
	whole        int
}

func (c *claiming) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := func(code int, text string) (*http.Response, error) {
		return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
	}
	switch r.URL.Path {
	case "/apis/batch/v1/jobs":
		return answer(http.StatusOK, c.list("batch/v1", "JobList", c.jobs, `,"spec":{"suspend":true,"managedBy":"kueue.x-k8s.io/multikueue"}`, "", ""))
	case kueueAPI + "workloads", kueueAPI + "namespaces/ml/workloads":
		if c.refuses {
			return answer(http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`)
		}
		selector := r.URL.Query().Get("labelSelector")
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case strings.Contains(selector, " in "):
			c.byUID++
		case selector != "":
			c.lists++
		default:
			c.whole++
		}
		return answer(http.StatusOK, c.list("kueue.x-k8s.io/v1beta2", "WorkloadList", c.claimed, "", "w-", selector))
	}
	return c.serves.RoundTrip(r)
}

// list returns a list of n objects, limited to the UIDs that a selector names.
func (c *claiming) list(apiVersion, kind string, n int, more, prefix, selector string) string {
	var items []string
	for i := range n {
		uid := fmt.Sprintf("u%05d", i)
		if strings.Contains(selector, " in ") && !strings.Contains(selector, uid) {
			continue
		}
		items = append(items, fmt.Sprintf(`{"metadata":{"namespace":"ml","name":"%s%[2]s","uid":"%[1]s%[2]s","creationTimestamp":"2026-07-01T12:00:00Z","labels":{"kueue.x-k8s.io/job-uid":%[2]q}}%[3]s}`, prefix, uid, more))
	}
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"resourceVersion":"1"},"items":[%s]}`, apiVersion, kind, strings.Join(items, ","))
}

// read reads all Jobs, and returns how many are unclaimed.
func (c *claiming) read(t *testing.T, evidence bool) (facts *inspect.Facts, unclaimed int) {
	t.Helper()
	facts = c.facts(t, read.Want{Jobs: &read.Query{AllNamespaces: true}, Evidence: evidence, Now: time.Now})
	for _, j := range facts.Jobs {
		assert.Equal(t, j.Context, "hub")
		if j.Status == delegation.Unclaimed {
			unclaimed++
		} else {
			assert.Equal(t, j.Status, delegation.Suspended)
		}
	}
	return facts, unclaimed
}

// facts reads the facts that w requests.
func (c *claiming) facts(t *testing.T, w read.Want) *inspect.Facts {
	t.Helper()
	c.serves = serves{answers: map[string]string{whichCluster: identity("hub"), "/apis/kueue.x-k8s.io": kueueServed}}
	f := fleet.Open(t.Context(), []fleet.Context{{Name: "hub", Config: &rest.Config{Host: "https://hub", Transport: c, QPS: -1}}}, fleet.Options{})
	facts := read.Read(t.Context(), f, w).Facts("hub")
	assert.NilError(t, facts.Err)
	assert.Equal(t, len(facts.Jobs), c.jobs)
	return facts
}

// TestManyClaims checks that a few lists, and not a request for each hundred Jobs, show which of
// thousands of Jobs are unclaimed.
func TestManyClaims(t *testing.T) {
	for _, claimed := range []int{0, 5000, 5990, 6000} {
		t.Run(fmt.Sprint(claimed), func(t *testing.T) {
			c := &claiming{jobs: 6000, claimed: claimed}
			_, unclaimed := c.read(t, false)
			assert.Equal(t, unclaimed, 6000-claimed)
			assert.Assert(t, c.byUID <= 6 && c.lists <= 6, "asked %d times by uid, and for %d lists", c.byUID, c.lists)
		})
	}
	c := &claiming{jobs: 90, claimed: 80}
	_, unclaimed := c.read(t, false)
	assert.Equal(t, unclaimed, 10)
	assert.Equal(t, c.byUID, 1)
	assert.Equal(t, c.lists, 0)
}

// TestMirrorsOfMany checks that finding the mirrors of thousands of Jobs also takes few requests.
func TestMirrorsOfMany(t *testing.T) {
	for _, count := range []int{90, 6000} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			c := &claiming{jobs: count, claimed: count}
			facts := c.facts(t, read.Want{Jobs: &read.Query{AllNamespaces: true}, Mirrors: true, Now: time.Now})
			for _, j := range facts.Jobs {
				assert.Assert(t, j.Mirrors != nil && len(j.Mirrors) == 0)
			}
			assert.Assert(t, c.byUID <= 6 && c.lists <= 6, "asked %d times by uid, and for %d lists", c.byUID, c.lists)
		})
	}
}

// TestClaimsByEvidence checks that Workloads read for rules also show which Jobs are unclaimed,
// without more requests, and that no Job is unclaimed if Workloads may not be read.
func TestClaimsByEvidence(t *testing.T) {
	c := &claiming{jobs: 300, claimed: 290}
	_, unclaimed := c.read(t, true)
	assert.Equal(t, unclaimed, 10)
	assert.Equal(t, c.byUID+c.lists, 0)
	assert.Equal(t, c.whole, 1)

	c = &claiming{jobs: 300, claimed: 290, refuses: true}
	facts, unclaimed := c.read(t, true)
	assert.Equal(t, unclaimed, 0)
	assert.ErrorContains(t, facts.Gaps[inspect.PartWorkloads], "list workloads.kueue.x-k8s.io")
}

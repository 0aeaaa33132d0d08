package fleet_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// lateTransport answers with a UID, and only after let is closed, even if the request is cancelled.
type lateTransport struct {
	let chan struct{}
	uid string
}

func (l lateTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	<-l.let
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"kube-system","uid":"` + l.uid + `"}}`)),
	}, nil
}

// TestLateIdentity checks that an answer after the timeout does not change data that others
// already read.
func TestLateIdentity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := lateTransport{let: make(chan struct{}), uid: "late"}
		f := fleet.Open(t.Context(), []fleet.Context{{Name: "slow", Config: &rest.Config{Host: "https://slow.example", Transport: late}}},
			fleet.Options{Timeout: time.Second})
		cluster := f.Clusters()[0]
		assert.Equal(t, cluster.UID(), "")
		close(late.let)
		synctest.Wait()
		assert.Equal(t, cluster.UID(), "")
		f.BeginRound(t.Context())
		assert.Equal(t, cluster.UID(), "late")
	})
}

// TestOnlyContext checks that a single context is asked immediately, concurrently with the
// request for its identity, and that connection errors are the same as with several contexts.
func TestOnlyContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := lateTransport{let: make(chan struct{}), uid: "late"}
		at := func(timeout time.Duration) *fleet.Fleet {
			return fleet.Open(t.Context(), []fleet.Context{{Name: "slow", Config: &rest.Config{Host: "https://slow.example", Transport: late}}}, fleet.Options{Timeout: timeout})
		}
		f := at(time.Second)
		began := time.Now()
		assert.Equal(t, len(f.Aliases()), 0)
		assert.Assert(t, f.Distinct())
		assert.Equal(t, time.Since(began), time.Duration(0), "that one alone is like no other is known")
		answers := fleet.Ask(t.Context(), f, func(context.Context, *fleet.Cluster) (string, error) { return "it does", nil })
		assert.ErrorContains(t, answers[0].Err, "cannot reach the cluster: no answer within 1s")
		fleet.Ask(t.Context(), f, func(context.Context, *fleet.Cluster) (string, error) {
			t.Error("what is known not to answer is asked")
			return "", nil
		})

		answers = fleet.Ask(t.Context(), at(time.Minute), func(_ context.Context, c *fleet.Cluster) (string, error) {
			close(late.let)
			return c.UID(), nil
		})
		assert.NilError(t, answers[0].Err)
		assert.Equal(t, answers[0].Value, "late")
	})
}

// TestLateQuestion checks that an abandoned question may read the identity of a cluster, and its fleet,
// after a new round has found them out. Only the race detector sees the difference.
func TestLateQuestion(t *testing.T) {
	for name, read := range map[string]func(*fleet.Fleet, *fleet.Cluster){
		"identity": func(_ *fleet.Fleet, c *fleet.Cluster) { c.UID() },
		"routes":   func(f *fleet.Fleet, c *fleet.Cluster) { f.Routes(c.Context) },
		"aliases":  func(f *fleet.Fleet, _ *fleet.Cluster) { f.Aliases() },
		"cache":    func(_ *fleet.Fleet, c *fleet.Cluster) { c.IsWatched() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				late := lateTransport{let: make(chan struct{}), uid: "late"}
				f := fleet.Open(t.Context(), []fleet.Context{{Name: "slow", Config: &rest.Config{Host: "https://slow.example", Transport: late}}},
					fleet.Options{Timeout: time.Second})
				done := make(chan struct{})
				answers := fleet.Ask(t.Context(), f, func(_ context.Context, c *fleet.Cluster) (string, error) {
					time.Sleep(time.Hour) //nolint:forbidigo // It waits for nothing, so that only the lock orders the accesses.
					read(f, c)
					close(done)
					return "", nil
				})
				assert.ErrorContains(t, answers[0].Err, "no answer within 1s")
				close(late.let)
				f.BeginRound(t.Context())
				assert.Equal(t, f.Clusters()[0].UID(), "late")
				<-done
			})
		})
	}
}

// TestLateDistinct is TestLateQuestion for a fleet of two clusters.
func TestLateDistinct(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		close(open)
		at := func(name string) fleet.Context {
			return fleet.Context{Name: name, Config: &rest.Config{Host: "https://" + name + ".example", Transport: lateTransport{let: open, uid: name}}}
		}
		f := fleet.Open(t.Context(), []fleet.Context{at("one"), at("two")}, fleet.Options{Timeout: time.Second})
		var done sync.WaitGroup
		done.Add(len(f.Clusters()))
		answers := fleet.Ask(t.Context(), f, func(context.Context, *fleet.Cluster) (string, error) {
			defer done.Done()
			time.Sleep(time.Hour) //nolint:forbidigo // It waits for nothing, so that only the lock orders the accesses.
			assert.Check(t, f.Distinct())
			return "", nil
		})
		assert.ErrorContains(t, answers[0].Err, "no answer within 1s")
		f.BeginRound(t.Context())
		done.Wait()
	})
}

package cache_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
)

// TestLink checks that each change of a connection is reported once.
func TestLink(t *testing.T) {
	var reported []string
	l := cache.Link{
		Lost:      func(err error) { reported = append(reported, err.Error()) },
		Recovered: func() { reported = append(reported, "back") },
	}
	for _, err := range []error{nil, errors.New("first"), errors.New("second"), nil, nil, errors.New("third")} {
		l.Note(err)
	}
	assert.DeepEqual(t, reported, []string{"first", "back", "third"})
}

// TestMonitor checks that a cluster that does not answer is asked more often, also if somebody
// else notices it.
func TestMonitor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		var err error
		asked := 0
		answer := func(with error) {
			mu.Lock()
			defer mu.Unlock()
			err = with
		}
		l := &cache.Link{Lost: func(error) {}, Recovered: func() {}}
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.Monitor(ctx, cache.Check{Clock: clock.RealClock{}, Every: cache.Heartbeat, Retry: cache.Retry, Ask: func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				asked++
				return err
			}})
		}()
		after := func(d time.Duration) int {
			<-time.After(d)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return asked
		}
		assert.Equal(t, after(cache.Heartbeat+time.Second), 1)
		assert.NilError(t, l.Err())

		noRoute := errors.New("no route")
		answer(noRoute)
		l.Note(noRoute)
		assert.Equal(t, after(cache.Retry), 2)
		assert.Equal(t, after(2*cache.Retry), 4)
		assert.ErrorIs(t, l.Err(), noRoute)

		answer(nil)
		assert.Equal(t, after(cache.Retry), 5)
		assert.NilError(t, l.Err())
		assert.Equal(t, after(cache.Heartbeat), 6)
		cancel()
		<-done
	})
}

package cache

import (
	"context"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/poll"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	testclock "k8s.io/utils/clock/testing"
)

// source is a Source of one object, whose name counts the lists. It returns watches from watches.
func source(watches <-chan watch.Interface) Source[string] {
	version := 0
	return Source[string]{
		Key: "key", What: "configmaps",
		List: func(_ context.Context, visit func(string, string)) (string, error) {
			version++
			visit(ObjectKey("ns", "a"), string(rune('0'+version)))
			return "1", nil
		},
		Watch: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) {
			select {
			case w := <-watches:
				return w, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
		Decode: func(o runtime.Object) (string, error) { return o.(*corev1.ConfigMap).Data["value"], nil },
	}
}

func read(t *testing.T, c *Cache, s Source[string]) (value string) {
	t.Helper()
	assert.NilError(t, Recall(t.Context(), c, s, func(_ string, v *string) { value = *v }))
	return value
}

// TestWatchThatEndsAtOnce checks that the objects are listed again if the server ends watches
// immediately after their start.
func TestWatchThatEndsAtOnce(t *testing.T) {
	now := testclock.NewFakeClock(time.Now())
	c := New(t.Context(), now, make(chan struct{}, 1), nil)
	watches := make(chan watch.Interface, 1)
	watches <- watch.NewEmptyWatch()
	s := source(watches)
	assert.Equal(t, read(t, c, s), "1")
	poll.WaitOn(t, func(poll.LogT) poll.Result {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.kept["key"].until.IsZero() {
			return poll.Continue("the watch has not ended")
		}
		return poll.Success()
	}, poll.WithTimeout(time.Minute), poll.WithDelay(time.Millisecond))
	assert.Equal(t, read(t, c, s), "1")
	now.Step(Soon)
	assert.Equal(t, read(t, c, s), "2")
}

// TestLost checks that a Cache forgets everything when its cluster stops answering.
func TestLost(t *testing.T) {
	changed := make(chan struct{}, 1)
	c := New(t.Context(), testclock.NewFakeClock(time.Now()), changed, nil)
	watches := make(chan watch.Interface, 2)
	events := watch.NewFake()
	watches <- events
	watches <- watch.NewFake()
	s := source(watches)
	assert.Equal(t, read(t, c, s), "1")
	events.Modify(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", ResourceVersion: "2"}, Data: map[string]string{"value": "x"}})
	<-changed
	assert.Equal(t, read(t, c, s), "x")
	c.Link.Note(context.DeadlineExceeded)
	<-changed
	assert.ErrorIs(t, c.Link.Err(), context.DeadlineExceeded)
	assert.Equal(t, len(c.kept), 0)
	c.Link.Note(nil)
	<-changed
	assert.Equal(t, read(t, c, s), "2")
}

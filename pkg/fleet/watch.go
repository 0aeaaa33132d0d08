package fleet

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Watch makes the fleet watch what is read from now on, until ctx is done. Repeated reads get
// the current state without requests. The returned channel receives a value when reading again
// would return something else.
//
// A cluster that does not answer is waited for only once. It is checked in the background, and
// until it answers, each question gets the error at once.
func (f *Fleet) Watch(ctx context.Context) (changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	news := make(chan struct{}, 1)
	for _, m := range f.members {
		for i, route := range m.routes {
			var down error
			if i == 0 {
				down = m.failed()
			}
			route.cache.Store(cache.New(ctx, f.clock, news, down))
			go f.listen(ctx, route)
		}
	}
	return news
}

// listen checks periodically whether a cluster answers, by reading its identity. Every user may
// send this request: even a refusal is an answer.
func (f *Fleet) listen(ctx context.Context, c *Cluster) {
	interval := cache.Heartbeat
	if f.timeout > 0 {
		interval = min(interval, f.timeout)
	}
	c.cache.Load().Link.Monitor(ctx, cache.Check{Clock: clock.RealClock{}, Every: interval, Retry: f.retry, Ask: func(ctx context.Context) error {
		return c.outage(ctx, f.timeout)
	}})
}

// outage reads the identity of the cluster, and returns why there was no answer; nil for any answer.
// dispatch decides with kubecontext.Outage, too.
func (c *Cluster) outage(ctx context.Context, timeout time.Duration) error {
	_, err := within(ctx, timeout, c.identity)
	if err = kubecontext.Outage(err); err != nil {
		return kubecontext.InContext(c.Context, "reach the cluster", err)
	}
	return nil
}

// isDown returns the reason why a cluster does not answer, without a request; nil if it is not
// known to be down.
func (c *Cluster) isDown() error {
	watched := c.cache.Load()
	if watched == nil {
		return nil
	}
	return watched.Link.Err()
}

// noteAnswer records that a cluster has not answered a question in its time.
func (c *Cluster) noteAnswer(err error) {
	watched := c.cache.Load()
	if late := (*kubecontext.TimeoutError)(nil); watched != nil && errors.As(err, &late) {
		watched.Link.Note(err)
	}
}

// WatchFailure is a resource that can be read but not watched.
type WatchFailure struct {
	// Context and What, such as "pods", cannot be watched because of Err.
	Context, What string
	Err           error
}

// WatchFailures returns the resources that are read repeatedly instead, as far as known, in a fixed
// order.
func (f *Fleet) WatchFailures() (all []WatchFailure) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, m := range f.members {
		if len(m.routes) == 0 {
			continue
		}
		refused := m.routes[0].cache.Load().WatchFailures()
		for _, what := range slices.Sorted(maps.Keys(refused)) {
			all = append(all, WatchFailure{Context: m.context, What: what, Err: refused[what]})
		}
	}
	return all
}

// IsWatched reports whether reads of the cluster are kept current by watches.
func (c *Cluster) IsWatched() bool { return c.cache.Load() != nil }

// withoutCache marks a request whose answer must not be kept.
type withoutCache struct{}

// WithoutCache returns a context for requests whose answers are neither kept nor watched.
func WithoutCache(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutCache{}, true)
}

// Cache returns the cache from which a request may be answered; nil if there is none.
func (c *Cluster) Cache(ctx context.Context) *cache.Cache {
	if ctx.Value(withoutCache{}) != nil {
		return nil
	}
	return c.cache.Load()
}

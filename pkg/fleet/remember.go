package fleet

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// heartbeat is the minimum interval of requests that only check the connection. A dead connection
// looks like a cluster without changes.
const heartbeat = 10 * time.Second

// Remember makes the fleet watch what is read from now on, until ctx is done. Repeated reads get
// the current state without requests. The returned channel receives a value when reading again
// would return something else.
//
// A cluster that does not answer is waited for only once. It is checked in the background, and
// until it answers, each question gets the error at once.
func (f *Fleet) Remember(ctx context.Context) (changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	news := make(chan struct{}, 1)
	for _, m := range f.members {
		for i, route := range m.routes {
			route.memory = &memory{ctx: ctx, clock: f.clock, changed: news, fell: make(chan struct{}, 1), kept: map[string]*recollection{}, refused: map[string]error{}}
			if i == 0 {
				route.memory.down = m.failed()
			}
			go f.listen(ctx, route)
		}
	}
	return news
}

// listen checks periodically whether a cluster answers, by reading its identity. Every user may
// send this request: even a refusal is an answer.
func (f *Fleet) listen(ctx context.Context, c *Cluster) {
	interval := heartbeat
	if f.timeout > 0 {
		interval = min(interval, f.timeout)
	}
	for {
		wait := interval
		if c.isDown() != nil {
			wait = min(wait, f.retry)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-c.memory.fell:
			timer.Stop()
			continue
		case <-timer.C:
		}
		_, err := within(ctx, f.timeout, c.identity)
		if ctx.Err() != nil {
			return
		}
		c.memory.setDown(notReached(c.Context, err))
	}
}

// notReached returns the error of a cluster that has not answered; nil for any answer.
func notReached(name string, err error) error {
	if err == nil {
		return nil
	}
	failed := kubecontext.InContext(name, "reach the cluster", err)
	switch failed.Code() {
	case kubecontext.CodeTimeout, kubecontext.CodeUnreachable, kubecontext.CodeCertificate:
		return failed
	default:
		return nil
	}
}

// isDown returns the reason why a cluster does not answer, without a request; nil if it is not
// known to be down.
func (c *Cluster) isDown() error {
	if c.memory == nil {
		return nil
	}
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	return c.memory.down
}

// noteAnswer records that a cluster has not answered a question in its time.
func (c *Cluster) noteAnswer(err error) {
	if late := (*kubecontext.TimeoutError)(nil); c.memory != nil && errors.As(err, &late) {
		c.memory.setDown(err)
	}
}

// begin starts a new round of questions, and forgets answers that were not used for a while.
func (m *memory) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	m.forget(func(r *recollection) bool { return now.Sub(r.used) > idle })
}

// Unwatched is a resource that can be read but not watched.
type Unwatched struct {
	// Context and What, such as "pods", cannot be watched because of Err.
	Context, What string
	Err           error
}

// Unwatched returns the resources that are read repeatedly instead, as far as known, in a fixed
// order.
func (f *Fleet) Unwatched() (all []Unwatched) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, m := range f.members {
		if len(m.routes) == 0 || m.routes[0].memory == nil {
			continue
		}
		memory := m.routes[0].memory
		memory.mu.Lock()
		for _, what := range slices.Sorted(maps.Keys(memory.refused)) {
			all = append(all, Unwatched{Context: m.context, What: what, Err: memory.refused[what]})
		}
		memory.mu.Unlock()
	}
	return all
}

// IsWatched reports whether reads of the cluster are kept current by watches.
func (c *Cluster) IsWatched() bool { return c.memory != nil }

// unremembered marks a request whose answer must not be kept.
type unremembered struct{}

// Unremembered returns a context for requests whose answers are neither kept nor watched.
func Unremembered(ctx context.Context) context.Context {
	return context.WithValue(ctx, unremembered{}, true)
}

// recalls returns the memory from which a request may be answered; nil if there is none.
func (c *Cluster) recalls(ctx context.Context) *memory {
	if ctx.Value(unremembered{}) != nil {
		return nil
	}
	return c.memory
}

package fleet

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// heartbeat is how often at most a cluster is asked for something although nothing
// happens: a connection over which nothing comes looks like a cluster in which nothing does.
const heartbeat = 10 * time.Second

// Remember has the fleet watch from now on what is read of it, until ctx is over: whoever
// reads the same again gets it as it is by then, and nobody is asked. It returns a channel
// on which it is told that reading again would find something else.
//
// A cluster that does not answer is not waited for again: it is asked beside all else
// whether it does, and until then its answer to all questions is that it does not.
func (f *Fleet) Remember(ctx context.Context) (changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	news := make(chan struct{}, 1)
	for _, m := range f.members {
		for i, way := range m.ways {
			way.memory = &memory{ctx: ctx, clock: f.clock, changed: news, fell: make(chan struct{}, 1), kept: map[string]*recollection{}, refused: map[string]error{}}
			if i == 0 {
				way.memory.down = m.failed()
			}
			go f.listen(ctx, way)
		}
	}
	return news
}

// listen asks a cluster now and then who it is, and notes whether it answers. That is no
// list, and everybody may ask: a refusal is an answer.
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

// notReached is why a cluster has not answered, nil if it has, whatever that was.
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

// isDown is why a cluster does not answer, as far as is known without asking it.
func (c *Cluster) isDown() error {
	if c.memory == nil {
		return nil
	}
	c.memory.mu.Lock()
	defer c.memory.mu.Unlock()
	return c.memory.down
}

// noteAnswer notes that a cluster has not answered a question in its time.
func (c *Cluster) noteAnswer(err error) {
	if late := (*kubecontext.TimeoutError)(nil); c.memory != nil && errors.As(err, &late) {
		c.memory.setDown(err)
	}
}

// begin begins a new round of questions, before which nobody has wanted for a while what is
// forgotten now.
func (m *memory) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	m.forget(func(r *recollection) bool { return now.Sub(r.used) > idle })
}

// Unwatched is something that may be read and not watched.
type Unwatched struct {
	// Context is where, and What, such as "pods", it may not be watched for the reason of Err.
	Context, What string
	Err           error
}

// Unwatched returns all that was found so far to be read again and again, in a fixed order.
func (f *Fleet) Unwatched() (all []Unwatched) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	for _, m := range f.members {
		if len(m.ways) == 0 || m.ways[0].memory == nil {
			continue
		}
		memory := m.ways[0].memory
		memory.mu.Lock()
		for _, what := range slices.Sorted(maps.Keys(memory.refused)) {
			all = append(all, Unwatched{Context: m.context, What: what, Err: memory.refused[what]})
		}
		memory.mu.Unlock()
	}
	return all
}

// IsWatched says whether what is read of the cluster is watched from then on.
func (c *Cluster) IsWatched() bool { return c.memory != nil }

// unremembered marks a request of which nothing may be kept.
type unremembered struct{}

// Unremembered is for requests whose answers are not to be kept, and not watched.
func Unremembered(ctx context.Context) context.Context {
	return context.WithValue(ctx, unremembered{}, true)
}

// recalls is the memory that a request may be answered from, nil if there is none.
func (c *Cluster) recalls(ctx context.Context) *memory {
	if ctx.Value(unremembered{}) != nil {
		return nil
	}
	return c.memory
}

package fleet

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Options configure a fleet.
type Options struct {
	// AllNamespaces is whether questions concern all namespaces, so that contexts that differ
	// only in their namespace are asked once.
	AllNamespaces bool
	// Refused is called for the contexts that reach one cluster, in order. It returns how much the
	// server refuses to a context. The context with the least represents the cluster, the first of
	// equal ones. If Refused is nil, the first context does.
	Refused func(context.Context, *Cluster) int
	// Timeout limits the time of a context from Open to its answer; zero means no limit.
	Timeout time.Duration
	// Parallel is the number of contexts asked at once; zero means 32. Slow contexts should not
	// delay others, and credential plugins run concurrently.
	Parallel int
	// Clock is the clock for measurements; nil means the real one.
	Clock clock.PassiveClock
	// CacheDir is kubectl's cache directory for discovery; "" disables the cache.
	CacheDir string
	// Waiting, if set, receives the contexts that are being asked and have not answered yet,
	// after each change, and finally none. Calls do not overlap.
	Waiting func(contexts []string)
}

// Fleet is a set of clusters, each reached by one or more contexts.
type Fleet struct {
	// mu protects members, which BeginRound changes, for concurrent readers.
	mu      sync.RWMutex
	members []*member
	// allNamespaces is Options.AllNamespaces.
	allNamespaces bool

	timeout  time.Duration
	parallel int
	clock    clock.PassiveClock
	cacheDir string
	waiting  *waiting
	// retry is how long a watched cluster that did not answer is not asked again.
	retry time.Duration
}

// member is one cluster of a fleet, or one context whose cluster did not answer when the fleet
// was opened.
type member struct {
	// context is the name under which it is shown.
	context string
	// routes are its contexts. The first one is asked, and the others for what that one may not
	// read. It is empty if the kubeconfig's entry is not usable.
	routes []*Cluster
	// spent is the time that questions have taken so far.
	spent time.Duration
	// err is the reason why it cannot be asked; failed waits until that is known.
	err error
}

// failed returns the reason why a member cannot be asked; nil if it can.
func (m *member) failed() error {
	if m.isBeingIdentified() {
		<-m.routes[0].identified
	}
	return m.err
}

// isBeingIdentified reports whether the identity of its cluster is still being read.
func (m *member) isBeingIdentified() bool {
	if len(m.routes) == 0 || m.routes[0].identified == nil {
		return false
	}
	select {
	case <-m.routes[0].identified:
		return false
	default:
		return true
	}
}

// Answer is the answer of one cluster.
type Answer[T any] struct {
	// Context is the context that was asked.
	Context string
	Value   T
	// Err is the reason for a missing answer. Value may still hold a partial one.
	Err error
}

// Open finds out which cluster each context reaches, all at once, and joins contexts of the same
// cluster. It never fails as a whole: an error of a context becomes its answer to every question.
// Of several contexts of a cluster, one represents it: the one with the least that Options.Refused
// counts.
func Open(ctx context.Context, contexts []Context, o Options) *Fleet {
	f := &Fleet{allNamespaces: o.AllNamespaces, timeout: o.Timeout, parallel: o.Parallel, clock: o.Clock, cacheDir: o.CacheDir, waiting: &waiting{report: o.Waiting}, retry: cache.Retry}
	if f.parallel == 0 {
		f.parallel = 32
	}
	if f.clock == nil {
		f.clock = clock.RealClock{}
	}
	if len(contexts) == 1 {
		f.openOnly(ctx, contexts[0])
		return f
	}
	opened := make([]*member, len(contexts))
	f.each(len(contexts), func(i int) {
		defer f.waiting.add(contexts[i].Name)()
		opened[i] = f.open(ctx, contexts[i])
	})

	f.prove(ctx, opened)
	f.members = f.joined(opened)
	f.chooseContexts(ctx, o.Refused)
	shareAll(f.members)
	return f
}

// openOnly opens a fleet of one context. There is nothing to join, so its identity is read
// concurrently with the first question, which saves a round trip.
func (f *Fleet) openOnly(ctx context.Context, c Context) {
	m := f.member(c)
	f.members = []*member{m}
	if m.err != nil {
		return
	}
	identified := make(chan struct{})
	m.routes[0].identified = identified
	go func() {
		defer close(identified)
		m.err = f.identify(ctx, m)
	}()
}

func (f *Fleet) open(ctx context.Context, c Context) *member {
	m := f.member(c)
	if m.err == nil {
		start := f.clock.Now()
		m.err = f.identify(ctx, m)
		m.spent += f.clock.Since(start)
	}
	return m
}

// member returns the member of a context, without a request.
func (f *Fleet) member(c Context) *member {
	m := &member{context: c.Name}
	cluster, err := newCluster(c, f.clock, f.cacheDir)
	if err != nil {
		m.err = &kubecontext.Error{Context: c.Name, Err: err}
		return m
	}
	m.routes = []*Cluster{cluster}
	return m
}

// identify finds out which cluster a context reaches.
func (f *Fleet) identify(ctx context.Context, m *member) error {
	// A request that timed out may still be answered later, and must not change the cluster then.
	uid, err := within(ctx, f.timeout, m.routes[0].identity)
	if err != nil {
		return &kubecontext.Error{Context: m.context, Doing: "reach the cluster", Err: err}
	}
	m.routes[0].setUID(uid, false)
	return nil
}

// Ask asks every cluster of the fleet a question, a limited number at once. It returns one answer
// for each, in the fleet's order.
//
// The question's context ends when the cluster's time is up. A question that ignores it, such as
// one that hangs in a credential plugin, is abandoned. It must not touch what its caller reads
// without a lock.
func Ask[T any](ctx context.Context, f *Fleet, question func(context.Context, *Cluster) (T, error)) []Answer[T] {
	f.mu.RLock()
	members := slices.Clone(f.members)
	f.mu.RUnlock()
	answers := make([]Answer[T], len(members))
	f.each(len(members), func(i int) {
		defer f.waiting.add(members[i].context)()
		answers[i] = ask(ctx, f, members[i], question)
	})
	return answers
}

func ask[T any](ctx context.Context, f *Fleet, m *member, question func(context.Context, *Cluster) (T, error)) Answer[T] {
	answer := Answer[T]{Context: m.context}
	if !m.isBeingIdentified() && m.err != nil {
		answer.Err = m.err
		return answer
	}
	if answer.Err = m.routes[0].isDown(); answer.Err != nil {
		return answer
	}
	start := f.clock.Now()
	defer func() { m.spent += f.clock.Since(start) }()
	answer.Value, answer.Err = within(ctx, f.remaining(m), func(ctx context.Context) (T, error) { return question(ctx, m.routes[0]) })
	if late := (*kubecontext.TimeoutError)(nil); errors.As(answer.Err, &late) {
		// The error names the limit that was set, not the remaining time.
		answer.Err = &kubecontext.TimeoutError{After: f.timeout}
	}
	if err := m.failed(); err != nil {
		answer.Err = err
		return answer
	}
	if answer.Err != nil {
		answer.Err = kubecontext.InContext(answer.Context, "", answer.Err)
		m.routes[0].noteAnswer(answer.Err)
	}
	return answer
}

// remaining returns the time that a member has left for questions; zero means no limit.
func (f *Fleet) remaining(m *member) time.Duration {
	if f.timeout == 0 {
		return 0
	}
	return max(f.timeout-m.spent, time.Millisecond)
}

// BeginRound begins a new round of questions. Every cluster gets its whole time again, and is asked
// again what it serves. Clusters that did not answer when the fleet was opened are tried again,
// and joined with others if they turn out to be the same. Watched clusters that were asked a
// moment ago are not asked again.
func (f *Fleet) BeginRound(ctx context.Context) {
	errs := make([]error, len(f.members))
	f.each(len(f.members), func(i int) {
		m := f.members[i]
		m.spent, errs[i] = 0, m.err
		for _, route := range m.routes {
			route.forget()
			route.cache.Load().Begin()
		}
		if m.failed() != nil && len(m.routes) > 0 && m.routes[0].isDown() == nil {
			errs[i] = f.identify(ctx, m)
		}
	})
	f.mu.Lock()
	for i, m := range f.members {
		m.err = errs[i]
	}
	f.mu.Unlock()
	f.prove(ctx, f.members)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members = f.joined(f.members)
	shareAll(f.members)
}

// Clusters returns the clusters of the fleet in its order, including those that did not answer
// when it was opened. It omits only contexts whose entry in the kubeconfig is not usable.
func (f *Fleet) Clusters() []*Cluster {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var clusters []*Cluster
	for _, m := range f.members {
		if len(m.routes) > 0 {
			clusters = append(clusters, m.routes[0])
		}
	}
	return clusters
}

// Contexts returns the names under which the members of the fleet are shown.
func (f *Fleet) Contexts() []string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	names := make([]string, len(f.members))
	for i, m := range f.members {
		names[i] = m.context
	}
	return names
}

// each calls do for 0 to n-1, a limited number at once, and waits for all.
func (f *Fleet) each(n int, do func(i int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, f.parallel)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
	wg.Wait()
}

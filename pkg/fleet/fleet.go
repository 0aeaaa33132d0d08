package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Options say how a fleet is asked.
type Options struct {
	// AllNamespaces tells that questions concern all namespaces, so that
	// contexts which differ by their namespace alone are asked once.
	AllNamespaces bool
	// Stands is asked of those contexts that reach one cluster, one after the other: the
	// first for which it gives no error that is a refusal stands for the cluster. nil is
	// for the first one given.
	Stands func(context.Context, *Cluster) error
	// Timeout is how long a context may take from Open to its answer; zero is
	// without bound.
	Timeout time.Duration
	// Parallel is how many contexts are asked at once; zero means 32: those
	// that are slow keep no others waiting, and credential plugins run all at once.
	Parallel int
	// Clock measures; nil is the real one.
	Clock clock.PassiveClock
	// CacheDir is kubectl's cache folder, in which what clusters serve is cached; ""
	// is for none.
	CacheDir string
	// Waiting is told, one call at a time, which contexts are being asked and have
	// not answered so far: whenever that changes, and at last with none. nil is for
	// who does not care.
	Waiting func(contexts []string)
}

// Fleet is a set of clusters, each reached by one or more contexts.
type Fleet struct {
	// mu is for those who ask what the fleet is while it is asked again: Again changes which
	// members there are.
	mu      sync.RWMutex
	members []*member
	// allNamespaces is Options.AllNamespaces.
	allNamespaces bool

	timeout  time.Duration
	parallel int
	clock    clock.PassiveClock
	cacheDir string
	waiting  *waiting
	// retry is how long a cluster is left alone that did not answer, where it is watched.
	retry time.Duration
}

// member is one cluster of a fleet, or one context whose cluster did not answer
// when the fleet was opened.
type member struct {
	// context is the name under which it is shown.
	context string
	// ways are the contexts that reach it. The first one is asked, and the others for
	// what that one may not read. There is none where the kubeconfig's entry is not
	// usable.
	ways []*Cluster
	// spent is what questions have taken of its time so far.
	spent time.Duration
	// err is why it cannot be asked; failed waits until that is known.
	err error
}

// failed is why a member cannot be asked, nil if it can.
func (m *member) failed() error {
	if m.isBeingIdentified() {
		<-m.ways[0].identified
	}
	return m.err
}

// isBeingIdentified says whether it is not known yet which cluster it is.
func (m *member) isBeingIdentified() bool {
	if len(m.ways) == 0 || m.ways[0].identified == nil {
		return false
	}
	select {
	case <-m.ways[0].identified:
		return false
	default:
		return true
	}
}

// Answer is what one cluster answered.
type Answer[T any] struct {
	// Context is the name of the context that was asked.
	Context string
	Value   T
	// Err is why there is no answer; Value may still hold a part of one.
	Err error
}

// Open finds out which cluster each context reaches, all at once, and joins
// those that reach the same. It never fails as a whole: what is wrong with a
// context becomes its answer to every question. One of several contexts that reach
// one cluster stands for it: the first that may, by Options.Stands, in the order they
// are given in.
func Open(ctx context.Context, contexts []Context, o Options) *Fleet {
	f := &Fleet{allNamespaces: o.AllNamespaces, timeout: o.Timeout, parallel: o.Parallel, clock: o.Clock, cacheDir: o.CacheDir, waiting: &waiting{tell: o.Waiting}, retry: Soon}
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
		defer f.waiting.on(contexts[i].Name)()
		opened[i] = f.open(ctx, contexts[i])
	})

	f.prove(ctx, opened)
	f.members = f.joined(opened)
	f.stand(ctx, o.Stands)
	return f
}

// openOnly opens a fleet of one context. There is nothing to join it with, so it is asked
// which cluster it is along with the first question: over a slow line, a round trip less.
func (f *Fleet) openOnly(ctx context.Context, c Context) {
	m := f.member(c)
	f.members = []*member{m}
	if m.err != nil {
		return
	}
	identified := make(chan struct{})
	m.ways[0].identified = identified
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

// member makes one of a context, without asking it.
func (f *Fleet) member(c Context) *member {
	m := &member{context: c.Name}
	cluster, err := newCluster(c, f.clock, f.cacheDir)
	if err != nil {
		m.err = &kubecontext.Error{Context: c.Name, Err: err}
		return m
	}
	m.ways = []*Cluster{cluster}
	return m
}

// identify finds out which cluster a context leads to.
func (f *Fleet) identify(ctx context.Context, m *member) error {
	// What is given up on may answer later, and must not touch the cluster then.
	uid, err := within(ctx, f.timeout, m.ways[0].identity)
	if err != nil {
		return &kubecontext.Error{Context: m.context, Doing: "reach the cluster", Err: err}
	}
	m.ways[0].uid = uid
	return nil
}

// Ask puts a question to every cluster of the fleet, a bounded number at once.
// There is one answer for each, in the fleet's order.
//
// The question is given a context that ends when the cluster's time is up. A
// question that does not heed it, such as one that hangs in a credential
// plugin, is abandoned; it must not touch what its caller reads without a lock.
func Ask[T any](ctx context.Context, f *Fleet, question func(context.Context, *Cluster) (T, error)) []Answer[T] {
	answers := make([]Answer[T], len(f.members))
	f.each(len(f.members), func(i int) {
		defer f.waiting.on(f.members[i].context)()
		answers[i] = ask(ctx, f, f.members[i], question)
	})
	return answers
}

func ask[T any](ctx context.Context, f *Fleet, m *member, question func(context.Context, *Cluster) (T, error)) Answer[T] {
	answer := Answer[T]{Context: m.context}
	if !m.isBeingIdentified() && m.err != nil {
		answer.Err = m.err
		return answer
	}
	if answer.Err = m.ways[0].isDown(); answer.Err != nil {
		return answer
	}
	start := f.clock.Now()
	defer func() { m.spent += f.clock.Since(start) }()
	timeout := f.timeout
	if timeout > 0 {
		timeout = max(timeout-m.spent, time.Millisecond)
	}
	answer.Value, answer.Err = within(ctx, timeout, func(ctx context.Context) (T, error) { return question(ctx, m.ways[0]) })
	if late := (*kubecontext.TimeoutError)(nil); errors.As(answer.Err, &late) {
		// Told is the limit that was set, not what was left of it.
		answer.Err = &kubecontext.TimeoutError{After: f.timeout}
	}
	if err := m.failed(); err != nil {
		answer.Err = err
		return answer
	}
	if answer.Err != nil {
		answer.Err = kubecontext.InContext(answer.Context, "", answer.Err)
		m.ways[0].noteAnswer(answer.Err)
	}
	return answer
}

// Again begins a new round of questions: every cluster has its whole time again,
// is asked anew what it serves, and those that did not answer when the fleet was
// opened are tried once more. What turns out to be one of the others then is joined
// with that. Of clusters that are watched, neither is asked that has been a moment ago.
func (f *Fleet) Again(ctx context.Context) {
	f.each(len(f.members), func(i int) {
		m := f.members[i]
		m.spent = 0
		for _, way := range m.ways {
			way.forget()
			if way.memory != nil {
				way.memory.begin()
			}
		}
		if m.failed() != nil && len(m.ways) > 0 && m.ways[0].isDown() == nil {
			m.err = f.identify(ctx, m)
		}
	})
	f.prove(ctx, f.members)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members = f.joined(f.members)
}

// Clusters returns the clusters of the fleet, in its order, with those that did
// not answer when it was opened but may do so later. Only contexts whose entry in
// the kubeconfig is not usable are left out.
func (f *Fleet) Clusters() []*Cluster {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var clusters []*Cluster
	for _, m := range f.members {
		if len(m.ways) > 0 {
			clusters = append(clusters, m.ways[0])
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

// each calls do for 0 to n-1, a bounded number at once, and waits for all.
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

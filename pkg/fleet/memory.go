package fleet

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
)

// How long it is believed what no watch tells of.
const (
	// Soon is for what may change at any time: objects that may be listed and not watched,
	// and whatever failed.
	Soon = 2 * time.Second
	// Seldom is for what hardly ever changes: what a server serves, and what it refuses.
	Seldom = 30 * time.Second
	// Rarely is for what also changes its key when it changes.
	Rarely = 5 * time.Minute
	// idle is after how long watches end that nobody has asked for since.
	idle = time.Minute
)

// memory is what the server of one cluster has answered, for as long as it is true: watches
// tell of what has changed, and are what makes it differ from a cache. Of a cluster that has
// one, whoever reads the same again asks nobody.
type memory struct {
	// ctx is that of all watches.
	ctx   context.Context
	clock clock.PassiveClock
	// changed is told that something is no longer as it was read.
	changed chan<- struct{}

	mu   sync.Mutex
	kept map[string]*recollection
	// fell is told that the cluster no longer answers.
	fell chan struct{}
	// down is why the cluster does not answer, nil if it does.
	down error
	// refused is what may not be watched, by what it is called, and why.
	refused map[string]error
}

// recollection is one answer. Its fields but the first are under the memory's lock.
type recollection struct {
	// asking is held by who asks the server for it.
	asking sync.Mutex
	// isKept is whether there is an answer: err, or objects, in the order of keys, which are
	// theirs, or value.
	isKept  bool
	err     error
	keys    []string
	objects []any
	value   any
	// isExpired is that no watch has told of anything since one was begun too far back.
	isExpired bool
	// until is when it has to be asked for again; zero is not before a watch says so.
	until time.Time
	// noWatch is until when no watch is tried, since that was refused.
	noWatch time.Time
	// used is when somebody wanted it last.
	used time.Time
	stop context.CancelFunc
}

// find returns what is known by a key, which may be nothing so far.
func (m *memory) find(key string) *recollection {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.kept[key]
	if r == nil {
		r = &recollection{stop: func() {}}
		m.kept[key] = r
	}
	r.used = m.clock.Now()
	return r
}

// knows says whether an answer is there, and true.
func (m *memory) knows(r *recollection) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return r.isKept && (r.until.IsZero() || m.clock.Now().Before(r.until))
}

// has says whether there is an answer by a key, and true.
func (m *memory) has(key string) bool {
	m.mu.Lock()
	r := m.kept[key]
	m.mu.Unlock()
	return r != nil && m.knows(r)
}

// fail notes that an answer was none. What the server refuses is kept for a while; all
// else is tried again by the next one who asks.
func (m *memory) fail(r *recollection, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.stop()
	r.objects, r.keys, r.value, r.err = nil, nil, nil, err
	r.isKept = isFinal(err)
	r.until = m.clock.Now().Add(Soon)
	if r.isKept {
		r.until = m.clock.Now().Add(Seldom)
	}
}

// isFinal says whether a server will most likely say the same when it is asked again.
func isFinal(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// lose notes that a watch has ended, and that from now on nobody tells what changes.
func (m *memory) lose(r *recollection, what string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	switch {
	case isFinal(err):
		r.until, r.noWatch = now.Add(Soon), now.Add(Seldom)
		m.refused[what] = err
	case (apierrors.IsResourceExpired(err) || apierrors.IsGone(err)) && !r.isExpired:
		// The server answers, but no longer knows what has happened since.
		r.until, r.isExpired = now, true
		m.tell()
	default:
		r.until = now.Add(Soon)
	}
}

// tell tells that something has changed.
func (m *memory) tell() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// setDown notes that the cluster does not answer, or, with nil, that it does.
func (m *memory) setDown(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if (m.down == nil) == (err == nil) {
		return
	}
	m.down = err
	if err != nil {
		select {
		case m.fell <- struct{}{}:
		default:
		}
		m.forget(func(*recollection) bool { return true })
	}
	m.tell()
}

// forget ends the watches of some answers, and drops them. It is called under the lock.
func (m *memory) forget(which func(*recollection) bool) {
	for key, r := range m.kept {
		if which(r) {
			r.stop()
			r.isKept = false
			delete(m.kept, key)
		}
	}
}

// put keeps what an object is called by a key; a nil object is gone. It is called under
// the lock.
func (r *recollection) put(key string, object any) {
	i, isThere := len(r.keys), false
	if i > 0 && key <= r.keys[i-1] {
		// Lists come in the order of keys.
		i, isThere = slices.BinarySearch(r.keys, key)
	}
	switch {
	case object == nil && isThere:
		r.keys, r.objects = slices.Delete(r.keys, i, i+1), slices.Delete(r.objects, i, i+1)
	case object == nil:
	case isThere:
		r.objects[i] = object
	default:
		r.keys, r.objects = slices.Insert(r.keys, i, key), slices.Insert(r.objects, i, object)
	}
}

// Keep is what do gives, or gave less than a while ago: for what no watch tells of. Where
// clusters are not watched, it is always asked.
func Keep[T any](c *Cluster, key string, lasts time.Duration, do func() (T, error)) (T, error) {
	m := c.memory
	if m == nil {
		return do()
	}
	r := m.find(key)
	r.asking.Lock()
	defer r.asking.Unlock()
	if !m.knows(r) {
		value, err := do()
		if err != nil {
			m.fail(r, err)
			return value, err
		}
		m.mu.Lock()
		r.isKept, r.value, r.err, r.until = true, value, nil, m.clock.Now().Add(lasts)
		m.mu.Unlock()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	value, _ := r.value.(T)
	return value, r.err
}

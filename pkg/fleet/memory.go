package fleet

import (
	"context"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
)

// How long answers that no watch keeps current are trusted.
const (
	// Soon is for answers that may change at any time: objects that can be listed and not
	// watched, and errors.
	Soon = 2 * time.Second
	// Seldom is for answers that rarely change: what a server serves, and what it refuses.
	Seldom = 30 * time.Second
	// Rarely is for answers whose key changes with them.
	Rarely = 5 * time.Minute
	// idle is how long a watch continues after its last use.
	idle = time.Minute
)

// memory holds what the server of one cluster has answered. Unlike a cache, it is kept current by
// watches. Repeated reads of the cluster are answered from it without requests.
type memory struct {
	// ctx is the context of all watches.
	ctx   context.Context
	clock clock.PassiveClock
	// changed receives a value when something differs from what was read.
	changed chan<- struct{}

	mu   sync.Mutex
	kept map[string]*recollection
	// fell receives a value when the cluster stops answering.
	fell chan struct{}
	// down is the reason why the cluster does not answer; nil if it does.
	down error
	// refused are the errors of refused watches, by Source.What.
	refused map[string]error
}

// recollection is one answer. The memory's lock protects its fields, except asking.
type recollection struct {
	// asking is held during the request to the server.
	asking sync.Mutex
	// isKept is whether there is an answer: err, or value, or objects sorted by their keys.
	isKept  bool
	err     error
	keys    []string
	objects []any
	value   any
	// isExpired is whether a watch started too far back, and none has delivered an event since.
	isExpired bool
	// until is when the answer expires; zero if only a watch ends it.
	until time.Time
	// noWatch is until when no watch is tried, because one was refused.
	noWatch time.Time
	// used is the time of the last use.
	used time.Time
	stop context.CancelFunc
}

// find returns the recollection of a key, which may be empty.
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

// knows reports whether a recollection has a current answer.
func (m *memory) knows(r *recollection) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return r.isKept && (r.until.IsZero() || m.clock.Now().Before(r.until))
}

// hasCurrent reports whether a key has a current answer.
func (m *memory) hasCurrent(key string) bool {
	m.mu.Lock()
	r := m.kept[key]
	m.mu.Unlock()
	return r != nil && m.knows(r)
}

// fail records a failed request. Refusals of the server are kept for a while. After other errors,
// the next reader tries again.
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

// isFinal reports whether a server would most likely give the same answer again.
func isFinal(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// lose records the end of a watch: from now on, nothing reports changes.
func (m *memory) lose(r *recollection, what string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	switch {
	case isFinal(err):
		r.until, r.noWatch = now.Add(Soon), now.Add(Seldom)
		m.refused[what] = err
	case (apierrors.IsResourceExpired(err) || apierrors.IsGone(err)) && !r.isExpired:
		// The server answers, but no longer has the history.
		r.until, r.isExpired = now, true
		m.notifyChange()
	default:
		r.until = now.Add(Soon)
	}
}

// notifyChange reports that something has changed.
func (m *memory) notifyChange() {
	select {
	case m.changed <- struct{}{}:
	default:
	}
}

// setDown records that the cluster does not answer or, with nil, that it does.
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
	m.notifyChange()
}

// forget drops some answers and ends their watches. The caller holds the lock.
func (m *memory) forget(which func(*recollection) bool) {
	for key, r := range m.kept {
		if which(r) {
			r.stop()
			r.isKept = false
			delete(m.kept, key)
		}
	}
}

// put sets the object of a key; a nil object removes it. The caller holds the lock.
func (r *recollection) put(key string, object any) {
	i, isThere := len(r.keys), false
	if i > 0 && key <= r.keys[i-1] {
		// Lists arrive in the order of keys, so appending is the common case.
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

// Keep calls do and returns its result, or an earlier result that is younger than lasts. It is
// for answers that no watch keeps current. If the cluster is not watched, it always calls do.
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

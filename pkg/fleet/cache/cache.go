package cache

import (
	"context"
	"maps"
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

// Cache holds what the server of one cluster has answered. Watches keep it current. Repeated reads
// of the cluster are answered from it without requests. A nil Cache keeps nothing.
type Cache struct {
	// Link tells whether the cluster answers. When it does not, the Cache forgets everything.
	Link *Link
	// ctx is the context of all watches.
	ctx   context.Context
	clock clock.PassiveClock
	// changed receives a value when something differs from what was read.
	changed chan<- struct{}

	mu   sync.Mutex
	kept map[string]*entry
	// refused are the errors of refused watches, by Source.What.
	refused map[string]error
}

// New returns an empty Cache, which watches until ctx is done. changed receives a value when
// something differs from what was read. down is why the cluster does not answer; nil if it does.
func New(ctx context.Context, now clock.PassiveClock, changed chan<- struct{}, down error) *Cache {
	c := &Cache{ctx: Quiet(ctx), clock: now, changed: changed, kept: map[string]*entry{}, refused: map[string]error{}}
	c.Link = &Link{Lost: func(error) { c.clear() }, Recovered: c.notifyChange, err: down}
	return c
}

// Begin starts a new round of reads, and forgets answers that were not used for a while.
func (c *Cache) Begin() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	c.forget(func(e *entry) bool { return now.Sub(e.used) > idle })
}

// WatchFailures returns why resources could not be watched, by Source.What.
func (c *Cache) WatchFailures() map[string]error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.refused)
}

// entry is one answer. The lock of the Cache protects its fields, except asking.
type entry struct {
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

// find returns the entry of a key, which may be empty.
func (c *Cache) find(key string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.kept[key]
	if e == nil {
		e = &entry{stop: func() {}}
		c.kept[key] = e
	}
	e.used = c.clock.Now()
	return e
}

// knows reports whether an entry has a current answer.
func (c *Cache) knows(e *entry) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return e.isKept && (e.until.IsZero() || c.clock.Now().Before(e.until))
}

// HasCurrent reports whether a key has a current answer.
func (c *Cache) HasCurrent(key string) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	e := c.kept[key]
	c.mu.Unlock()
	return e != nil && c.knows(e)
}

// fail records a failed request. Refusals of the server are kept for a while. After other errors,
// the next reader tries again.
func (c *Cache) fail(e *entry, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.stop()
	e.objects, e.keys, e.value, e.err = nil, nil, nil, err
	e.isKept = isFinal(err)
	e.until = c.clock.Now().Add(Soon)
	if e.isKept {
		e.until = c.clock.Now().Add(Seldom)
	}
}

// isFinal reports whether a server would most likely give the same answer again.
func isFinal(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// lose records the end of a watch: from now on, nothing reports changes.
func (c *Cache) lose(e *entry, what string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	switch {
	case isFinal(err):
		e.until, e.noWatch = now.Add(Soon), now.Add(Seldom)
		c.refused[what] = err
	case (apierrors.IsResourceExpired(err) || apierrors.IsGone(err)) && !e.isExpired:
		// The server answers, but no longer has the history.
		e.until, e.isExpired = now, true
		c.notifyChange()
	default:
		e.until = now.Add(Soon)
	}
}

// notifyChange reports that something has changed.
func (c *Cache) notifyChange() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// clear drops all answers.
func (c *Cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(func(*entry) bool { return true })
	c.notifyChange()
}

// forget drops some answers and ends their watches. The caller holds the lock.
func (c *Cache) forget(which func(*entry) bool) {
	for key, e := range c.kept {
		if which(e) {
			e.stop()
			e.isKept = false
			delete(c.kept, key)
		}
	}
}

// put sets the object of a key; a nil object removes it. The caller holds the lock.
func (e *entry) put(key string, object any) {
	i, isThere := len(e.keys), false
	if i > 0 && key <= e.keys[i-1] {
		// Lists arrive in the order of keys, so appending is the common case.
		i, isThere = slices.BinarySearch(e.keys, key)
	}
	switch {
	case object == nil && isThere:
		e.keys, e.objects = slices.Delete(e.keys, i, i+1), slices.Delete(e.objects, i, i+1)
	case object == nil:
	case isThere:
		e.objects[i] = object
	default:
		e.keys, e.objects = slices.Insert(e.keys, i, key), slices.Insert(e.objects, i, object)
	}
}

// Keep calls do and returns its result, or an earlier result that is younger than lasts. It is
// for answers that no watch keeps current. Without a Cache, it always calls do.
func Keep[T any](c *Cache, key string, lasts time.Duration, do func() (T, error)) (T, error) {
	if c == nil {
		return do()
	}
	e := c.find(key)
	e.asking.Lock()
	defer e.asking.Unlock()
	if !c.knows(e) {
		value, err := do()
		if err != nil {
			c.fail(e, err)
			return value, err
		}
		c.mu.Lock()
		e.isKept, e.value, e.err, e.until = true, value, nil, c.clock.Now().Add(lasts)
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	value, _ := e.value.(T)
	return value, e.err
}

package logs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

const (
	// lookAgain is how often it is looked where a Job runs that has no pods so far:
	// what it waits for may stand anywhere.
	lookAgain = 2 * time.Second
	// lookAnyway is how often while its logs are read, should a change go untold.
	lookAnyway = 30 * time.Second
)

// Tracker follows the logs of a Job wherever it runs, until it has ended.
type Tracker struct {
	*Reader
	// Look reads the fleet anew. From the first time on, Changed tells when it is worth to look
	// again.
	Look    func(context.Context) *inspect.Inventory
	Changed <-chan struct{}
	// Client makes a client for the cluster that a context reaches.
	Client func(kubeContext string) (kubernetes.Interface, error)
	// Home is the context where a user expects the pods.
	Home string

	// subject is the Job; at is where it was found last, with what was seen there.
	at Placement
	// active are those objects whose logs are being read, and ended tells of each
	// that all was read.
	active []*activity
	ended  chan *activity
	// read are those that were read before.
	read  map[activityKey]bool
	slots chan struct{}
	told  string
	errs  []error
}

// activityKey tells one reading from another: of an object that comes to have other
// pods, these are read too.
type activityKey struct{ context, uid, podValue string }

func keyOf(j *inspect.Job) activityKey { return activityKey{j.Context, j.UID, j.PodLabelValue()} }

// activity is the reading of the logs of one object's pods.
type activity struct {
	key    activityKey
	job    *inspect.Job
	over   chan struct{}
	isOver bool
	err    error
}

func (a *activity) end() {
	if !a.isOver {
		a.isOver = true
		close(a.over)
	}
}

// Run follows the Job from where it was found until it has ended and all is read, or
// ctx is over. It returns the inventory of the last look.
func (t *Tracker) Run(ctx context.Context, v *inspect.Inventory, at Placement) (*inspect.Inventory, error) {
	t.at, t.ended, t.read, t.slots = at, make(chan *activity), map[activityKey]bool{}, make(chan struct{}, max(1, t.MaxRequests))
	ctx, cancel := context.WithCancel(ctx)
	defer t.drain()
	defer cancel()
	isGone := false
	// What was found before Run began, nobody has watched since.
	for isNew := true; ; isNew = false {
		if err := t.update(ctx, v, isGone); err != nil {
			return v, err
		}
		if len(t.active) == 0 && (isGone || t.at.End != "") {
			t.tellEnd(isGone)
			return v, errors.Join(t.errs...)
		}
		if !isNew {
			if err := t.wait(ctx); err != nil {
				return v, err
			}
		}
		v = t.Look(ctx)
		if err := context.Cause(ctx); err != nil {
			return v, err
		}
		isGone = t.find(v)
	}
}

// HasRead reports whether Run has read any pod.
func (t *Tracker) HasRead() bool { return len(t.read) > 0 }

// wait waits until it is worth to look again.
func (t *Tracker) wait(ctx context.Context) error {
	interval := lookAnyway
	if len(t.active) == 0 {
		interval = lookAgain
		if t.at.Why != t.told {
			t.told = t.at.Why
			t.note("note: waiting for pods: " + t.at.Why)
		}
	}
	timer := t.Clock.NewTimer(interval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C():
	case <-t.Changed:
	case a := <-t.ended:
		t.active = slices.DeleteFunc(t.active, func(other *activity) bool { return other == a })
		switch {
		case a.err != nil && !a.isOver:
			return a.err
		case a.err != nil:
			t.errs = append(t.errs, a.err)
		}
	}
	return nil
}

// find finds the Job again, and says whether it is gone.
func (t *Tracker) find(v *inspect.Inventory) (isGone bool) {
	for _, pair := range v.Subjects() {
		if isSame(t.at.Pair, pair) {
			t.at = Place(v, pair)
			return false
		}
	}
	for _, j := range t.at.Pair.Jobs() {
		if f := v.Facts(j.Context); f == nil || f.Err != nil {
			// It may be there.
			t.at.Jobs, t.at.Why = nil, fmt.Sprintf("context %s could not be read", j.Context)
			return false
		}
	}
	t.at.Jobs = nil
	return true
}

// isSame says whether two pairs are about one Job: they have the origin in common,
// or a mirror where one of the origins is not known.
func isSame(a, b inspect.Pair) bool {
	if a.Origin != nil && b.Origin != nil {
		return a.Origin.UID == b.Origin.UID
	}
	return slices.ContainsFunc(a.Mirrors, func(m inspect.Mirror) bool {
		return slices.ContainsFunc(b.Mirrors, func(other inspect.Mirror) bool { return other.Job.UID == m.Job.UID })
	})
}

// update starts to read what has come, and lets what has gone come to its end.
func (t *Tracker) update(ctx context.Context, v *inspect.Inventory, isGone bool) error {
	for _, a := range t.active {
		if isGone || t.hasEnded(v, a) {
			a.end()
		}
	}
	for _, j := range t.at.Jobs {
		target := Target{Job: j}
		if key := keyOf(j); t.read[key] || !target.hasPods() {
			continue
		}
		client, err := t.Client(j.Context)
		if err != nil {
			return target.failed("read logs", err)
		}
		target.Client = client
		t.start(ctx, v, target)
	}
	return nil
}

// hasEnded says whether nothing more will come of an object. One whose cluster does
// not answer may go on.
func (t *Tracker) hasEnded(v *inspect.Inventory, a *activity) bool {
	f := v.Facts(a.job.Context)
	if f == nil || f.Err != nil {
		return false
	}
	for _, j := range f.Jobs {
		if keyOf(j) == a.key {
			return j.Status.IsFinished()
		}
	}
	return f.Gaps[inspect.PartOf(a.job.Row())] == nil
}

func (t *Tracker) start(ctx context.Context, v *inspect.Inventory, target Target) {
	a := &activity{key: keyOf(target.Job), job: target.Job, over: make(chan struct{})}
	if target.Job.Status.IsFinished() {
		a.end()
	}
	if target.Job.Context != t.Home || len(t.read) > 0 {
		t.note(Where(t.at, target.Job))
	}
	if !a.isOver && !hasPods(v, target.Job) {
		t.note("note: no pods so far: " + t.at.Why)
	}
	t.Home, t.told = target.Job.Context, ""
	t.read[a.key] = true
	t.active = append(t.active, a)
	go func() {
		a.err = t.Follow(ctx, target, a.over, t.slots)
		t.ended <- a
	}()
}

// Where says which cluster's pods are read.
func Where(p Placement, j *inspect.Job) string {
	text := fmt.Sprintf("note: reading the pods of %s on %s", Target{Job: j}, j.Context)
	if o := p.Pair.Origin; o != nil && o != j {
		text += "; its origin is on " + o.Context
	}
	return text
}

// drain waits for what is being read to notice that it is over.
func (t *Tracker) drain() {
	for range t.active {
		<-t.ended
	}
}

func (t *Tracker) tellEnd(isGone bool) {
	text := "was deleted"
	if t.at.End != "" {
		text = "has ended: " + t.at.End
	} else if !isGone {
		return
	}
	t.note(fmt.Sprintf("note: %s %s", Target{Job: t.at.home()}, text))
}

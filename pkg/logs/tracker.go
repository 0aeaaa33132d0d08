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
	// idleInterval is the interval of reads of the fleet for a Job without Pods, which may start on
	// any cluster.
	idleInterval = 2 * time.Second
	// readingInterval is the interval while its logs are read, in case a change is not reported.
	readingInterval = 30 * time.Second
)

// Tracker follows the logs of a Job wherever it runs, until it has ended.
type Tracker struct {
	*Reader
	// ReadFleet reads the fleet again. After the first call, Changed receives a value at each change
	// of the fleet.
	ReadFleet func(context.Context) *inspect.Inventory
	Changed   <-chan struct{}
	// Client returns a client for the cluster of a context.
	Client func(kubeContext string) (kubernetes.Interface, error)
	// Home is the context where the user expects the Pods.
	Home string

	// tracked is the Job, and placement its latest placement.
	tracked   inspect.Tracked
	placement Placement
	// active are the objects whose logs are being read. ended receives each when everything is
	// read.
	active []*activity
	ended  chan *activity
	// read are the objects that were read before.
	read        map[activityKey]bool
	slots       chan struct{}
	reportedWhy string
	errs        []error
}

// activityKey identifies a reading. If an object gets other Pods, these are read, too.
type activityKey struct{ uid, podValue string }

func keyOf(j *inspect.Job) activityKey { return activityKey{j.UID, j.PodLabelValue()} }

// activity reads the logs of one object's Pods.
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

// Run follows the Job from its first placement until it has ended and everything is read, or ctx
// is done. It returns the inventory of the last look.
func (t *Tracker) Run(ctx context.Context, v *inspect.Inventory, at Placement) (*inspect.Inventory, error) {
	t.tracked.See(v, at.Pair)
	t.placement, t.ended, t.read, t.slots = at, make(chan *activity), map[activityKey]bool{}, make(chan struct{}, max(1, t.MaxRequests))
	ctx, cancel := context.WithCancel(ctx)
	defer t.drain()
	defer cancel()
	isGone := false
	// Nothing has watched the first placement since it was found.
	for isNew := true; ; isNew = false {
		if err := t.update(ctx, v, isGone); err != nil {
			return v, err
		}
		if len(t.active) == 0 && (isGone || t.placement.End != "") {
			t.reportEnd(isGone)
			return v, errors.Join(t.errs...)
		}
		if !isNew {
			if err := t.wait(ctx); err != nil {
				return v, err
			}
		}
		v = t.ReadFleet(ctx)
		if err := context.Cause(ctx); err != nil {
			return v, err
		}
		isGone = t.find(v)
	}
}

// HasRead reports whether Run has read any Pod.
func (t *Tracker) HasRead() bool { return len(t.read) > 0 }

// wait waits until the fleet must be read again.
func (t *Tracker) wait(ctx context.Context) error {
	interval := readingInterval
	if len(t.active) == 0 {
		interval = idleInterval
		if t.placement.Why != t.reportedWhy {
			t.reportedWhy = t.placement.Why
			t.note("note: waiting for Pods: " + t.placement.Why)
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

// find finds the Job again, and reports whether it is gone.
func (t *Tracker) find(v *inspect.Inventory) (isGone bool) {
	t.placement, isGone = Again(v, &t.tracked, t.placement)
	return isGone
}

// update starts to read new objects, and ends the readings of those that are gone.
func (t *Tracker) update(ctx context.Context, v *inspect.Inventory, isGone bool) error {
	for _, a := range t.active {
		if isGone || t.hasEnded(v, a) {
			a.end()
		}
	}
	for _, j := range t.placement.Jobs {
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

// hasEnded reports whether an object has no more output. On a cluster that does not answer, it
// may still have.
func (t *Tracker) hasEnded(v *inspect.Inventory, a *activity) bool {
	part := inspect.PartOf(a.job.Row())
	isComplete := true
	for _, f := range v.Clusters {
		for _, j := range f.Jobs {
			if keyOf(j) == a.key {
				return j.Status.IsFinished()
			}
		}
		isComplete = isComplete && f.Err == nil && f.Gaps[part] == nil
	}
	// A cluster that several contexts reach may have the name of another one now.
	if f := v.Facts(a.job.Context); f != nil {
		isComplete = f.Err == nil && f.Gaps[part] == nil
	}
	return isComplete
}

func (t *Tracker) start(ctx context.Context, v *inspect.Inventory, target Target) {
	a := &activity{key: keyOf(target.Job), job: target.Job, over: make(chan struct{})}
	if target.Job.Status.IsFinished() {
		a.end()
	}
	if target.Job.Context != t.Home || len(t.read) > 0 {
		t.note(Where(t.placement, target.Job))
	}
	if !a.isOver && !hasPods(v, target.Job) {
		t.note("note: no Pods so far: " + t.placement.Why)
	}
	t.Home, t.reportedWhy = target.Job.Context, ""
	t.read[a.key] = true
	t.active = append(t.active, a)
	go func() {
		a.err = t.Follow(ctx, target, a.over, t.slots)
		t.ended <- a
	}()
}

// Where describes which cluster's Pods are read.
func Where(p Placement, j *inspect.Job) string {
	text := fmt.Sprintf("note: reading the Pods of %s on %s", Target{Job: j}, j.Context)
	if o := p.Pair.Origin; o != nil && o != j {
		text += "; its origin is on " + o.Context
	}
	return text
}

// drain waits until the readings have ended.
func (t *Tracker) drain() {
	for range t.active {
		<-t.ended
	}
}

func (t *Tracker) reportEnd(isGone bool) {
	text := "was deleted"
	if t.placement.End != "" {
		text = "has ended: " + t.placement.End
	} else if !isGone {
		return
	}
	t.note(fmt.Sprintf("note: %s %s", Target{Job: t.placement.subject()}, text))
}

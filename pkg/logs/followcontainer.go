package logs

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// containerFollower follows the log of one container, from run to run.
type containerFollower struct {
	*follower
	pod     *pod
	reading *reading
	// done is the last run that was read; nil if none was.
	done *run
	// isReopened says that the log of that run was asked for more than once.
	isReopened bool
}

// run follows the container until it will not write any more.
func (c *containerFollower) run() {
	for c.ctx.Err() == nil {
		o, isGone, changed := c.pod.latest()
		s := stateOf(o, c.reading.container.Name)
		if !isGone {
			c.tellWaiting(c.target, o, c.reading.container.Name, s)
		}
		switch {
		case s.hasLog && (c.done == nil || !c.done.is(s.run)):
			c.read(o, s)
			continue
		case isGone || isFinal(o):
			return
		}
		select {
		case <-c.ctx.Done():
		case <-changed:
		case <-c.over:
			// The watch may be behind.
			if fresh, err := c.get(); err != nil || c.isRead(fresh) {
				return
			}
		}
	}
}

// isRead says whether nothing more is to be had of a pod.
func (c *containerFollower) isRead(o *corev1.Pod) bool {
	s := stateOf(o, c.reading.container.Name)
	return !s.hasLog || c.done != nil && c.done.is(s.run)
}

// errGone is that a pod is not there any more.
var errGone = errors.New("the pod is gone")

// get asks how the pod is now, and notes it.
func (c *containerFollower) get() (*corev1.Pod, error) {
	known, _, _ := c.pod.latest()
	o, err := c.target.Client.CoreV1().Pods(known.Namespace).Get(c.ctx, known.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && o.UID != known.UID:
		c.pod.gone()
		return nil, errGone
	case err != nil:
		return nil, err
	}
	trim(o)
	c.pod.take(o)
	o, _, _ = c.pod.latest()
	return o, nil
}

// read reads the log of a run to its end, however many connections that takes.
func (c *containerFollower) read(o *corev1.Pod, s state) {
	release, ok := c.slot()
	if !ok {
		return
	}
	defer release()
	if c.done != nil {
		c.readPrevious(s.run)
	}
	c.done, c.isReopened = new(s.run), false
	a := attempt{pod: o, state: s}
	for !c.advance(&a) {
		// While nothing was asked the container may have been restarted.
		if a.delay > 0 && (!c.pause(a.delay) || c.isOverWith(&a)) {
			return
		}
		c.isReopened = true
	}
}

// attempt is where the reading of a run stands.
type attempt struct {
	pod   *corev1.Pod
	state state
	// err is how the last connection ended, nil if well; isFollowed says that one
	// ended well on which the log was followed.
	err        error
	isFollowed bool
	// failures are those since a line was read last, and delay is how long to wait
	// before the next connection; zero is not at all.
	failures int
	delay    time.Duration
}

// advance connects once, and says whether the run is read to its end, or as far as
// it can be.
func (c *containerFollower) advance(a *attempt) (isDone bool) {
	follow, before := a.state.isRunning && !c.isEnough(a.pod), c.reading.taken
	err := c.connect(a.pod, follow)
	if c.ctx.Err() != nil || c.isFatal(err) {
		return true
	}
	if err == nil || c.reading.taken > before {
		a.failures = 0
	}
	a.err = err
	if err == nil {
		a.isFollowed = follow
	} else {
		a.failures++
		c.tellFailure(err)
	}
	if c.isOverWith(a) {
		return true
	}
	isLast := !a.state.isRunning || c.isEnough(a.pod)
	switch {
	case err == nil && !follow:
		c.tellLingering(a)
		return true
	case err == nil && isLast:
		// It ended while it was followed: what came last is asked for, at once.
		a.delay = 0
	case isLast && (a.failures >= tries || isClosed(c.enough)):
		c.giveUp(err)
		return true
	default:
		a.delay = min(soon<<max(0, a.failures-1), late)
	}
	return false
}

// isOverWith asks how the pod is now, and says whether there is nothing more to read
// of the run.
func (c *containerFollower) isOverWith(a *attempt) bool {
	o, err := c.get()
	switch {
	case errors.Is(err, errGone):
		if a.err != nil && !a.isFollowed {
			c.giveUp(fmt.Errorf("%w before all of it was read", errGone))
		}
		return true
	case err != nil:
		// The next connection tells.
		return false
	}
	s := stateOf(o, c.reading.container.Name)
	if !s.run.is(a.state.run) {
		// What is missing of this run is read with the next one.
		return true
	}
	a.pod, a.state = o, s
	return false
}

// pause waits before the next connection, and says whether there is to be one.
func (c *containerFollower) pause(d time.Duration) bool {
	enough := c.enough
	if isClosed(enough) {
		enough = nil
	}
	timer := c.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.ctx.Done():
		return false
	case <-timer.C():
	case <-enough:
	}
	return true
}

// isEnough says whether a pod is not followed any longer. One that was told to end
// is.
func (c *containerFollower) isEnough(o *corev1.Pod) bool {
	return isClosed(c.enough) && o.DeletionTimestamp == nil
}

// connect reads the log on one connection; nil is that it ended well.
func (c *containerFollower) connect(o *corev1.Pod, follow bool) error {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	if follow && o.DeletionTimestamp == nil {
		go func() {
			select {
			case <-c.enough:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	body, err := c.reading.open(ctx, follow, false)
	if err == nil {
		c.link.told(nil)
		err = c.reading.pass(body, !follow)
	} else if ctx.Err() == nil {
		c.link.told(err)
	}
	if err != nil && ctx.Err() != nil && !isSink(err) {
		return nil
	}
	return err
}

// readPrevious reads what is left of the run before the present one.
func (c *containerFollower) readPrevious(now run) {
	if lost := now.number - c.done.number - 2; lost > 0 {
		c.note(fmt.Sprintf("note: container %s of pod %s was restarted %d times while it could not be read: of %d runs in between the logs are gone",
			c.reading.container.Name, c.reading.container.Pod, now.number-c.done.number, lost))
	}
	// That there is none is nothing to tell: most likely all was read.
	err := c.reading.once(c.ctx, true)
	if err != nil && !isRefused(err) && c.ctx.Err() == nil {
		err = c.reading.once(c.ctx, true)
	}
	if c.isFatal(err) {
		return
	}
	c.reading.restart(!c.isReopened)
}

// slot waits until one more log may be read. ok is false where there is no time left
// for that.
func (c *containerFollower) slot() (release func(), ok bool) {
	release = func() { <-c.slots }
	select {
	case c.slots <- struct{}{}:
		return release, true
	default:
	}
	c.noteOnce("slots", fmt.Sprintf("note: the logs of %d containers are followed at once, and others have to wait until one of them ends; --max-log-requests raises that", cap(c.slots)))
	select {
	case c.slots <- struct{}{}:
		return release, true
	case <-c.ctx.Done():
		return nil, false
	}
}

// isFatal ends everything where it is of no use to go on.
func (c *containerFollower) isFatal(err error) bool {
	switch {
	case isSink(err):
		c.fail(err)
	case isForbidden(err):
		c.fail(c.reading.failed(err))
	default:
		return false
	}
	return true
}

// tellFailure tells that a kubelet does not answer; that a cluster does not is told
// for all of its containers together.
func (c *containerFollower) tellFailure(err error) {
	if isRefused(err) {
		c.noteOnce("failure "+c.reading.container.Pod+" "+c.reading.container.Name, "note: "+c.reading.failed(err).Error()+"; it is tried again")
	}
}

// giveUp tells that a log could not be read, or not wholly.
func (c *containerFollower) giveUp(err error) {
	c.mu.Lock()
	c.unread++
	c.mu.Unlock()
	c.note("error: " + c.reading.failed(err).Error())
}

// tellLingering tells of a container that goes on although its object has ended.
func (c *containerFollower) tellLingering(a *attempt) {
	if a.state.isRunning {
		c.note(fmt.Sprintf("note: container %s of pod %s goes on, and is not followed any longer", c.reading.container.Name, c.reading.container.Pod))
	}
}

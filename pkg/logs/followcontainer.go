package logs

import (
	"fmt"

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
			if !c.get() || c.isRead() {
				return
			}
		}
	}
}

// isRead says whether nothing more is to be had of the container by now.
func (c *containerFollower) isRead() bool {
	o, _, _ := c.pod.latest()
	s := stateOf(o, c.reading.container.Name)
	return !s.hasLog || c.done != nil && c.done.is(s.run)
}

// get asks how the pod is now, and notes it: latest tells. ok is false where it
// could not be known.
func (c *containerFollower) get() (ok bool) {
	known, _, _ := c.pod.latest()
	o, err := c.target.Client.CoreV1().Pods(known.Namespace).Get(c.ctx, known.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && o.UID != known.UID:
		c.pod.gone()
	case err != nil:
		return false
	default:
		trim(o)
		c.pod.take(o)
	}
	return true
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
	if err != nil && isRefused(err) {
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
		c.note(fmt.Sprintf("note: container %s of pod %s still runs; stopped following it", c.reading.container.Name, c.reading.container.Pod))
	}
}

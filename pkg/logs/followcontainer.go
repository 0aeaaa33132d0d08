package logs

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// containerFollower follows the log of one container, from run to run.
type containerFollower struct {
	*follower
	pod     *pod
	reading *reading
	// done is the last run that was read; nil if none was.
	done *run
	// isReopened is whether the log of that run was requested more than once.
	isReopened bool
}

// run follows the container until it cannot write any more.
func (c *containerFollower) run() {
	for c.ctx.Err() == nil {
		o, isGone, changed := c.pod.latest()
		s := stateOf(o, c.reading.container.Name)
		if !isGone {
			c.reportWaiting(c.target, o, c.reading.container.Name, s)
		}
		switch {
		case s.hasLog && (c.done == nil || !c.done.equals(s.run)):
			c.read(o, s)
			continue
		case isGone || isFinal(o):
			return
		}
		select {
		case <-c.ctx.Done():
		case <-changed:
		case <-c.jobEnded:
			// The watch may be behind.
			if !c.get() || c.isRead() {
				return
			}
		}
	}
}

// isRead reports whether the container has no more to read at present.
func (c *containerFollower) isRead() bool {
	o, _, _ := c.pod.latest()
	s := stateOf(o, c.reading.container.Name)
	return !s.hasLog || c.done != nil && c.done.equals(s.run)
}

// get reads the Pod, and stores it for latest. ok is false if that failed.
func (c *containerFollower) get() (ok bool) {
	known, _, _ := c.pod.latest()
	o, err := c.target.Client.CoreV1().Pods(known.Namespace).Get(c.ctx, known.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && o.UID != known.UID:
		c.pod.markGone()
	case err != nil:
		return false
	default:
		trim(o)
		c.pod.take(o)
	}
	return true
}

// read reads the log of a run to its end, over as many connections as that takes.
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
		// The container may have restarted during the pause.
		if a.delay > 0 && (!c.pause(a.delay) || c.isReadCompletely(&a)) {
			return
		}
		c.isReopened = true
	}
}

// slot waits until one more log may be read. ok is false if ctx is done first.
func (c *containerFollower) slot() (release func(), ok bool) {
	release = func() { <-c.slots }
	select {
	case c.slots <- struct{}{}:
		return release, true
	default:
	}
	c.noteOnce("slots", fmt.Sprintf("note: following %d logs at once; others start when one of them ends. Raise the limit with --max-log-requests", cap(c.slots)))
	select {
	case c.slots <- struct{}{}:
		return release, true
	case <-c.ctx.Done():
		return nil, false
	}
}

// isFatal ends the follower if continuing is useless.
func (c *containerFollower) isFatal(err error) bool {
	switch {
	case isSink(err):
		c.fail(err)
	case apierrors.IsForbidden(err):
		c.fail(c.reading.failed(err))
	default:
		return false
	}
	return true
}

// reportFailure reports a kubelet that does not answer. A cluster that does not answer is
// reported once for all of its containers.
func (c *containerFollower) reportFailure(err error) {
	if err != nil && kubecontext.IsAnswer(err) {
		c.noteOnce("failure "+c.reading.container.Pod+" "+c.reading.container.Name, "note: "+c.reading.failed(err).Error()+"; retrying")
	}
}

// giveUp reports a log that could not be read completely.
func (c *containerFollower) giveUp(err error) {
	c.mu.Lock()
	c.unread++
	c.mu.Unlock()
	c.note("error: " + c.reading.failed(err).Error())
}

// reportLingering reports a container that still runs although its object has ended.
func (c *containerFollower) reportLingering(a *attempt) {
	if a.state.isRunning {
		c.note(fmt.Sprintf("note: container %s of Pod %s still runs; stopped following it", c.reading.container.Name, c.reading.container.Pod))
	}
}

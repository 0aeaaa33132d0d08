package logs

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// attempt is the state of reading a run.
type attempt struct {
	pod   *corev1.Pod
	state state
	// err is the error of the last connection. isFollowed is whether a connection that followed
	// the log has ended without an error.
	err        error
	isFollowed bool
	// failures counts the errors since the last line was read. delay is the wait before the next
	// connection; zero means none.
	failures int
	delay    time.Duration
}

// note records the end of a connection. hasRead is whether it brought any line.
func (a *attempt) note(err error, follow, hasRead bool) {
	a.err = err
	if err == nil || hasRead {
		a.failures = 0
	}
	if err == nil {
		a.isFollowed = follow
	} else {
		a.failures++
	}
}

// advance connects once, and reports whether the run is read to its end, or as far as possible.
func (c *containerFollower) advance(a *attempt) (isDone bool) {
	follow, before := a.state.isRunning && !c.mayStop(a.pod), c.reading.lineCount
	err := c.connect(a.pod, follow)
	if c.ctx.Err() != nil || c.isFatal(err) {
		return true
	}
	a.note(err, follow, c.reading.lineCount > before)
	if c.isReadCompletely(a) {
		return true
	}
	c.reportFailure(err)
	switch isLast := !a.state.isRunning || c.mayStop(a.pod); {
	case err == nil && !follow:
		c.reportLingering(a)
		return true
	case err == nil && isLast:
		// The run ended while it was followed: its last lines are requested immediately.
		a.delay = 0
	case isLast && (a.failures >= maxTries || isClosed(c.lingerEnded)):
		c.giveUp(err)
		return true
	default:
		a.delay = min(firstDelay<<max(0, a.failures-1), maxDelay)
	}
	return false
}

// isReadCompletely reads the Pod, and reports whether the run has no more to read.
func (c *containerFollower) isReadCompletely(a *attempt) bool {
	// If the server does not answer, the last event of the watch has to suffice.
	c.get()
	o, isGone, _ := c.pod.latest()
	if isGone {
		if a.err != nil && !a.isFollowed {
			c.giveUp(errors.New("the Pod was deleted before its log was read completely"))
		}
		return true
	}
	s := stateOf(o, c.reading.container.Name)
	if !s.run.equals(a.state.run) {
		// The rest of this run is read with the next one.
		return true
	}
	a.pod, a.state = o, s
	return false
}

// pause waits before the next connection, and reports whether there should be one.
func (c *containerFollower) pause(d time.Duration) bool {
	lingerEnded := c.lingerEnded
	if isClosed(lingerEnded) {
		lingerEnded = nil
	}
	timer := c.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.ctx.Done():
		return false
	case <-timer.C():
	case <-lingerEnded:
	}
	return true
}

// mayStop reports whether a Pod is no longer followed. Terminating Pods are followed until their
// end.
func (c *containerFollower) mayStop(o *corev1.Pod) bool {
	return isClosed(c.lingerEnded) && o.DeletionTimestamp == nil
}

// connect reads the log on one connection. Nil means that it ended normally.
func (c *containerFollower) connect(o *corev1.Pod, follow bool) error {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	if follow && o.DeletionTimestamp == nil {
		go func() {
			select {
			case <-c.lingerEnded:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	body, err := c.reading.open(ctx, follow, false)
	if err == nil {
		c.answered(nil)
		err = c.reading.pass(body, !follow)
	} else if ctx.Err() == nil {
		c.answered(err)
	}
	if err != nil && ctx.Err() != nil && !isSink(err) {
		return nil
	}
	return err
}

// readPrevious reads the rest of the run before the current one.
func (c *containerFollower) readPrevious(now run) {
	if lost := now.number - c.done.number - 2; lost > 0 {
		c.note(fmt.Sprintf("note: container %s of Pod %s was restarted %d times while it could not be read; the logs of %s are lost",
			c.reading.container.Name, c.reading.container.Pod, now.number-c.done.number, inspect.Count(int(lost), "run")))
	}
	err := c.reading.readOnce(c.ctx, true)
	for n := 1; err != nil && !kubecontext.IsAnswer(err) && n < maxTries && c.pause(firstDelay); n++ {
		err = c.reading.readOnce(c.ctx, true)
	}
	switch {
	case c.ctx.Err() != nil || c.isFatal(err):
		return
	case err != nil && !kubecontext.IsAnswer(err):
		c.giveUp(err)
	default:
		// A missing previous log is not reported: most likely all of it was read.
	}
	c.reading.restart(!c.isReopened)
}

package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// ErrNoPods means that the targets have no Pods at all.
var ErrNoPods = errors.New("no Pods")

// prefetched is the number of logs that are requested in advance, so that many short logs do not cost
// a round trip each.
const prefetched = 8

const (
	// maxTries is the number of requests for a log that should exist.
	maxTries = 5
	// firstDelay is the delay before the first retry. It doubles each time, up to maxDelay.
	firstDelay, maxDelay = time.Second, 10 * time.Second
)

// Read reads the existing logs of all targets, one container after the other: by completion
// index, and replaced Pods by age. It returns ErrNoPods if there are no Pods.
func (r *Reader) Read(ctx context.Context, targets []Target) error {
	var readings []*reading
	seen, waiting := 0, []string(nil)
	for _, t := range targets {
		pods, err := t.list(ctx)
		if err != nil {
			return err
		}
		seen += len(pods)
		for _, pod := range pods {
			found, why := r.readable(t, pod)
			readings = append(readings, found...)
			waiting = append(waiting, why...)
		}
	}
	switch {
	case seen == 0:
		return ErrNoPods
	case len(readings) == 0:
		return r.errUnreadable(waiting)
	}
	return r.readSequentially(ctx, readings)
}

// readable returns the containers of a Pod whose logs can be read, and why others cannot.
func (r *Reader) readable(t Target, pod *corev1.Pod) (found []*reading, waiting []string) {
	for _, name := range r.choose(t, pod) {
		switch s := stateOf(pod, name); {
		case r.Previous && !hasPrevious(pod, name):
		case s.hasLog:
			found = append(found, r.newReading(t, pod.Name, name, false))
			r.reportWaiting(t, pod, name, s)
		case isFinal(pod):
			waiting = append(waiting, fmt.Sprintf("container %s of Pod %s never ran: %s", name, pod.Name, pod.Status.Reason))
		default:
			waiting = append(waiting, fmt.Sprintf("container %s of Pod %s has not started", name, pod.Name))
			r.reportWaiting(t, pod, name, s)
		}
	}
	return found, waiting
}

// reportWaiting reports once why a container does not run.
func (r *Reader) reportWaiting(t Target, pod *corev1.Pod, name string, s state) {
	if s.reason == "" {
		return
	}
	key := fmt.Sprintf("waits %s %s %s %s", t.Job.Context, pod.UID, name, s.reason)
	r.noteOnce(key, fmt.Sprintf("note: container %s of Pod %s waits: %s", name, pod.Name, s.why()))
}

// errUnreadable returns the reason why nothing can be read of existing Pods.
func (r *Reader) errUnreadable(waiting []string) error {
	const few = 3
	switch {
	case r.Previous:
		return errors.New("no container was restarted, so there is no previous log. For a replaced Pod, remove --previous")
	case len(waiting) == 0:
		return fmt.Errorf("no Pod has a container %q", r.Container)
	case len(waiting) > few:
		waiting = append(waiting[:few], fmt.Sprintf("and %d more", len(waiting)-few))
	}
	return errors.New("no output yet: " + strings.Join(waiting, "; "))
}

// opened is a log that was requested in advance.
type opened struct {
	body io.ReadCloser
	err  error
}

// readSequentially reads logs one after the other.
func (r *Reader) readSequentially(ctx context.Context, readings []*reading) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	logs := make([]chan opened, len(readings))
	ask := func(i int) {
		logs[i] = make(chan opened, 1)
		go func() {
			body, err := readings[i].open(ctx, false, r.Previous)
			logs[i] <- opened{body, err}
		}()
	}
	window := max(1, min(prefetched, r.MaxRequests))
	for i := range min(window, len(readings)) {
		ask(i)
	}
	failed := 0
	for i, g := range readings {
		log := <-logs[i]
		if next := i + window; next < len(readings) {
			ask(next)
		}
		err := g.finish(ctx, log)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case isSink(err), apierrors.IsForbidden(err):
			return err
		default:
			failed++
			r.note("error: " + err.Error())
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d logs were not read completely", failed, len(readings))
	}
	return nil
}

// finish reads a requested log, and requests it again if it breaks off.
func (g *reading) finish(ctx context.Context, log opened) error {
	delay := firstDelay
	for n := 1; ; n++ {
		err := log.err
		if err == nil {
			err = g.pass(log.body, true)
		}
		switch {
		case err == nil, isSink(err):
			return err
		case kubecontext.IsAnswer(err) || n == maxTries || ctx.Err() != nil:
			return g.failed(err)
		}
		if err := g.wait(ctx, delay); err != nil {
			return err
		}
		delay = min(2*delay, maxDelay)
		log.body, log.err = g.open(ctx, false, g.Previous)
	}
}

// wait waits for a duration.
func (r *Reader) wait(ctx context.Context, d time.Duration) error {
	timer := r.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C():
		return nil
	}
}

package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/kubectl/pkg/util/term"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/tracing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// blockedPeriod is how long a Job must be blocked, without a further step, before the probe stops:
// a controller may be in the middle of a step.
const blockedPeriod = 10 * time.Second

// The reasons for which a probe stops following its Job.
var (
	errStatusBack = errors.New("the status is back")
	errBlocked    = errors.New("the Job is blocked")
	errTimeout    = errors.New("--timeout has passed")
	errGone       = errors.New("another client deleted the Job during the probe")
)

// follower follows the Job of a probe until its status is back.
type follower struct {
	util.Environment
	fleet  *fleet.Fleet
	tracer *tracing.Tracer
	report *inspect.ProbeReport
	line   *stepLine
	// last is the time of the last step. blockedSince is zero while the Job is not blocked.
	last, blockedSince time.Time
	// isUnread is set if the last reading could not read the manager.
	isUnread bool
}

// reading is the result of one read. Its time makes each reading different, because Display shows
// only values that have changed.
type reading struct {
	At     time.Time
	traced *tracing.Traced
}

// run follows the Job until its status is back, until the Job is blocked, or until ctx ends. It
// returns one of the errors above, or the cause of ctx.
func (f *follower) run(ctx context.Context) error {
	display := &util.Display[reading]{
		Environment: f.Environment,
		Read: func(ctx context.Context) (reading, error) {
			return reading{f.Clock.Now(), f.tracer.Read(ctx, f.fleet)}, nil
		},
		Show: f.judge,
	}
	return display.Run(ctx, f.fleet)
}

// judge records the steps that a reading shows, and ends the probe by returning an error.
func (f *follower) judge(r reading) error {
	now := f.Clock.Now()
	f.line.draw(f.report, now.Sub(f.last))
	manager := r.traced.Inventory.Facts(f.report.Context)
	f.isUnread = manager == nil || manager.Err != nil
	if f.isUnread {
		return nil
	}
	f.report.Errors = r.traced.List.Errors
	for i, p := range r.traced.Pairs {
		if p.Origin != nil && p.Origin.UID == f.report.UID && p.Origin.DeletedAt == nil {
			return f.judgePair(r.traced.Inventory, p, &r.traced.List.Items[i], now)
		}
	}
	return errGone
}

func (f *follower) judgePair(v *inspect.Inventory, p inspect.Pair, t *inspect.Trace, now time.Time) error {
	before := f.last
	f.last = f.report.Observe(v.ProbeSteps(p), f.last, now)
	f.report.Trace = t
	if name := v.ProbeCluster(p); name != "" {
		f.report.Cluster = name
	}
	f.line.draw(f.report, now.Sub(f.last))
	isBlocked := t.State == inspect.StateBlocked && f.last.Equal(before)
	switch {
	case f.report.Step(inspect.ProbeReported).State == inspect.StepDone:
		return errStatusBack
	case t.State == inspect.StateFailed:
		return errBlocked
	case !isBlocked:
		f.blockedSince = time.Time{}
	case f.blockedSince.IsZero():
		f.blockedSince = now
	case now.Sub(f.blockedSince) >= blockedPeriod:
		return errBlocked
	}
	return nil
}

// stepLine is the line on a terminal that shows the progress of a probe.
type stepLine struct {
	// line is nil if there is no terminal.
	line *printers.WaitLine
}

func newStepLine(env util.Environment) *stepLine {
	tty := term.TTY{Out: env.ErrOut}
	if name, _ := env.LookupEnv("TERM"); !tty.IsTerminalOut() || name == "dumb" {
		return &stepLine{}
	}
	width := 0
	if size := tty.GetSize(); size != nil {
		width = int(size.Width)
	}
	return &stepLine{printers.NewWaitLine(env.ErrOut, width)}
}

// draw shows the awaited step.
func (l *stepLine) draw(r *inspect.ProbeReport, waited time.Duration) {
	if s := r.Stopped(); l.line != nil && s != nil {
		l.line.Draw(fmt.Sprintf("probe %s/%s: waiting for %q (%ds)", r.Namespace, r.Name, printers.ProbeStepText(s.Name), int(waited.Seconds())))
	}
}

// clear removes the line.
func (l *stepLine) clear() {
	if l.line != nil {
		l.line.Clear()
	}
}

package logs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/running"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/logs"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// The pause between two searches for a Job is nine times as long as a search, so that they take
// no more than a tenth of a core, but at most maxPause, since clusters may answer slowly.
const (
	pauseFactor = 9
	maxPause    = time.Second
)

// logsRun is a call of logs whose Job was found.
type logsRun struct {
	*logsOptions
	job    *running.FoundJob
	reader *logs.Reader
}

func (o *logsOptions) Run(ctx context.Context) error {
	// isPrinting stops the progress line, which must not appear between printed lines.
	var isPrinting atomic.Bool
	job, err := o.Find(ctx, &isPrinting)
	if err != nil {
		return err
	}
	isPrinting.Store(true)
	inventory, at := job.Inventory, job.At
	r := &logsRun{logsOptions: o, job: job}
	r.reader = &logs.Reader{
		Options: o.logs, Clock: o.Clock,
		Sink: printers.NewLogs(o.Out, printers.LogOptions{Prefix: r.prefixes(at), Color: o.WantsColor(o.Flags.Color)}),
		Note: func(text string) { util.Report(o.ErrOut, "%s", text) },
	}
	isComplete := true
	if o.follow && !at.IsHopeless() {
		inventory, isComplete, err = r.track(ctx, inventory, at)
	} else {
		err = r.read(ctx, at)
	}
	if stopped := util.Interrupted(ctx); stopped != nil {
		return stopped
	}
	if unread := logs.Unread(inventory); err == nil && !isComplete && len(unread) > 0 {
		return util.Partial(unread, job.Fleet)
	}
	return err
}

// prefixes returns the lines that have a prefix. If a Job will have several pods, the first ones
// already have it.
func (r *logsRun) prefixes(at logs.Placement) printers.PrefixMode {
	isMany := func(n *int32) bool { return n != nil && *n > 1 }
	hasMany := func(j *inspect.Job) bool { return isMany(j.Parallelism) || isMany(j.Completions) }
	if r.prefix == printers.PrefixSeveral && r.follow && slices.ContainsFunc(at.Jobs, hasMany) {
		return printers.PrefixAlways
	}
	return r.prefix
}

// read reads the current logs. If a cluster does not answer, it reads the others, and returns a
// *util.PartialError.
func (r *logsRun) read(ctx context.Context, at logs.Placement) error {
	var targets []logs.Target
	var unreached []error
	for _, j := range at.Jobs {
		client, err := r.job.Client(ctx, j.Context)
		if err != nil {
			unreached = append(unreached, err)
			continue
		}
		if j.Context != r.Contexts[0].Name {
			r.reader.Note(logs.Where(at, j))
		}
		targets = append(targets, logs.Target{Job: j, Client: client})
	}
	if len(targets) == 0 && len(unreached) > 0 {
		return util.JoinErrors(unreached)
	}
	err := r.reader.Read(ctx, targets)
	if errors.Is(err, logs.ErrNoPods) {
		err = fmt.Errorf("no logs of %s: %s", r.What, at.Why)
	}
	if len(unreached) == 0 {
		return err
	}
	for _, one := range unreached {
		util.Report(r.ErrOut, "error: %v", one)
	}
	return util.JoinErrors([]error{err, &util.PartialError{Failed: len(unreached), Total: len(r.job.Fleet.Contexts())}})
}

// track follows the Job. The result is incomplete if no pod was found.
func (r *logsRun) track(ctx context.Context, v *inspect.Inventory, at logs.Placement) (last *inspect.Inventory, isComplete bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var nextSearch time.Time
	tracker := &logs.Tracker{
		Reader: r.reader, Home: r.Contexts[0].Name, Changed: r.job.Fleet.Watch(ctx),
		Client: func(kubeContext string) (kubernetes.Interface, error) { return r.job.Client(ctx, kubeContext) },
		ReadFleet: func(ctx context.Context) *inspect.Inventory {
			r.waitUntil(ctx, nextSearch)
			start := r.Clock.Now()
			r.job.Fleet.BeginRound(ctx)
			found := r.job.Read(ctx)
			end := r.Clock.Now()
			nextSearch = end.Add(min(pauseFactor*end.Sub(start), maxPause))
			return found
		},
	}
	last, err = tracker.Run(ctx, v, at)
	return last, tracker.HasRead(), err
}

func (r *logsRun) waitUntil(ctx context.Context, nextSearch time.Time) {
	timer := r.Clock.NewTimer(nextSearch.Sub(r.Clock.Now()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

// Package wait waits until a Job is admitted, runs or has finished, wherever it runs.
package wait

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/tracing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// The conditions of --for.
const (
	forAdmitted = "admitted"
	forRunning  = "running"
	forFinished = "finished"
)

func conditions() []string { return []string{forAdmitted, forRunning, forFinished} }

// waitFlags are wait's flags as the user gave them.
type waitFlags struct {
	*util.GlobalFlags
	condition string
	timeout   time.Duration
}

// waitOptions are the checked options of wait.
type waitOptions struct {
	util.Environment
	flags     *util.GlobalFlags
	contexts  []fleet.Context
	wanted    read.Wanted
	condition string
	timeout   time.Duration
}

// NewCommand returns the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &waitFlags{GlobalFlags: global}
	completer := complete.New(env, global)
	cmd := &cobra.Command{
		Use: "wait [KIND/]NAME [--for=running|admitted|finished] [options]",

		DisableFlagsInUseLine: true,
		Short:                 "Wait until a Job runs, is admitted or has finished",
		Long: `Wait until a Job is in a state, on the cluster that runs it. If it is already in that
state, wait ends at once. Each change is printed on standard error, with its reason.

  admitted   Kueue has admitted the Job, or it needs no queue
  running    Pods of the Job run (the default), or the Job is Complete
  finished   the Job is Complete or Failed. Refused for kinds that run until
             they are deleted, such as RayService

NAME is the name of the origin or of the mirror. wait looks for it in all contexts of the
kubeconfig, or in those of --contexts. --timeout includes the time to reach them.

The exit code is 0 if the Job reached the state, 5 if it failed, and 124 after
--timeout.`,
		Example: strings.ReplaceAll(`  # Wait until a Job really runs, for at most ten minutes
  NAME wait train -n ml --timeout=10m

  # Wait until a cluster has admitted a JobSet
  NAME wait jobset/sweep -n ml --for=admitted

  # Fail a pipeline if its Job fails, wherever it runs
  NAME wait train -n ml --for=finished`, "NAME", env.DisplayName()),
		Args: util.ExactlyOne("the Job's name", "[KIND/]NAME"),

		ValidArgsFunction: util.FirstOnly(completer.Func(completer.Objects(util.EveryContext))),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.condition, "for", forRunning, "What to wait for. One of: ("+strings.Join(conditions(), ", ")+")")
	util.Describe(cmd, util.ForFollowing, util.OneOf(conditions()...), "for")
	flags.DurationVar(&f.timeout, "timeout", 0, "How long to wait, before exit code 124. 0s waits without limit")
	util.Describe(cmd, util.ForFollowing, util.OneOf("1m", "10m", "1h"), "timeout")
	f.RefuseFrom(cmd, "a snapshot never changes. trace --from shows the state of the Job in it")
	cmd.RunE = util.Runs(func(args []string) (*waitOptions, error) { return f.toOptions(env, args) })
	return cmd
}

func (f *waitFlags) toOptions(env util.Environment, args []string) (*waitOptions, error) {
	o := &waitOptions{Environment: env, flags: f.GlobalFlags, condition: strings.ToLower(f.condition), timeout: f.timeout}
	var err error
	o.wanted, err = util.ParseJobName(args)
	// Jobs, whose Kind is "", and kinds that are not in the table may end.
	kind, isKnown := delegation.KindNamed(o.wanted.Kind)
	switch {
	case err != nil:
	case !slices.Contains(conditions(), o.condition):
		err = fmt.Errorf("unknown --for %q; choose one of %s", f.condition, strings.Join(conditions(), ", "))
	case o.condition == forFinished && isKnown && kind.NeverEnds() && !kind.Template:
		err = fmt.Errorf("--for=%s: %ss run until they are deleted. Use --for=%s", forFinished, kind.Kind, forRunning)
	case f.timeout < 0:
		err = errors.New("--timeout must not be negative")
	}
	if err != nil {
		return nil, &util.UsageError{Err: err}
	}
	if o.contexts, err = f.Load(&o.Environment, util.EveryContext); err != nil {
		return nil, err
	}
	util.OneNamespace(o.contexts)
	o.wanted.Namespace = o.contexts[0].Namespace
	return o, nil
}

// errReached ends a wait whose condition holds.
var errReached = errors.New("reached")

// errTimeout is the cause with which --timeout ends the context of a wait. It never changes, since
// client-go may read its text at any time. The timeoutError that the user gets has the last state of
// the Job.
var errTimeout = errors.New("--timeout has passed")

// timeoutError is returned if --timeout ended the wait.
type timeoutError struct {
	what, condition string
	timeout         time.Duration
	// last is the last known state of the Job.
	last string
}

// ExitCode is 124.
func (e *timeoutError) ExitCode() int { return util.ExitTimeout }

func (e *timeoutError) Error() string {
	text := fmt.Sprintf("%s is not %s after %s", e.what, e.condition, e.timeout)
	if e.last == "" {
		return text + "; its state was not read in that time"
	}
	return text + ": " + e.last
}

// failedError is returned if the Job failed.
type failedError struct{ what, why string }

// ExitCode is 5.
func (e *failedError) ExitCode() int { return util.ExitFailed }

func (e *failedError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("%s failed: %s", e.what, e.why), ": ")
}

// progress is the shown state of a Job.
type progress struct {
	State   inspect.JobState
	Phrase  string
	Message string
	// isAdmitted is whether a cluster has started the Job, although its Pods cannot be created.
	isAdmitted bool
}

func (p *progress) String() string {
	return strings.TrimSuffix(strings.TrimSuffix(p.Phrase+". "+p.Message, ". "), ".")
}

// waiter waits for a Job.
type waiter struct {
	*waitOptions
	fleet  *fleet.Fleet
	tracer tracing.Tracer
	// what names the Job. tracked is where it was seen, and last is its state; nil before the first
	// reading.
	what    string
	tracked inspect.Tracked
	last    *progress
}

// Run waits.
func (o *waitOptions) Run(ctx context.Context) error {
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.timeout, errTimeout)
		defer cancel()
	}
	kind := cmp.Or(o.wanted.Kind, delegation.Job().Name)
	w := &waiter{waitOptions: o, what: fmt.Sprintf("%s %s/%s", kind, o.wanted.Namespace, o.wanted.Name)}
	err := w.run(ctx, kind)
	if errors.Is(err, errTimeout) || w.fleet == nil && errors.Is(context.Cause(ctx), errTimeout) {
		late := &timeoutError{what: w.what, condition: o.condition, timeout: o.timeout}
		if w.last != nil {
			late.last = w.last.String()
		}
		return late
	}
	if !errors.Is(err, errReached) {
		return err
	}
	_, err = fmt.Fprintf(o.Out, "%s is %s\n", w.what, w.last.Phrase)
	return err
}

// run waits until the condition holds, and then returns errReached.
func (w *waiter) run(ctx context.Context, kind string) (err error) {
	if w.fleet, err = w.flags.Reach(ctx, w.Environment, w.contexts, []string{kind}); err != nil {
		return err
	}
	w.tracer = tracing.Tracer{
		Wanted: w.wanted, Addresses: w.flags.Addresses(w.contexts, w.fleet), Reach: w.CommandReach(w.flags), Confirmer: w.flags.NewConfirmer(), Now: w.Clock.Now,
	}
	display := &util.Display[*progress]{
		Environment: w.Environment,
		Read:        w.read,
		Show: func(p *progress) error {
			w.last = p
			util.Report(w.ErrOut, "%s  %s: %s", w.Clock.Now().Format(time.TimeOnly), w.what, p)
			return w.judge(w.what, p)
		},
	}
	return display.Run(ctx, w.fleet)
}

// read reads the Job as trace does, so that both show the same reason. If a cluster that had the Job
// does not answer, it returns the last state.
func (w *waiter) read(ctx context.Context) (*progress, error) {
	traced := w.tracer.Read(ctx, w.fleet)
	inventory := traced.Inventory
	subjects := w.subjects(traced.Pairs)
	switch unread := w.tracked.UnreadIn(inventory); {
	case len(subjects) == 0 && len(unread) > 0:
		return &progress{State: w.last.State, Phrase: w.last.Phrase, Message: "Last known state; cannot read " + strings.Join(unread, ", ")}, nil
	case len(subjects) == 0 && w.last != nil:
		return nil, fmt.Errorf("%s was deleted during the wait", w.what)
	case len(subjects) == 0:
		return nil, util.NotFound(ctx, w.Environment, w.fleet, w.wanted, inventory)
	case len(subjects) > 1:
		var places []string
		for _, p := range subjects {
			places = append(places, p.Jobs()[0].Context)
		}
		return nil, fmt.Errorf("%d Jobs are called %s, on %s; choose one with --contexts", len(subjects), command.Argument(subjects[0].Jobs()[0].Row(), w.wanted.Name), strings.Join(places, ", "))
	}
	w.tracked.See(inventory, subjects[0])
	t := traceOf(traced, subjects[0])
	return progressOf(t, subjects[0]), nil
}

// progressOf returns the progress of a traced Job. A mirror without an origin may still run and end, so its
// own status counts.
func progressOf(t *inspect.Trace, p inspect.Pair) *progress {
	if t.State != inspect.StateOrphan {
		isStarted := func(m inspect.Mirror) bool { return m.Job.Status == delegation.Pending && m.Job.StartTime != nil }
		return &progress{State: t.State, Phrase: t.Phrase(), Message: t.Message, isAdmitted: slices.ContainsFunc(p.Current(), isStarted)}
	}
	state, result := answer.OfMirror(p.Mirrors[0].Job)
	alone := *t
	alone.State = state
	return &progress{State: alone.State, Phrase: alone.Phrase(), Message: strings.TrimSpace(result + " " + t.Message)}
}

// subjects returns the Job to wait for: every one of that name at first, later the one that was seen.
// Another of the same name, on another cluster or created since, is not meant.
func (w *waiter) subjects(all []inspect.Pair) []inspect.Pair {
	if w.last == nil {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(p inspect.Pair) bool { return !w.tracked.Has(p) })
}

// traceOf returns the trace of one of the pairs that were read.
func traceOf(traced *tracing.Traced, p inspect.Pair) *inspect.Trace {
	i := slices.IndexFunc(traced.Pairs, func(o inspect.Pair) bool { return o.Jobs()[0] == p.Jobs()[0] })
	return &traced.List.Items[i]
}

// judge ends the wait with an error: errReached if the condition holds, or a failedError if the
// Job failed.
func (o *waitOptions) judge(what string, p *progress) error {
	reached := map[string][]inspect.JobState{
		forAdmitted: {inspect.StateStarting, inspect.StateFailing, inspect.StateRunning, inspect.StateDuplicate, inspect.StateComplete},
		forRunning:  {inspect.StateRunning, inspect.StateDuplicate, inspect.StateComplete},
		forFinished: {inspect.StateComplete},
	}
	switch {
	case p.State == inspect.StateFailed:
		return &failedError{what, p.Message}
	case p.State == inspect.StateTemplate:
		return fmt.Errorf("%s does not run itself; name one of the objects that it created", what)
	case slices.Contains(reached[o.condition], p.State), o.condition == forAdmitted && p.State == inspect.StateBlocked && p.isAdmitted:
		return errReached
	}
	return nil
}

package dispatch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// refusedError is returned if preflight found blocking problems, which were printed before.
type refusedError struct {
	// noun is the kind of the objects, such as "Job".
	noun           string
	refused, total int
	worker         string
}

func (e *refusedError) Error() string {
	if e.total == 1 {
		return fmt.Sprintf("the %s cannot run on %s as it is; created nothing there", e.noun, e.worker)
	}
	return fmt.Sprintf("%d of %d %ss cannot run on %s as they are; created nothing there for them", e.refused, e.total, e.noun, e.worker)
}

// splitAccepted returns the Jobs that can be dispatched, and the errors of the others.
func (o *dispatchOptions) splitAccepted(candidates []*candidate) (accepted []*candidate, errs []error) {
	refused := 0
	for _, c := range candidates {
		switch {
		case !o.hasSeveralWorkers() && len(c.verdicts) > 0 && c.verdicts[0].err != nil:
			errs = append(errs, c.verdicts[0].err)
		case c.refused():
			refused++
		default:
			accepted = append(accepted, c)
		}
	}
	if refused > 0 {
		errs = append(errs, &refusedError{noun: nounOf(candidates), refused: refused, total: len(candidates), worker: o.target()})
	}
	return accepted, errs
}

// nounOf returns the kind of the candidates, or "object" if their kinds differ.
func nounOf(candidates []*candidate) string {
	for _, c := range candidates {
		if c.kind.Kind != candidates[0].kind.Kind {
			return "object"
		}
	}
	return candidates[0].kind.Kind
}

// failedError is returned if dispatched Jobs failed.
type failedError struct {
	// noun is the kind of the objects, such as "Job".
	noun          string
	failed, total int
}

func (e *failedError) ExitCode() int { return util.ExitFailed }

func (e *failedError) Error() string {
	if e.total == 1 {
		return fmt.Sprintf("the %s failed", e.noun)
	}
	return fmt.Sprintf("%d of %d %ss failed", e.failed, e.total, e.noun)
}

// timeoutError is returned if --timeout has ended the command.
type timeoutError struct{ timeout string }

func (e *timeoutError) ExitCode() int { return util.ExitTimeout }
func (e *timeoutError) Error() string { return "the Jobs have not ended within --timeout " + e.timeout }

// resultError returns one error for the ends of all Jobs, nil if all completed.
func (o *dispatchOptions) resultError(ctx context.Context, outcomes []dispatch.Outcome) error {
	var errs []error
	failed, isTimeout := 0, false
	for _, outcome := range outcomes {
		switch outcome.End {
		case dispatch.JobFailed, dispatch.Cancelled:
			failed++
		case dispatch.TimedOut:
			isTimeout = true
		case dispatch.OriginDeleted:
			errs = append(errs, fmt.Errorf("%s was deleted before it ended", outcome.Origin.WithKind()))
		case dispatch.Aborted:
			errs = append(errs, outcome.Err)
		default:
		}
	}
	if failed > 0 {
		noun := outcomes[0].Kind.Kind
		if slices.ContainsFunc(outcomes, func(other dispatch.Outcome) bool { return other.Kind.Kind != noun }) {
			noun = "object"
		}
		errs = append(errs, &failedError{noun: noun, failed: failed, total: len(outcomes)})
	}
	if isTimeout {
		errs = append(errs, &timeoutError{timeout: o.flags.timeout.String()})
	}
	return util.JoinErrors(append(errs, util.Interrupted(ctx)))
}

// printOutcomes prints the worker and the end of each Job, if there are several workers.
func (o *dispatchOptions) printOutcomes(outcomes []dispatch.Outcome) {
	if o.hasSeveralWorkers() && o.flags.output == "" {
		_ = printers.Outcomes(o.Out, outcomes, o.table())
	}
}

// maxPrintedNames is the maximum number of names in a printed command.
const maxPrintedNames = 10

// printNextCommands prints the commands that resume or cancel the unfinished Jobs. A Job whose
// mirror was removed is unfinished, too.
func (o *dispatchOptions) printNextCommands(outcomes []dispatch.Outcome) {
	if o.flags.output != "" {
		return
	}
	commands := NewResumeCommands(o.called, o.origin.Name, nameList(o.workers))
	byNamespace := map[string][]string{}
	for _, outcome := range outcomes {
		unfinished := []dispatch.EventType{dispatch.Detached, dispatch.Interrupted, dispatch.TimedOut}
		if slices.Contains(unfinished, outcome.End) {
			byNamespace[outcome.Origin.Namespace] = append(byNamespace[outcome.Origin.Namespace], command.Argument(outcome.Kind, outcome.Origin.Name))
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		names := byNamespace[namespace]
		if len(names) > maxPrintedNames && o.flags.labelSelector != "" {
			names = []string{"-l", o.flags.labelSelector}
			if !slices.Equal(o.flags.kinds, []string{delegation.Job().Name}) {
				names = append(names, "--kinds", strings.Join(o.flags.kinds, ","))
			}
		}
		util.Report(o.ErrOut, "to resume: %s", o.Line(commands.Resume(namespace, names)))
		util.Report(o.ErrOut, "to cancel: %s", o.Line(commands.Cancel(namespace, names)))
	}
}

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
		case !o.isList() && len(c.verdicts) > 0 && c.verdicts[0].err != nil:
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

// nounOf returns the noun for one of the candidates.
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

// lateError is returned if --timeout has ended the command.
type lateError struct{ after string }

func (e *lateError) ExitCode() int { return util.ExitTimeout }
func (e *lateError) Error() string { return "the Jobs have not ended within --timeout " + e.after }

// judge makes one error of how the Jobs ended.
func (o *dispatchOptions) judge(ctx context.Context, outcomes []dispatch.Outcome) error {
	var errs []error
	failed, late := 0, false
	for _, outcome := range outcomes {
		switch outcome.End {
		case dispatch.JobFailed, dispatch.Cancelled:
			failed++
		case dispatch.TimedOut:
			late = true
		case dispatch.OriginDeleted:
			errs = append(errs, fmt.Errorf("%s was deleted before it ended", outcome.Origin.WithKind()))
		case dispatch.Aborted:
			errs = append(errs, outcome.Err)
		default:
		}
	}
	if failed > 0 {
		what := outcomes[0].Kind.Kind
		if slices.ContainsFunc(outcomes, func(other dispatch.Outcome) bool { return other.Kind.Kind != what }) {
			what = "object"
		}
		errs = append(errs, &failedError{noun: what, failed: failed, total: len(outcomes)})
	}
	if late {
		errs = append(errs, &lateError{after: o.flags.timeout.String()})
	}
	return util.Joined(append(errs, util.Interrupted(ctx)))
}

// sum prints where each Job is or was, if there was a choice.
func (o *dispatchOptions) sum(outcomes []dispatch.Outcome) {
	if o.isList() && o.flags.output == "" {
		_ = printers.Outcomes(o.Out, outcomes, o.table())
	}
}

// manyNames is the number of names that are too many for a command for people.
const manyNames = 10

// hint prints the commands that resume open Jobs, and that end them. The origin of a mirror that
// was removed is open, too.
func (o *dispatchOptions) hint(outcomes []dispatch.Outcome) {
	if o.flags.output != "" {
		return
	}
	commands := NewAgain(o.Environment, o.called, o.origin.Name, nameList(o.workers))
	byNamespace := map[string][]string{}
	for _, outcome := range outcomes {
		unended := []dispatch.EventType{dispatch.Detached, dispatch.Interrupted, dispatch.TimedOut}
		if slices.Contains(unended, outcome.End) {
			byNamespace[outcome.Origin.Namespace] = append(byNamespace[outcome.Origin.Namespace], command.Argument(outcome.Kind, outcome.Origin.Name))
		}
	}
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		names := byNamespace[namespace]
		if len(names) > manyNames && o.flags.labelSelector != "" {
			names = []string{"-l", o.flags.labelSelector}
			if !slices.Equal(o.flags.Kinds, []string{delegation.Job().Name}) {
				names = append(names, "--kinds", strings.Join(o.flags.Kinds, ","))
			}
		}
		util.Report(o.ErrOut, "to resume: %s", commands.GoOn(namespace, names).Shell())
		util.Report(o.ErrOut, "to end it: %s", commands.EndIt(namespace, names).Shell())
	}
}

package recreate

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/writing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/recreate"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

// notGoneError is returned if --timeout passed before the old Job was gone.
type notGoneError struct{ error }

func (e *notGoneError) ExitCode() int { return util.ExitTimeout }
func (e *notGoneError) Unwrap() error { return e.error }

func (o *recreateOptions) Run(ctx context.Context) error {
	clusters, _, err := writing.Connect(ctx, o.Environment, o.flags.GlobalFlags, []fleet.Context{o.context})
	if err != nil {
		return err
	}
	cluster := clusters[o.context.Name]
	kind, err := writing.FindKinds(cluster).Named(ctx, o.target.Kind)
	if err != nil {
		return err
	}
	o.replace.Kind, o.replace.Context = kind, cluster.Context
	old, err := writing.Read(ctx, cluster, kind, o.context.Namespace, o.target.Name)
	if interrupted := util.Interrupted(ctx); interrupted != nil {
		return interrupted
	}
	if err != nil {
		return err
	}
	if old == nil {
		return fmt.Errorf("context %q: %s %q not found in namespace %q. Name the namespace with -n", cluster.Context, o.noun(), o.target.Name, o.context.Namespace)
	}
	o.replace.Submitted = recreate.FindSubmitted(ctx, cluster, kind, old)
	if interrupted := util.Interrupted(ctx); interrupted != nil {
		return interrupted
	}
	plan, err := recreate.New(old, o.replace)
	if err != nil {
		return fmt.Errorf("context %q: %w", cluster.Context, err)
	}
	r := &recreate.Runner{Cluster: cluster, DeletionTimeout: o.flags.timeout, Backup: o.flags.backup, OnBlocked: o.printFinalizers}
	r.DescribeHolder = func(ctx context.Context, k delegation.Kind, job *unstructured.Unstructured) (string, command.Prose, error) {
		return dispatch.DescribeHolder(ctx, cluster, o.Clock, k, job)
	}
	r.ReadOnly = o.flags.dryRun == writing.DryRunClient
	err = r.Check(ctx, plan)
	if interrupted := util.Interrupted(ctx); interrupted != nil {
		return interrupted
	}
	if err != nil {
		return fmt.Errorf("%w; nothing was changed", err)
	}
	if r.Backup == "" {
		r.Backup = plan.BackupName(o.Clock.Now())
	}
	if err := recreate.CheckBackup(r.Backup); err != nil {
		return err
	}
	if err := o.show(plan); err != nil {
		return err
	}
	if o.flags.dryRun != writing.DryRunNone {
		return o.report(plan.New)
	}
	return o.replaceJob(ctx, r, plan)
}

// replaceJob asks for confirmation, saves the old Job, and replaces it.
func (o *recreateOptions) replaceJob(ctx context.Context, r *recreate.Runner, plan *recreate.Replacement) error {
	if err := o.confirm(ctx); err != nil {
		return err
	}
	if err := plan.WriteBackup(r.Backup, r.Cluster.Context, o.Clock.Now()); err != nil {
		return err
	}
	util.Report(o.ErrOut, "saved the old %s in %s", o.noun(), r.Backup)
	if err := util.Interrupted(ctx); err != nil {
		return err
	}
	shown := o.showInterruption(ctx, r)
	created, err := r.Run(ctx, plan)
	shown()
	if notGone := (*recreate.NotGoneError)(nil); errors.As(err, &notGone) {
		return &notGoneError{err}
	}
	if err == nil {
		err = o.report(created)
	}
	return util.JoinErrors([]error{err, util.Interrupted(ctx)})
}

// showInterruption says why an interrupted command does not end at once: while the old Job is deleted
// and the new one does not exist, the user would have none. end waits until that is printed.
func (o *recreateOptions) showInterruption(ctx context.Context, r *recreate.Runner) (end func()) {
	var printing sync.Mutex
	blocked := r.OnBlocked
	r.OnBlocked = func(finalizers []string) {
		printing.Lock()
		defer printing.Unlock()
		blocked(finalizers)
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		printing.Lock()
		defer printing.Unlock()
		util.Report(o.ErrOut, "note: interrupted; the command ends once the new %s exists", o.noun())
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

// show prints the changes of the Job. If the new Job is printed as a document, standard output
// has only that, and the diff is shown only with the question.
func (o *recreateOptions) show(plan *recreate.Replacement) error {
	table := printers.TableOptions{Color: o.WantsColor(o.flags.Color)}
	size, isTerminal := o.Terminal()
	if isTerminal {
		table.Width = int(size.Width)
	}
	to := o.Out
	if o.format != nil {
		to, table.Color = o.ErrOut, o.flags.Color == util.ColorAlways
		if o.flags.yes || o.flags.dryRun != writing.DryRunNone {
			for _, warning := range plan.Warnings {
				util.Report(o.ErrOut, "warning: %s", warning)
			}
			return nil
		}
	}
	name := o.context.Namespace + "/" + o.target.Name
	return printers.Replacement(to, plan, name+" on "+o.context.Name+", now", name+", recreated", table)
}

// confirm asks whether to continue, and returns an error unless the answer is yes.
func (o *recreateOptions) confirm(ctx context.Context) error {
	if o.flags.yes {
		return nil
	}
	owner := o.replace.ManagedBy
	if o.replace.Kind.OwnerOf(owner).IsBuiltIn() {
		owner = "the built-in controller"
	}
	question := fmt.Sprintf("Delete %s %s/%s on %s, and create it again for %s?", o.noun(), o.context.Namespace, o.target.Name, o.context.Name, owner)
	return writing.Confirm(ctx, o.Environment, question)
}

func (o *recreateOptions) printFinalizers(finalizers []string) {
	util.Report(o.ErrOut, "waiting up to %s for finalizers of the old %s: %s", o.flags.timeout, o.noun(), strings.Join(finalizers, ", "))
}

// noun returns the Job's kind for the middle of a sentence.
func (o *recreateOptions) noun() string { return strings.ToLower(o.replace.Kind.Kind) }

// report prints the new Job.
func (o *recreateOptions) report(job *unstructured.Unstructured) error {
	how := writing.DryRunSuffix(o.flags.dryRun)
	switch {
	case o.format == nil:
		util.Report(o.Out, "%s/%s recreated%s", o.replace.Kind, job.GetName(), how)
		return nil
	case o.flags.output == "name":
		util.Report(o.Out, "%s/%s", o.replace.Kind, job.GetName())
		return nil
	}
	return o.format.PrintObject(o.Out, job)
}

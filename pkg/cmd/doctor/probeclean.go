package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/probe"
)

// cleanupTimeout is the time limit for the removal of a Job, its mirrors and Workloads.
const cleanupTimeout = 30 * time.Second

// cleaner removes the objects of a probe.
type cleaner struct {
	util.Environment
	manager *fleet.Cluster
	workers []*fleet.Cluster
	// unreached are the workers that were not read, each with the reason.
	unreached []string
	// reach is how printed commands must be called.
	reach command.Reach
}

// run removes the Job of a report, even if ctx has ended, and records the objects that remain.
func (c *cleaner) run(ctx context.Context, r *inspect.ProbeReport) {
	start := c.Clock.Now()
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	remover := &probe.Remover{
		Clock: c.Clock, Manager: c.manager, Workers: c.workers, Namespace: r.Namespace, Name: r.Name, UID: r.UID, KueueVersion: read.KueueVersion,
	}
	done := remover.Run(bounded)
	step := r.Step(inspect.ProbeCleaned)
	seconds := c.Clock.Since(start).Round(time.Millisecond).Seconds()
	step.Seconds = &seconds
	r.TotalSeconds += seconds
	step.State, step.Message = inspect.StepDone, c.cleanedMessage(done)
	for _, l := range done.Left {
		removal := command.Kubectl(l.Cluster.Context, r.Namespace, "delete", l.Resource, l.Name)
		r.Left = append(r.Left, inspect.ProbeLeft{
			Context: l.Cluster.Context, Kind: l.Kind, Namespace: r.Namespace, Name: l.Name, Reason: leftReason(&l),
			Command: command.Words(command.Reached(removal.Shell(), c.reach)),
		})
		if !l.IsSeen && !apierrors.IsForbidden(l.Err) {
			step.State = inspect.StepUnknown
		}
	}
	if isSeen := func(l probe.Leftover) bool { return l.IsSeen || apierrors.IsForbidden(l.Err) }; slices.ContainsFunc(done.Left, isSeen) {
		step.State = inspect.StepFailed
	}
	if len(done.Left) > 0 {
		step.Seconds, step.Message = nil, "not everything was removed"
	}
}

// leftReason returns why an object remains. While the context reaches another cluster, the command that removes
// the object would look for it there.
func leftReason(l *probe.Leftover) string {
	reason := kubecontext.Because(l.Err)
	if moved := (*kubecontext.MovedError)(nil); errors.As(l.Err, &moved) {
		reason += "; first " + moved.Return(l.Cluster.Context)
	}
	return reason
}

// cleanedMessage says what is gone.
func (c *cleaner) cleanedMessage(done probe.Removal) string {
	job, text := "Job, ", "mirror and Workloads are gone"
	if len(c.unreached) > 0 {
		job, text = "Job and ", "Workloads are gone where they were checked; not checked on "+strings.Join(c.unreached, "; ")
	}
	if !done.IsProven {
		job = c.manager.Context + " reports the Job gone; "
	}
	text = job + text
	if len(done.Unseen) > 0 {
		text += "; not checked on " + strings.Join(done.Unseen, ", ") + ", for lack of rights"
	}
	if len(done.Unproven) > 0 {
		text += "; not proven on " + strings.Join(done.Unproven, ", ") + ", which cannot be identified"
	}
	return text
}

package running

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/logs"
)

// PodFlags choose a pod of a Job.
type PodFlags struct {
	*util.GlobalFlags
	pod     string
	timeout time.Duration
}

// PodOptions are the checked PodFlags.
type PodOptions struct {
	Search
	pod     string
	timeout time.Duration
	// Quiet suppresses the note about which pod is used.
	Quiet bool
}

// FoundPod is a running pod with its cluster.
type FoundPod struct {
	*corev1.Pod
	Client kubernetes.Interface
	// Config is the client configuration for streams to its cluster, without a time limit.
	Config *rest.Config
}

// AddTo adds the flags, named as in kubectl if it has them.
func (f *PodFlags) AddTo(cmd *cobra.Command, completer *complete.Completer) {
	flags := cmd.Flags()
	flags.StringVar(&f.pod, "pod", "", "Name of the Pod. The default is the first by completion index")
	util.Describe(cmd, util.ForPod, completer.Func(completer.Pods), "pod")
	flags.DurationVar(&f.timeout, "pod-running-timeout", time.Minute, "The length of time (like 5s, 2m, or 3h, higher than zero) to wait until at least one Pod is running")
	util.Describe(cmd, util.ForPod, cobra.NoFileCompletions, "pod-running-timeout")
	f.RefuseFrom(cmd, "a snapshot has no running Pods")
}

// ToOptions checks the flags for the Job with a name.
func (f *PodFlags) ToOptions(env util.Environment, name string) (*PodOptions, error) {
	o := &PodOptions{Search: Search{Environment: env, Flags: f.GlobalFlags, What: name}, pod: f.pod, timeout: f.timeout}
	err := o.Parse()
	switch {
	case err != nil:
	case name == "" || o.wanted.Name == "":
		err = errors.New("the name of the Job is missing")
	case f.timeout <= 0:
		err = fmt.Errorf("--pod-running-timeout must be greater than zero, not %s", f.timeout)
	}
	if err != nil {
		return nil, &util.UsageError{Err: err}
	}
	err = o.Load()
	return o, err
}

// searchInterval is how often the search for a running Pod is repeated.
const searchInterval = time.Second

// Find finds a running Pod of the Job, or of its mirror if it has one. If there is none, it waits
// for one on whichever cluster gets the Job. It prefers Pods in the same order as logs.
func (o *PodOptions) Find(ctx context.Context) (*FoundPod, error) {
	var isBusy atomic.Bool
	job, err := o.Search.Find(ctx, &isBusy)
	if err != nil {
		return nil, err
	}
	isBusy.Store(true)
	waiting, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	s := &podSearch{PodOptions: o, job: job}
	s.tracked.See(job.Inventory, job.At.Pair)
	for {
		found, err := s.running(waiting)
		if found != nil || err != nil && waiting.Err() == nil {
			return found, err
		}
		if job.At.End != "" || job.At.IsHopeless() || s.isOutOfReach() || !s.again(waiting) {
			return nil, cmp.Or(util.Interrupted(ctx), s.noPodError())
		}
		if s.isGone {
			return nil, fmt.Errorf("%s was deleted during the wait for a running Pod", o.What)
		}
	}
}

// podSearch is a search for a running Pod.
type podSearch struct {
	*PodOptions
	job     *FoundJob
	tracked inspect.Tracked
	// isWaiting is whether the search has found no Pod once.
	isWaiting bool
	// unread is why the Pods of a cluster could not be listed in the last round.
	unread error
	isGone bool
}

// noPodError returns why there is no Pod.
func (s *podSearch) noPodError() error {
	err := fmt.Errorf("%s has no running Pod: %s", s.What, s.job.At.Why)
	if s.unread != nil {
		err = fmt.Errorf("%s: found no running Pod: %w", s.What, s.unread)
	}
	if unread := logs.Unread(s.job.Inventory); len(unread) > 0 {
		return errors.Join(err, util.Partial(unread, s.job.Fleet))
	}
	return err
}

// isOutOfReach reports whether a wait is in vain because the Job's Pods are on a cluster that cannot be
// read. During a wait, a cluster that stops answering may answer again.
func (s *podSearch) isOutOfReach() bool {
	return len(s.job.At.Jobs) == 0 && s.job.At.IsUnread && (!s.isWaiting || len(logs.Unread(s.job.Inventory)) == 0)
}

// again waits for a moment, and then reads where the Job is. It returns false if ctx is done.
func (s *podSearch) again(ctx context.Context) bool {
	if !s.isWaiting {
		s.isWaiting = true
		if !s.Quiet {
			util.Report(s.ErrOut, "note: waiting %s for a running Pod: %s", s.timeout, s.job.At.Why)
		}
		// From now on, readings cost requests only for what cannot be watched.
		s.job.Fleet.Watch(ctx)
	}
	timer := s.Clock.NewTimer(searchInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
	}
	s.job.Fleet.BeginRound(ctx)
	inventory := s.job.Read(ctx)
	if ctx.Err() != nil {
		// The reading is incomplete.
		return false
	}
	s.job.Inventory = inventory
	s.job.At, s.isGone = logs.Again(inventory, &s.tracked, s.job.At)
	return true
}

// running returns the chosen running Pod, nil if none runs. A cluster that does
// not answer is asked again in the next round.
func (s *podSearch) running(ctx context.Context) (*FoundPod, error) {
	var unread error
	for _, j := range s.job.At.Jobs {
		found, err := s.runningOf(ctx, j)
		switch {
		case found != nil || err != nil && !errors.As(err, new(*unreadError)):
			return found, err
		case err != nil:
			unread = err
		}
	}
	if ctx.Err() == nil {
		s.unread = unread
	}
	return nil, nil
}

// unreadError means that a cluster did not answer.
type unreadError struct{ error }

func (e *unreadError) Unwrap() error { return e.error }

// runningOf returns the chosen Pod of one object; nil if none runs. It returns an *unreadError if
// the object's cluster does not answer.
func (s *podSearch) runningOf(ctx context.Context, j *inspect.Job) (*FoundPod, error) {
	client, err := s.job.Client(ctx, j.Context)
	if err != nil {
		return nil, &unreadError{err}
	}
	target := logs.Target{Job: j, Client: client}
	running, err := target.Running(ctx)
	switch {
	case kubecontext.IsConnection(err):
		return nil, &unreadError{err}
	case err != nil || len(running) == 0:
		return nil, err
	}
	pod, err := target.PodNamed(s.pod, running)
	if err != nil {
		return nil, err
	}
	s.reportPod(j, pod, len(running))
	return &FoundPod{Pod: pod, Client: client, Config: s.streams(j.Context)}, nil
}

// reportPod prints which pod is used, unless that is obvious.
func (o *PodOptions) reportPod(j *inspect.Job, pod *corev1.Pod, running int) {
	switch {
	case o.Quiet:
	case running > 1 && o.pod == "":
		util.Report(o.ErrOut, "note: using Pod %s on %s, one of %d. Choose another with --pod", pod.Name, j.Context, running)
	case j.Context != o.Contexts[0].Name:
		util.Report(o.ErrOut, "note: using Pod %s on %s", pod.Name, j.Context)
	}
}

// streams returns the settings of a context for streams, without a time limit.
func (o *PodOptions) streams(kubeContext string) *rest.Config {
	for _, c := range o.Contexts {
		if c.Name == kubeContext {
			config := rest.CopyConfig(c.Config)
			config.Timeout = 0
			return config
		}
	}
	return nil
}

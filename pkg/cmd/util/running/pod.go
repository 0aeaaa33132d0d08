package running

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

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
	f.AddHiddenFromFlag(cmd)
}

// ToOptions checks the flags for the Job with a name.
func (f *PodFlags) ToOptions(env util.Environment, name string) (*PodOptions, error) {
	o := &PodOptions{Search: Search{Environment: env, Flags: f.GlobalFlags, What: name}, pod: f.pod, timeout: f.timeout}
	err := o.Parse()
	switch {
	case err != nil:
	case name == "" || o.wanted.Name == "":
		err = errors.New("the name of the Job is missing")
	case f.From != "":
		err = errors.New("--from cannot be used here: a snapshot has no running Pods")
	case f.timeout <= 0:
		err = fmt.Errorf("--pod-running-timeout must be greater than zero, not %s", f.timeout)
	}
	if err != nil {
		return nil, &util.UsageError{Err: err}
	}
	err = o.Load()
	return o, err
}

// searchInterval is how often the search for a running pod is repeated.
const searchInterval = time.Second

// Find finds a running pod of the Job, or of its mirror if it has one, and waits for one if there
// is none. It prefers pods in the same order as logs.
func (o *PodOptions) Find(ctx context.Context) (*FoundPod, error) {
	var isBusy atomic.Bool
	job, err := o.Search.Find(ctx, &isBusy)
	if err != nil {
		return nil, err
	}
	at := job.At
	if len(at.Jobs) == 0 || at.End != "" {
		return nil, o.noPodError(at, job.Inventory)
	}
	var found *FoundPod
	var isReported bool
	waiting, cancel := context.WithTimeoutCause(ctx, o.timeout, o.noPodError(at, job.Inventory))
	defer cancel()
	err = wait.PollUntilContextCancel(waiting, searchInterval, true, func(ctx context.Context) (bool, error) {
		found, err = o.running(ctx, job)
		if found == nil && err == nil && !isReported && !o.Quiet {
			isReported = true
			util.Report(o.ErrOut, "note: waiting %s for a running Pod: %s", o.timeout, at.Why)
		}
		return found != nil, err
	})
	switch {
	case err != nil && ctx.Err() == nil && waiting.Err() != nil:
		return nil, context.Cause(waiting)
	case err != nil:
		return nil, err
	}
	return found, nil
}

// noPodError returns why there is no pod.
func (o *PodOptions) noPodError(at logs.Placement, v *inspect.Inventory) error {
	err := fmt.Errorf("%s has no running Pod: %s", o.What, at.Why)
	if unread := logs.Unread(v); len(unread) > 0 {
		return errors.Join(err, &util.PartialError{Failed: len(unread), Total: len(o.Contexts)})
	}
	return err
}

// running returns the chosen pod among those that run now, nil if none does.
func (o *PodOptions) running(ctx context.Context, job *FoundJob) (*FoundPod, error) {
	for _, j := range job.At.Jobs {
		client, err := job.Client(ctx, j.Context)
		if err != nil {
			return nil, err
		}
		target := logs.Target{Job: j, Client: client}
		running, err := target.Running(ctx)
		if err != nil {
			return nil, err
		}
		if len(running) == 0 {
			continue
		}
		pod, err := target.PodNamed(o.pod, running)
		if err != nil {
			return nil, err
		}
		o.reportPod(j, pod, len(running))
		return &FoundPod{Pod: pod, Client: client, Config: o.streams(j.Context)}, nil
	}
	return nil, nil
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

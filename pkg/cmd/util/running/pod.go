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

// PodFlags say which pod of a Job something is to be done with.
type PodFlags struct {
	*util.GlobalFlags
	pod     string
	timeout time.Duration
}

// PodOptions are the same, checked.
type PodOptions struct {
	Search
	pod     string
	timeout time.Duration
	// Quiet is that nothing is said of which pod it is.
	Quiet bool
}

// FoundPod is a pod that runs, on whatever cluster.
type FoundPod struct {
	*corev1.Pod
	Client kubernetes.Interface
	// Config leads to its cluster, for streams, which take as long as they do.
	Config *rest.Config
}

// AddTo adds the flags, named as kubectl's where it has them.
func (f *PodFlags) AddTo(cmd *cobra.Command, ask *complete.Completer) {
	flags := cmd.Flags()
	flags.StringVar(&f.pod, "pod", "", "Name of the pod, where several run; by default the first by completion index")
	util.Describe(cmd, util.ForPod, ask.Asks(ask.Pods), "pod")
	flags.DurationVar(&f.timeout, "pod-running-timeout", time.Minute, "The length of time (like 5s, 2m, or 3h, higher than zero) to wait until at least one pod is running")
	util.Describe(cmd, util.ForPod, cobra.NoFileCompletions, "pod-running-timeout")
	f.AddHiddenFromFlag(cmd)
}

// ToOptions checks the flags for the Job of a name.
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

// lookEvery is how often it is looked whether a pod runs by now.
const lookEvery = time.Second

// Find finds a pod of the Job that runs: of its mirror, where it has one. It is chosen as
// logs chooses those that it reads. Where none runs so far, it waits for one.
func (o *PodOptions) Find(ctx context.Context) (*FoundPod, error) {
	var isBusy atomic.Bool
	job, err := o.Search.Find(ctx, &isBusy)
	if err != nil {
		return nil, err
	}
	at := job.At
	if len(at.Jobs) == 0 || at.End != "" {
		return nil, o.nothingRuns(at, job.Inventory)
	}
	var found *FoundPod
	waiting, cancel := context.WithTimeoutCause(ctx, o.timeout, o.nothingRuns(at, job.Inventory))
	defer cancel()
	err = wait.PollUntilContextCancel(waiting, lookEvery, true, func(ctx context.Context) (bool, error) {
		found, err = o.running(ctx, job)
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

// nothingRuns says why there is no pod.
func (o *PodOptions) nothingRuns(at logs.Placement, v *inspect.Inventory) error {
	err := fmt.Errorf("%s has no running Pod: %s", o.What, at.Why)
	if unread := logs.Unread(v); len(unread) > 0 {
		return errors.Join(err, &util.PartialError{Failed: len(unread), Total: len(o.Contexts)})
	}
	return err
}

// running is the pod that is meant among those that run now, nil if none does.
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
		o.tellPod(j, pod, len(running))
		return &FoundPod{Pod: pod, Client: client, Config: o.streams(j.Context)}, nil
	}
	return nil, nil
}

// tellPod says which pod it is, where that does not go without saying.
func (o *PodOptions) tellPod(j *inspect.Job, pod *corev1.Pod, running int) {
	switch {
	case o.Quiet:
	case running > 1 && o.pod == "":
		util.Tell(o.ErrOut, "note: using pod %s on %s, one of %d. Choose another with --pod", pod.Name, j.Context, running)
	case j.Context != o.Contexts[0].Name:
		util.Tell(o.ErrOut, "note: using pod %s on %s", pod.Name, j.Context)
	}
}

// streams are the settings of a context for requests that last, and that no answer ends.
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

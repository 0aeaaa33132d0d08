package cmd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/logs"
)

// podFlags say which pod of a Job something is to be done with.
type podFlags struct {
	*globalFlags
	pod     string
	timeout time.Duration
}

// podOptions are the same, checked.
type podOptions struct {
	search
	pod     string
	timeout time.Duration
	// quiet is that nothing is said of which pod it is.
	quiet bool
}

// foundPod is a pod that runs, on whatever cluster.
type foundPod struct {
	*corev1.Pod
	client kubernetes.Interface
	// config leads to its cluster, for streams, which take as long as they do.
	config *rest.Config
}

// addTo adds the flags, named as kubectl's where it has them.
func (f *podFlags) addTo(cmd *cobra.Command, ask *completer) {
	flags := cmd.Flags()
	flags.StringVar(&f.pod, "pod", "", "Name of the pod, where several run; by default the first by completion index")
	describe(cmd, forPod, ask.asks(ask.pods), "pod")
	flags.DurationVar(&f.timeout, "pod-running-timeout", time.Minute, "The length of time (like 5s, 2m, or 3h, higher than zero) to wait until at least one pod is running")
	describe(cmd, forPod, cobra.NoFileCompletions, "pod-running-timeout")
	f.addHiddenFromFlag(cmd)
}

func (f *podFlags) toOptions(env Environment, name string) (*podOptions, error) {
	o := &podOptions{search: search{Environment: env, flags: f.globalFlags, what: name}, pod: f.pod, timeout: f.timeout}
	err := o.parse()
	switch {
	case err != nil:
	case name == "" || o.wanted.Name == "":
		err = errors.New("the Job's name is missing")
	case f.from != "":
		err = errors.New("--from: a bundle has no pods that run; they are looked for on the clusters alone")
	case f.timeout <= 0:
		err = fmt.Errorf("--pod-running-timeout has to be greater than zero, and is %s", f.timeout)
	}
	if err != nil {
		return nil, &usageError{err: err}
	}
	err = o.load()
	return o, err
}

// lookEvery is how often it is looked whether a pod runs by now.
const lookEvery = time.Second

// find finds a pod of the Job that runs: of its mirror, where it has one. It is chosen as
// logs chooses those that it reads. Where none runs so far, it waits for one.
func (o *podOptions) find(ctx context.Context) (*foundPod, error) {
	var isBusy atomic.Bool
	job, err := o.search.find(ctx, &isBusy)
	if err != nil {
		return nil, err
	}
	at := job.at
	if len(at.Jobs) == 0 || at.End != "" {
		return nil, o.nothingRuns(at, job.inventory)
	}
	var found *foundPod
	waiting, cancel := context.WithTimeoutCause(ctx, o.timeout, o.nothingRuns(at, job.inventory))
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
func (o *podOptions) nothingRuns(at logs.Placement, v *inspect.Inventory) error {
	err := fmt.Errorf("no pod of %s runs: %s", o.what, at.Why)
	if unread := logs.Unread(v); len(unread) > 0 {
		return errors.Join(err, &partialError{failed: len(unread), total: len(o.contexts)})
	}
	return err
}

// running is the pod that is meant among those that run now, nil if none does.
func (o *podOptions) running(ctx context.Context, job *foundJob) (*foundPod, error) {
	for _, j := range job.at.Jobs {
		client, err := job.client(ctx, j.Context)
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
		return &foundPod{Pod: pod, client: client, config: o.streams(j.Context)}, nil
	}
	return nil, nil
}

// tellPod says which pod it is, where that does not go without saying.
func (o *podOptions) tellPod(j *inspect.Job, pod *corev1.Pod, running int) {
	switch {
	case o.quiet:
	case running > 1 && o.pod == "":
		tell(o.ErrOut, "note: pod %s on %s, one of %d that run; --pod names another", pod.Name, j.Context, running)
	case j.Context != o.contexts[0].Name:
		tell(o.ErrOut, "note: pod %s on %s", pod.Name, j.Context)
	}
}

// streams are the settings of a context for requests that last, and that no answer ends.
func (o *podOptions) streams(kubeContext string) *rest.Config {
	for _, c := range o.contexts {
		if c.Name == kubeContext {
			config := rest.CopyConfig(c.Config)
			config.Timeout = 0
			return config
		}
	}
	return nil
}

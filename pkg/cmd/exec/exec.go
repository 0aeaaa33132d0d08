// Package exec executes a command in a pod of a Job, on whichever cluster runs it.
package exec

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/running"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	kubectl "k8s.io/kubectl/pkg/cmd/exec"
	"k8s.io/kubectl/pkg/scheme"
	"k8s.io/kubectl/pkg/util/interrupt"
)

// execFlags are what a user typed behind exec.
type execFlags struct {
	running.PodFlags
	container         string
	stdin, tty, quiet bool
}

// execOptions are what exec needs to run, checked.
type execOptions struct {
	*running.PodOptions
	command    []string
	container  string
	stdin, tty bool
}

// NewCommand makes the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &execFlags{PodFlags: running.PodFlags{GlobalFlags: global}}
	ask := complete.New(env, global)
	cmd := &cobra.Command{
		Use: "exec [KIND/]NAME [options] -- COMMAND [args...]",

		DisableFlagsInUseLine: true,
		Short:                 "Execute a command in a pod of a Job, whichever cluster runs it",
		Long: `Execute a command in a pod of a Job, on whichever cluster runs it.

NAME is the origin's or the mirror's, and is looked for as logs looks for it, on all
contexts of the kubeconfig unless some are chosen. The pod is one that runs: of the
mirror; or the Job's own, if it is not delegated. Everything else is kubectl exec,
its exit code included, which is that of the command.`,
		Example: strings.ReplaceAll(`  # What a Job sees of its GPUs, wherever it runs
  NAME exec train -n ml -- nvidia-smi

  # A shell in one of its pods
  NAME exec train -n ml -it -- bash

  # In a container of a certain pod of a JobSet
  NAME exec jobset/sweep --pod sweep-0-1-x7f2k -c main -- ls`, "NAME", env.DisplayName()),
		Args: cobra.ArbitraryArgs,

		ValidArgsFunction: util.FirstOnly(ask.Asks(ask.Traced)),
	}
	f.AddTo(cmd, ask)
	flags := cmd.Flags()
	flags.StringVarP(&f.container, "container", "c", "", "Name of the container; without, the pod's default container, or its first")
	util.Describe(cmd, util.ForPod, ask.Asks(ask.Containers), "container")
	flags.BoolVarP(&f.stdin, "stdin", "i", false, "Pass stdin to the container")
	flags.BoolVarP(&f.tty, "tty", "t", false, "Stdin is a TTY")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "Only print output from the remote session")
	util.Describe(cmd, util.ForPodCommand, nil, "stdin", "tty", "quiet")
	cmd.RunE = util.Runs(func(args []string) (*execOptions, error) { return f.toOptions(env, args, cmd.ArgsLenAtDash()) })
	return cmd
}

func (f *execFlags) toOptions(env util.Environment, args []string, atDash int) (*execOptions, error) {
	if atDash != 1 || len(args) < 2 {
		return nil, &util.UsageError{Err: errors.New("exec requires the name of a Job and a command: exec NAME -- COMMAND [args...]")}
	}
	pod, err := f.ToOptions(env, args[0])
	if err != nil {
		return nil, err
	}
	pod.Quiet = f.quiet
	return &execOptions{PodOptions: pod, command: args[1:], container: f.container, stdin: f.stdin, tty: f.tty}, nil
}

func (o *execOptions) Run(ctx context.Context) error {
	pod, err := o.Find(ctx)
	if err != nil {
		return err
	}
	config := rest.CopyConfig(pod.Config)
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	remote := &kubectl.ExecOptions{
		StreamOptions: kubectl.StreamOptions{
			IOStreams: o.IOStreams, Namespace: pod.Namespace, PodName: pod.Name, ContainerName: o.container,
			Stdin: o.stdin, TTY: o.tty, Quiet: o.Quiet,
			// A signal ends the stream by its context, once the terminal is as it was.
			InterruptParent: interrupt.New(func(os.Signal) {}),
		},
		Command: o.command, PodClient: pod.Client.CoreV1(), Config: config,
		Executor: &executor{RemoteExecutor: &kubectl.DefaultRemoteExecutor{}, until: func() context.Context { return ctx }},
	}
	if err := remote.Validate(); err != nil {
		return err
	}
	return remote.Run()
}

// executor is kubectl's, whose streams end with a context.
type executor struct {
	kubectl.RemoteExecutor
	until func() context.Context
}

// Execute runs the command until it ends, or the context does.
func (e *executor) Execute(u *url.URL, config *rest.Config, stdin io.Reader, stdout, stderr io.Writer, tty bool, sizes remotecommand.TerminalSizeQueue) error {
	return e.ExecuteWithContext(e.until(), u, config, stdin, stdout, stderr, tty, sizes)
}

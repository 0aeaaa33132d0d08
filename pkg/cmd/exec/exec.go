// Package exec executes a command in a pod of a Job, on the cluster that runs it.
package exec

import (
	"context"
	"errors"
	"fmt"
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

// execFlags are exec's flags as the user gave them.
type execFlags struct {
	running.PodFlags
	container         string
	stdin, tty, quiet bool
}

// execOptions are the checked options of exec.
type execOptions struct {
	*running.PodOptions
	command    []string
	container  string
	stdin, tty bool
}

// NewCommand returns the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &execFlags{PodFlags: running.PodFlags{GlobalFlags: global}}
	completer := complete.New(env, global)
	cmd := &cobra.Command{
		Use: "exec [KIND/]NAME [options] -- COMMAND [args...]",

		DisableFlagsInUseLine: true,
		Short:                 "Execute a command in a Pod of a Job",
		Long: `Execute a command in a Pod of a Job, on the cluster that runs it.

NAME is the name of the origin or of the mirror. exec looks for it in all contexts of the
kubeconfig, or in those of --contexts. It takes a running Pod of the mirror, or of the Job
itself if the Job is not delegated. Everything else works as in kubectl exec. The exit
code is that of the command.`,
		Example: strings.ReplaceAll(`  # Show the GPUs of a Job, wherever it runs
  NAME exec train -n ml -- nvidia-smi

  # Open a shell in one of its Pods
  NAME exec train -n ml -it -- bash

  # Run a command in a container of one Pod of a JobSet
  NAME exec jobset/sweep --pod sweep-0-1-x7f2k -c main -- ls`, "NAME", env.DisplayName()),
		Args: cobra.ArbitraryArgs,

		ValidArgsFunction: util.FirstOnly(completer.Func(completer.Objects(util.EveryContext))),
	}
	f.AddTo(cmd, completer)
	flags := cmd.Flags()
	flags.StringVarP(&f.container, "container", "c", "", "Name of the container. The default is the Pod's default container, or its first")
	util.Describe(cmd, util.ForPod, completer.Func(completer.Containers), "container")
	flags.BoolVarP(&f.stdin, "stdin", "i", false, "Pass stdin to the container")
	flags.BoolVarP(&f.tty, "tty", "t", false, "Stdin is a TTY")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "Only print output from the remote session")
	util.Describe(cmd, util.ForPodCommand, nil, "stdin", "tty", "quiet")
	cmd.RunE = util.Runs(func(args []string) (*execOptions, error) { return f.toOptions(env, args, cmd.ArgsLenAtDash()) })
	return cmd
}

// checkArgs returns an error unless there is one name before the "--", and a command after it. atDash is the
// number of arguments before the "--"; -1 if it is missing.
func checkArgs(args []string, atDash int) error {
	const usage = "exec NAME -- COMMAND [args...]"
	switch {
	case len(args) == 0:
		return errors.New("exec requires the name of a Job and a command: " + usage)
	case atDash == 0:
		return errors.New("exec requires the name of a Job before \"--\": " + usage)
	case len(args) == 1:
		return fmt.Errorf("exec requires a command for %s: %s", args[0], usage)
	case atDash < 0:
		return errors.New("exec requires \"--\" before the command: " + usage)
	case atDash > 1:
		return fmt.Errorf("exec takes one name before \"--\", not %d: %s", atDash, usage)
	}
	return nil
}

func (f *execFlags) toOptions(env util.Environment, args []string, atDash int) (*execOptions, error) {
	if err := checkArgs(args, atDash); err != nil {
		return nil, &util.UsageError{Err: err}
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
			// A signal ends the stream through its context, after the terminal is restored.
			InterruptParent: interrupt.New(func(os.Signal) {}),
		},
		Command: o.command, PodClient: pod.Client.CoreV1(), Config: config,
		Executor: &executor{RemoteExecutor: &kubectl.DefaultRemoteExecutor{}, streamContext: func() context.Context { return ctx }},
	}
	if err := remote.Validate(); err != nil {
		return err
	}
	return remote.Run()
}

// executor is kubectl's executor, whose streams end with a context.
type executor struct {
	kubectl.RemoteExecutor
	streamContext func() context.Context
}

// Execute runs the command until it or the context ends.
func (e *executor) Execute(u *url.URL, config *rest.Config, stdin io.Reader, stdout, stderr io.Writer, tty bool, sizes remotecommand.TerminalSizeQueue) error {
	return e.ExecuteWithContext(e.streamContext(), u, config, stdin, stdout, stderr, tty, sizes)
}

package cmd

import (
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	kubectl "k8s.io/kubectl/pkg/cmd/exec"
	"k8s.io/kubectl/pkg/scheme"
	"k8s.io/kubectl/pkg/util/interrupt"
)

// execFlags are what a user typed behind exec.
type execFlags struct {
	podFlags
	container         string
	stdin, tty, quiet bool
}

// execOptions are what exec needs to run, checked.
type execOptions struct {
	*podOptions
	command    []string
	container  string
	stdin, tty bool
}

func newExecCommand(env Environment, global *globalFlags) *cobra.Command {
	f := &execFlags{podFlags: podFlags{globalFlags: global}}
	ask := newCompleter(env, global)
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
  NAME exec jobset/sweep --pod sweep-0-1-x7f2k -c main -- ls`, "NAME", env.displayName()),
		Args: cobra.ArbitraryArgs,

		ValidArgsFunction: firstOnly(ask.asks(ask.traced)),
	}
	f.addTo(cmd, ask)
	flags := cmd.Flags()
	flags.StringVarP(&f.container, "container", "c", "", "Name of the container; without, the pod's default container, or its first")
	describe(cmd, forPod, ask.asks(ask.containers), "container")
	flags.BoolVarP(&f.stdin, "stdin", "i", false, "Pass stdin to the container")
	flags.BoolVarP(&f.tty, "tty", "t", false, "Stdin is a TTY")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "Only print output from the remote session")
	describe(cmd, forPodCommand, nil, "stdin", "tty", "quiet")
	cmd.RunE = runs(func(args []string) (*execOptions, error) { return f.toOptions(env, args, cmd.ArgsLenAtDash()) })
	return cmd
}

func (f *execFlags) toOptions(env Environment, args []string, atDash int) (*execOptions, error) {
	if atDash != 1 || len(args) < 2 {
		return nil, &usageError{err: errors.New("exec takes the Job's name, and the command behind two dashes: exec NAME -- COMMAND [args...]")}
	}
	pod, err := f.podFlags.toOptions(env, args[0])
	if err != nil {
		return nil, err
	}
	pod.quiet = f.quiet
	return &execOptions{podOptions: pod, command: args[1:], container: f.container, stdin: f.stdin, tty: f.tty}, nil
}

func (o *execOptions) run(ctx context.Context) error {
	pod, err := o.find(ctx)
	if err != nil {
		return err
	}
	config := rest.CopyConfig(pod.config)
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	remote := &kubectl.ExecOptions{
		StreamOptions: kubectl.StreamOptions{
			IOStreams: o.IOStreams, Namespace: pod.Namespace, PodName: pod.Name, ContainerName: o.container,
			Stdin: o.stdin, TTY: o.tty, Quiet: o.quiet,
			// A signal ends the stream by its context, once the terminal is as it was.
			InterruptParent: interrupt.New(func(os.Signal) {}),
		},
		Command: o.command, PodClient: pod.client.CoreV1(), Config: config,
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

// Package portforward forwards local ports to a pod of a Job, on the cluster that runs it.
package portforward

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/running"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	kubectl "k8s.io/kubectl/pkg/cmd/portforward"

	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// portForwardFlags are port-forward's flags as the user gave them.
type portForwardFlags struct {
	running.PodFlags
	address []string
}

// portForwardOptions are the checked options of port-forward.
type portForwardOptions struct {
	*running.PodOptions
	address, ports []string
	// called is the command, whose flags kubectl's code reads.
	called *cobra.Command
}

// NewCommand returns the command.
func NewCommand(env util.Environment, global *util.GlobalFlags) *cobra.Command {
	f := &portForwardFlags{PodFlags: running.PodFlags{GlobalFlags: global}}
	completer := complete.New(env, global)
	cmd := &cobra.Command{
		Use: "port-forward [KIND/]NAME [LOCAL_PORT:]REMOTE_PORT... [options]",

		DisableFlagsInUseLine: true,
		Short:                 "Forward local ports to a Pod of a Job",
		Long: `Forward local ports to a Pod of a Job, on the cluster that runs it.

NAME is the name of the origin or of the mirror. port-forward looks for it in all
contexts of the kubeconfig, or in those of --contexts. It takes a running Pod of the
mirror, or of the Job itself if the Job is not delegated. Everything else works as in
kubectl port-forward. Forwarding ends with the Pod. A Job that moves to another cluster
has a new Pod there.`,
		Example: strings.ReplaceAll(`  # Forward to the dashboard of a training run, wherever it runs
  NAME port-forward train -n ml 6006

  # Listen on port 8888, forwarding to the port that the Pod calls http
  NAME port-forward train -n ml 8888:http

  # Forward to a certain Pod of a RayJob
  NAME port-forward rayjob/sweep --pod sweep-x7f2k-head 8265`, "NAME", env.DisplayName()),
		Args: cobra.ArbitraryArgs,

		ValidArgsFunction: util.FirstOnly(completer.Func(completer.Objects(util.EveryContext))),
	}
	f.AddTo(cmd, completer)
	cmd.Flags().StringSliceVar(&f.address, "address", []string{"localhost"}, "Addresses to listen on (comma separated). Only accepts IP addresses or localhost as a value. When localhost is supplied, listens on 127.0.0.1 and ::1")
	util.Describe(cmd, util.ForConnections, util.OneOf("localhost", "127.0.0.1", "0.0.0.0"), "address")
	cmd.RunE = util.Runs(func(args []string) (*portForwardOptions, error) { return f.toOptions(env, cmd, args) })
	return cmd
}

func (f *portForwardFlags) toOptions(env util.Environment, cmd *cobra.Command, args []string) (*portForwardOptions, error) {
	if len(args) < 2 {
		return nil, &util.UsageError{Err: errors.New("port-forward requires the name of a Job and ports: port-forward NAME [LOCAL_PORT:]REMOTE_PORT")}
	}
	pod, err := f.ToOptions(env, args[0])
	if err != nil {
		return nil, err
	}
	return &portForwardOptions{PodOptions: pod, address: f.address, ports: args[1:], called: cmd}, nil
}

func (o *portForwardOptions) Run(ctx context.Context) error {
	pod, err := o.Find(ctx)
	if err != nil {
		return err
	}
	forward := kubectl.NewDefaultPortForwardOptions(o.IOStreams)
	forward.Address = o.address
	// kubectl converts the names of ports to numbers.
	factory := cmdutil.NewFactory(&connection{config: pod.Config, namespace: pod.Namespace})
	if err := forward.Complete(factory, o.called, append([]string{pod.Name}, o.ports...)); err != nil {
		return err
	}
	if err := forward.Validate(); err != nil {
		return err
	}
	if err := forward.RunPortForwardContext(ctx); err != nil {
		return err
	}
	// Usually a signal ends it, and kubectl's code may notice that before the context does.
	select {
	case <-ctx.Done():
	case <-o.Clock.After(time.Second):
	}
	return util.Interrupted(ctx)
}

// connection is a cluster with a namespace, in the form that kubectl's code takes.
type connection struct {
	config    *rest.Config
	namespace string
}

func (c *connection) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(c.config), nil }

func (c *connection) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	client, err := discovery.NewDiscoveryClientForConfig(c.config)
	if err != nil {
		return nil, err
	}
	return memory.NewMemCacheClient(client), nil
}

func (c *connection) ToRESTMapper() (meta.RESTMapper, error) {
	client, err := c.ToDiscoveryClient()
	if err != nil {
		return nil, err
	}
	return restmapper.NewDeferredDiscoveryRESTMapper(client), nil
}

func (c *connection) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	return clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(),
		&clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: c.namespace}})
}

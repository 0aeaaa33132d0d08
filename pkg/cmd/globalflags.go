package cmd

import (
	"flag"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/complete"
)

// addGlobalFlags adds the flags of all commands to the root command.
func addGlobalFlags(root *cobra.Command, f *util.GlobalFlags, completer *complete.Completer) {
	f.Kubectl = pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	f.Kube.AddFlags(f.Kubectl)
	flags := root.PersistentFlags()
	flags.AddFlagSet(f.Kubectl)
	contexts := completer.Func(completer.Contexts)
	util.Describe(root, util.ForObjects, completer.Func(completer.Namespaces), "namespace")
	util.Describe(root, util.ForClusters, contexts, "context")
	util.Describe(root, util.ForClusters, completer.Func(completer.Clusters), "cluster")
	util.Describe(root, util.ForClusters, completer.Func(completer.Users), "user")
	util.Describe(root, util.ForClusters, util.Files, "kubeconfig")
	util.Describe(root, util.ForIdentity, cobra.NoFileCompletions, "as", "as-group", "as-uid", "as-user-extra", "token")
	util.Describe(root, util.ForIdentity, util.Files, "client-certificate", "client-key")
	util.Describe(root, util.ForConnections, cobra.NoFileCompletions, "server", "tls-server-name", "proxy-url", "request-timeout")
	util.Describe(root, util.ForConnections, util.Files, "certificate-authority")
	util.Describe(root, util.ForConnections, util.Directories, "cache-dir")
	util.Describe(root, util.ForConnections, nil, "insecure-skip-tls-verify", "disable-compression")

	flags.StringArrayVar(&f.Contexts, "contexts", f.Contexts, "Contexts to read, comma-separated: names, globs or /regular expressions/; ^ excludes. The environment variable "+util.ContextsVariable+" sets the default")
	util.Describe(root, util.ForClusters, util.ListOf(contexts, "^"), "contexts")
	flags.BoolVar(&f.AllContexts, "all-contexts", f.AllContexts, "If present, read every context of the kubeconfig (the default, except for ls and kinds)")
	util.Describe(root, util.ForClusters, nil, "all-contexts")
	flags.DurationVar(&f.ContextTimeout, "context-timeout", f.ContextTimeout, "How long to wait for all requests to one context together. 0s waits without limit")
	util.Describe(root, util.ForConnections, cobra.NoFileCompletions, "context-timeout")
	flags.BoolVar(&f.Warnings.AsErrors, "warnings-as-errors", false, "Treat warnings received from servers as errors and exit with a non-zero exit code")
	util.Describe(root, util.ForOutput, nil, "warnings-as-errors")
	flags.StringVar(&f.Color, "color", f.Color, "When to use color. One of: (auto, always, never). NO_COLOR disables auto")
	util.Describe(root, util.ForOutput, util.OneOf(util.ColorAuto, util.ColorAlways, util.ColorNever), "color")

	// client-go logs through klog; of its flags, kubectl users know this one.
	logging := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(logging)
	flags.AddGoFlag(logging.Lookup("v"))
	util.Describe(root, util.ForOutput, cobra.NoFileCompletions, "v")
}

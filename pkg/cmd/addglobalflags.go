package cmd

import (
	"flag"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// addGlobalFlags gives the root command the flags that all commands have.
func addGlobalFlags(root *cobra.Command, f *globalFlags, ask *completer) {
	f.kubectl = pflag.NewFlagSet("kubectl", pflag.ContinueOnError)
	f.kube.AddFlags(f.kubectl)
	flags := root.PersistentFlags()
	flags.AddFlagSet(f.kubectl)
	contexts := ask.asks(ask.contexts)
	describe(root, forObjects, ask.asks(ask.namespaces), "namespace")
	describe(root, forClusters, contexts, "context")
	describe(root, forClusters, ask.asks(ask.clusters), "cluster")
	describe(root, forClusters, ask.asks(ask.users), "user")
	describe(root, forClusters, files, "kubeconfig")
	describe(root, forIdentity, cobra.NoFileCompletions, "as", "as-group", "as-uid", "as-user-extra", "token")
	describe(root, forIdentity, files, "client-certificate", "client-key")
	describe(root, forConnections, cobra.NoFileCompletions, "server", "tls-server-name", "proxy-url", "request-timeout")
	describe(root, forConnections, files, "certificate-authority")
	describe(root, forConnections, folders, "cache-dir")
	describe(root, forConnections, nil, "insecure-skip-tls-verify", "disable-compression")

	flags.StringSliceVar(&f.contexts, "contexts", f.contexts, "Contexts to look at, comma-separated: names, globs or /regular expressions/; ^ in front leaves out what matches")
	describe(root, forClusters, list(contexts, "^"), "contexts")
	flags.BoolVar(&f.allContexts, "all-contexts", f.allContexts, "If present, look at every context of the kubeconfig")
	describe(root, forClusters, nil, "all-contexts")
	flags.DurationVar(&f.contextTimeout, "context-timeout", f.contextTimeout, "How long to wait for each context, all requests to it taken together. Zero means without bound")
	describe(root, forConnections, cobra.NoFileCompletions, "context-timeout")
	flags.BoolVar(&f.warned.asErrors, "warnings-as-errors", false, "Treat warnings received from servers as errors and exit with a non-zero exit code")
	describe(root, forOutput, nil, "warnings-as-errors")
	flags.StringVar(&f.color, "color", f.color, "When to use colour. One of: (auto, always, never). NO_COLOR turns auto off")
	describe(root, forOutput, oneOf(colorAuto, colorAlways, colorNever), "color")

	// klog is what client-go logs with; of its flags kubectl users know this one.
	logging := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(logging)
	flags.AddGoFlag(logging.Lookup("v"))
	describe(root, forOutput, cobra.NoFileCompletions, "v")
}

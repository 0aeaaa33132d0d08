// Command manager runs the controllers of JobSet or Kubeflow Trainer, with their webhooks: what
// their own main packages set up, except what makes sense only inside a cluster (Leases, metrics,
// certificates in Secrets).
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// controllers are the controllers of one project.
type controllers struct {
	// schemes add the types that they use.
	schemes []func(*runtime.Scheme) error
	// setUp adds them and their webhooks to a manager.
	setUp func(context.Context, ctrl.Manager) error
}

// projects returns the projects that can be run, by name.
func projects() map[string]controllers {
	return map[string]controllers{"jobset": jobSet(), "trainer": trainer()}
}

func main() {
	if err := run(ctrl.SetupSignalHandler(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs the controllers of one project until ctx ends.
func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "file that says where the API server is")
	cluster := flags.String("context", "", "context in that file")
	port := flags.Int("webhook-port", 0, "port of 127.0.0.1 to serve the webhooks on")
	certificates := flags.String("cert-dir", "", "folder with tls.crt and tls.key, to serve them with")
	if err := flags.Parse(args); err != nil {
		return err
	}
	all := projects()
	project, ok := all[flags.Arg(0)]
	if !ok || flags.NArg() != 1 {
		return fmt.Errorf("usage: manager [FLAGS] %s", strings.Join(slices.Sorted(maps.Keys(all)), "|"))
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: *kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: *cluster}).ClientConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 500, 500
	config = rest.AddUserAgent(config, flags.Arg(0))
	ctrl.SetLogger(klog.Background())
	scheme := runtime.NewScheme()
	for _, add := range project.schemes {
		if err := add(scheme); err != nil {
			return err
		}
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:        scheme,
		Metrics:       metrics.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: *port, CertDir: *certificates}),
	})
	if err != nil {
		return err
	}
	if err := project.setUp(ctx, manager); err != nil {
		return fmt.Errorf("set up the controllers of %s: %w", flags.Arg(0), err)
	}
	return manager.Start(ctx)
}

// Package run runs the controllers of other projects, with their webhooks: what their own main
// packages set up, except what makes sense only inside a cluster (Leases, metrics, certificates in
// Secrets).
package run

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
	"sigs.k8s.io/controller-runtime/pkg/cache"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Controllers are the controllers of one project.
type Controllers struct {
	// Schemes add the types that they use.
	Schemes []func(*runtime.Scheme) error
	// Cache selects what they read; the zero value selects everything.
	Cache cache.Options
	// SetUp adds them and their webhooks to a manager.
	SetUp func(context.Context, ctrl.Manager) error
}

// Main runs the controllers that the command line names, of projects by name, until a signal.
func Main(projects map[string]Controllers) {
	if err := run(ctrl.SetupSignalHandler(), projects, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, projects map[string]Controllers, args []string) error {
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "file that says where the API server is")
	cluster := flags.String("context", "", "context in that file")
	port := flags.Int("webhook-port", 0, "port of 127.0.0.1 to serve the webhooks on")
	certificates := flags.String("cert-dir", "", "directory with tls.crt and tls.key, to serve them with")
	if err := flags.Parse(args); err != nil {
		return err
	}
	project, ok := projects[flags.Arg(0)]
	if !ok || flags.NArg() != 1 {
		return fmt.Errorf("usage: manager [FLAGS] %s", strings.Join(slices.Sorted(maps.Keys(projects)), "|"))
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
	for _, add := range project.Schemes {
		if err := add(scheme); err != nil {
			return err
		}
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:        scheme,
		Cache:         project.Cache,
		Metrics:       metrics.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: *port, CertDir: *certificates}),
	})
	if err != nil {
		return err
	}
	// It listens even without webhooks, which shows that the program runs.
	manager.GetWebhookServer()
	if err := project.SetUp(ctx, manager); err != nil {
		return fmt.Errorf("set up the controllers of %s: %w", flags.Arg(0), err)
	}
	return manager.Start(ctx)
}

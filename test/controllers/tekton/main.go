// Command tekton runs the controllers and the webhooks of Tekton Pipelines for one cluster: what
// cmd/controller and cmd/webhook of github.com/tektoncd/pipeline set up, except what makes sense
// only inside a cluster (Leases, metrics, probes, renewal of certificates).
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	"github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	"github.com/tektoncd/pipeline/pkg/reconciler/pipelinerun"
	"github.com/tektoncd/pipeline/pkg/reconciler/resolutionrequest"
	"github.com/tektoncd/pipeline/pkg/reconciler/taskrun"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	filteredinformerfactory "knative.dev/pkg/client/injection/kube/informers/factory/filtered"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/injection"
	"knative.dev/pkg/injection/sharedmain"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/signals"
	"knative.dev/pkg/webhook"
)

func main() {
	if err := run(signals.NewContext(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("tekton", flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "file that says where the API server is")
	cluster := flags.String("context", "", "context in that file")
	port := flags.Int("webhook-port", 0, "port to serve the webhooks on")
	certificates := flags.String("cert-dir", "", "directory with tls.crt and tls.key, to serve them with")
	if err := flags.Parse(args); err != nil {
		return err
	}
	// Tekton reads these names from its environment. The configurations in a cluster name the
	// Service and the Secret, too.
	if err := os.Setenv("SYSTEM_NAMESPACE", namespace); err != nil {
		return err
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: *kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: *cluster}).ClientConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 500, 500
	config = rest.AddUserAgent(config, "tekton")
	if err := storeCertificate(ctx, config, *certificates); err != nil {
		return err
	}
	ctx = webhook.WithOptions(ctx, webhook.Options{ServiceName: service, SecretName: secret, Port: *port})
	return serve(ctx, config)
}

// serve runs everything until a signal.
func serve(ctx context.Context, config *rest.Config) error {
	ctx = filteredinformerfactory.WithSelectors(ctx, v1beta1.ManagedByLabelKey)
	ctx, startInformers := injection.EnableInjectionOrDie(ctx, config)
	logger, _ := sharedmain.SetupLoggerOrDie(ctx, "tekton")
	ctx = logging.WithLogger(ctx, logger)
	configMaps := sharedmain.SetupConfigMapWatchOrDie(ctx, logger)
	options := &pipeline.Options{Images: pipeline.Images{
		EntrypointImage: "registry.example/entrypoint:1", NopImage: "registry.example/nop:1",
		SidecarLogResultsImage: "registry.example/results:1", ShellImage: "registry.example/shell:1",
		ShellImageWin: "registry.example/shell-windows:1", WorkingDirInitImage: "registry.example/workingdir:1",
	}}
	controllers, webhooks := sharedmain.ControllersAndWebhooksFromCtors(ctx, configMaps, append(admission(),
		taskrun.NewController(options, clock.RealClock{}),
		pipelinerun.NewController(options, clock.RealClock{}),
		resolutionrequest.NewController(clock.RealClock{}),
	)...)
	if err := configMaps.Start(ctx.Done()); err != nil {
		return err
	}
	server, err := webhook.New(ctx, webhooks)
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.Go(func() error { return server.Run(ctx.Done()) })
	startInformers()
	server.InformersHaveSynced()
	group.Go(func() error { return controller.StartAll(ctx, controllers...) })
	return group.Wait()
}

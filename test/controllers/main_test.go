// Package controllers tests the plugin against real controllers of other kinds than Job, with their
// definitions and webhooks: those of JobSet and Kubeflow Trainer, with ECOSYSTEM=1 those of all other
// projects that Kueue integrates, and with ECOSYSTEM=tekton those of Tekton. The plugin dispatches
// from one cluster to a worker, and a real MultiKueue delegates from another. kwok plays the
// kubelets.
package controllers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/dynamic"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/clusters"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/controller"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kueue"
)

const (
	// management is a management cluster without Kueue. Its Jobs are dispatched.
	management = "management"
	// manager is the management cluster of MultiKueue.
	manager = "manager"
	worker  = "worker"
)

// suite is what is tested.
var suite = jobSetAndTrainer()

// set are the clusters, and multiKueue runs on manager and worker. All clusters run the
// controllers of the suite, which ignore delegated objects.
var (
	set        *clusters.Set
	multiKueue *kueue.MultiKueue
)

// TestMain makes this test binary available as commands, so that kubectl finds the plugin on PATH.
func TestMain(m *testing.M) {
	switch os.Getenv("ECOSYSTEM") {
	case "":
	case "tekton":
		suite = tektonPipelines()
	default:
		suite = ecosystem()
	}
	plugin := func() { os.Exit(cmd.Run(util.ThisProcess())) }
	testscript.Main(withControllers{m}, map[string]func(){"kubectl-jobs_managedby": plugin})
}

// withControllers starts clusters and runs the tests.
type withControllers struct{ m *testing.M }

func (w withControllers) Run() int {
	code, err := w.run(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func (w withControllers) run(ctx context.Context) (code int, err error) {
	dir, err := os.MkdirTemp("", "jobmanagedby-controllers-")
	if err != nil {
		return 0, err
	}
	set, err = clusters.Up(ctx, clusters.Config{
		Programs: "../../bin/clusters", Dir: dir, Names: suite.clusters(), Nodes: 1,
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, set.Down()) }()
	running, err := startAll(ctx)
	defer func() {
		for _, r := range running {
			err = errors.Join(err, r.Stop(ctx))
		}
	}()
	if err != nil {
		return 0, err
	}
	if len(suite.frameworks) == 0 {
		return w.m.Run(), nil
	}
	multiKueue, err = kueue.Start(ctx, set, kueue.Config{
		Program: "../../bin/kueue/current", Manager: manager, Workers: map[string]string{worker: worker},
		Frameworks: suite.frameworks,
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, multiKueue.Stop(ctx)) }()
	return w.m.Run(), nil
}

// startAll installs the kinds on all clusters, and starts their controllers.
func startAll(ctx context.Context) (running []*controller.Running, err error) {
	var group errgroup.Group
	var mu sync.Mutex
	for _, cluster := range suite.clusters() {
		group.Go(func() error {
			for _, p := range suite.projects {
				if err := serve(ctx, cluster, p); err != nil {
					return err
				}
			}
			for _, p := range suite.projects {
				r, err := start(ctx, cluster, p)
				if err != nil {
					return err
				}
				mu.Lock()
				running = append(running, r)
				mu.Unlock()
			}
			return nil
		})
	}
	err = group.Wait()
	return running, err
}

func dynamicClient(cluster string) dynamic.Interface {
	config, err := set.Config(cluster)
	if err != nil {
		panic(err)
	}
	config.QPS = -1
	c, err := dynamic.NewForConfig(config)
	if err != nil {
		panic(err)
	}
	return c
}

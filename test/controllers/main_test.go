// Package controllers tests the plugin against real controllers of other kinds than
// Job: those of JobSet and of Kubeflow Trainer, with their definitions and webhooks. One
// cluster manages, one works; kwok plays the kubelets.
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
)

const (
	management = "management"
	worker     = "worker"
)

// set are the clusters. The worker runs all controllers, and the manager those of JobSet,
// which heed managedBy.
var set *clusters.Set

// TestMain makes commands of this test binary, so that kubectl finds the plugin on PATH.
func TestMain(m *testing.M) {
	plugin := func() { os.Exit(cmd.Run(util.ThisProcess())) }
	testscript.Main(withControllers{m}, map[string]func(){"kubectl-jobs_managedby": plugin})
}

// withControllers runs the tests with clusters around them.
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
		Programs: "../../bin/clusters", Dir: dir, Names: []string{management, worker}, Nodes: 1,
	})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, set.Down()) }()
	running, err := startAll(ctx)
	defer func() {
		for _, m := range running {
			err = errors.Join(err, m.Stop(ctx))
		}
	}()
	if err != nil {
		return 0, err
	}
	return w.m.Run(), nil
}

// startAll has both clusters serve all kinds, and starts the controllers.
func startAll(ctx context.Context) (running []*controller.Running, err error) {
	var group errgroup.Group
	var mu sync.Mutex
	for _, cluster := range []string{management, worker} {
		group.Go(func() error { return errors.Join(serve(ctx, cluster, jobSet), serve(ctx, cluster, trainer)) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for cluster, projects := range map[string][]project{management: {jobSet}, worker: {jobSet, trainer}} {
		for _, p := range projects {
			group.Go(func() error {
				m, err := start(ctx, cluster, p)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					running = append(running, m)
				}
				return err
			})
		}
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

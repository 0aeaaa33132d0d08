package controllers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/controller"
	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kinds"
)

// programs is the directory that install.sh filled.
const programs = "../../bin/controllers"

// project is a project with controllers.
type project string

const (
	jobSet  project = "jobset"
	trainer project = "trainer"
)

// serve has a cluster serve the kinds of a project, as its module defines them.
func serve(ctx context.Context, cluster string, p project) error {
	config, err := set.Config(cluster)
	if err != nil {
		return err
	}
	crds, err := kinds.Read(os.DirFS(filepath.Join(programs, string(p))), "crds")
	if err != nil {
		return err
	}
	return kinds.InstallAll(ctx, config, crds)
}

// start runs the controllers of a project for a cluster that serves its kinds, and registers their
// webhooks with its API server.
func start(ctx context.Context, cluster string, p project) (*controller.Running, error) {
	webhooks, err := kinds.Read(os.DirFS(filepath.Join(programs, string(p))), "webhooks")
	if err != nil {
		return nil, err
	}
	manager, err := filepath.Abs(filepath.Join(programs, "manager"))
	if err != nil {
		return nil, err
	}
	r, err := controller.Program{
		Name: string(p), Webhooks: webhooks,
		Command: func(_ string, port int) ([]string, error) {
			return []string{
				manager, "--kubeconfig", set.Kubeconfig, "--context", cluster,
				"--webhook-port", strconv.Itoa(port), "--cert-dir", ".", string(p),
			}, nil
		},
	}.Start(ctx, set, cluster)
	if err != nil {
		return nil, fmt.Errorf("controllers on %s: %w", cluster, err)
	}
	return r, nil
}

// poll waits until a condition holds.
func poll(ctx context.Context, is func(context.Context) bool) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		return is(ctx), nil
	})
}

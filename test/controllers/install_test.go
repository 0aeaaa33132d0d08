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

// installation has the projects that one run of the tests installs together.
type installation struct {
	// program runs the controllers of one of them.
	program  string
	projects []project
	// frameworks are Kueue's integrations of their kinds.
	frameworks []string
	// queued are the kinds that MultiKueue delegates.
	queued []queued
}

func jobSetAndTrainer() installation {
	return installation{
		program: "manager", projects: []project{"jobset", "trainer"},
		// Kueue integrates Pods by default. Its webhook then looks for their controllers.
		frameworks: []string{"jobset.x-k8s.io/jobset", "trainer.kubeflow.org/trainjob", "pod"},
		queued: []queued{
			{
				resource: jobSets, kind: "JobSet", pods: 3, submit: submitJobSet,
				parts: map[string]string{"job/train-leader-0": "JobSet", "job/train-workers-0": "JobSet", "job/train-workers-1": "JobSet"},
			},
			{
				resource: trainJobs, kind: "TrainJob", pods: 2, submit: submitTrainJob,
				parts: map[string]string{"jobset/train": "TrainJob", "job/train-node-0": "JobSet"},
			},
		},
	}
}

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
	manager, err := filepath.Abs(filepath.Join(programs, suite.program))
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

package controllers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
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
	// frameworks are Kueue's integrations of their kinds. Without any, there is no MultiKueue.
	frameworks []string
	// queued are the kinds that MultiKueue delegates.
	queued []queued
	// service is the Service of their webhooks, if they need it.
	service types.NamespacedName
	// prepare prepares a cluster for the controllers. complete completes it once they serve their
	// webhooks at a port. Both may be nil.
	prepare  func(ctx context.Context, cluster string) error
	complete func(ctx context.Context, cluster string, port int) error
}

// clusters returns the names of the clusters, which all run the controllers.
func (s installation) clusters() []string {
	if len(s.frameworks) == 0 {
		return []string{management, worker}
	}
	return []string{management, manager, worker}
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
	if err := kinds.InstallAll(ctx, config, crds); err != nil {
		return err
	}
	if suite.prepare == nil {
		return nil
	}
	return suite.prepare(ctx, cluster)
}

// start runs the controllers of a project for a cluster that serves its kinds, and registers their
// webhooks with its API server.
func start(ctx context.Context, cluster string, p project) (*controller.Running, error) {
	webhooks, err := kinds.Read(os.DirFS(filepath.Join(programs, string(p))), "webhooks")
	if err != nil {
		return nil, err
	}
	// Tekton's file also has a Secret, and a webhook for its own ConfigMaps.
	webhooks = slices.DeleteFunc(webhooks, func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "Secret" || strings.HasPrefix(o.GetName(), "config.webhook.")
	})
	manager, err := filepath.Abs(filepath.Join(programs, suite.program))
	if err != nil {
		return nil, err
	}
	r, err := controller.Program{
		Name: string(p), Webhooks: webhooks, Service: suite.service,
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
	if suite.complete == nil {
		return r, nil
	}
	return r, suite.complete(ctx, cluster, r.Port)
}

// poll waits until a condition holds.
func poll(ctx context.Context, is func(context.Context) bool) error {
	return wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		return is(ctx), nil
	})
}

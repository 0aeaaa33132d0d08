package main

import (
	"context"
	"errors"

	routeapi "github.com/openshift/api/route/v1"
	rayconfig "github.com/ray-project/kuberay/ray-operator/apis/config/v1alpha1"
	rayapi "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/batchscheduler"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils/dashboardclient"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils/types"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/controllers/manager/run"
)

// kubeRay returns what the main package of github.com/ray-project/kuberay/ray-operator sets up. Its
// webhooks are off by default.
func kubeRay() run.Controllers {
	return run.Controllers{
		Schemes: []func(*runtime.Scheme) error{scheme.AddToScheme, rayapi.AddToScheme, routeapi.Install},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&batchv1.Job{}: {Label: labels.SelectorFromSet(labels.Set{utils.KubernetesCreatedByLabelKey: utils.ComponentName})},
		}},
		SetUp: func(ctx context.Context, m ctrl.Manager) error {
			config := rayconfig.Configuration{}
			scheduler, err := batchscheduler.NewSchedulerManager(ctx, config, m.GetConfig(), m.GetClient())
			if err != nil {
				return err
			}
			clusters := ray.NewReconciler(ctx, m, ray.RayClusterReconcilerOptions{BatchSchedulerManager: scheduler})
			jobs := ray.NewRayJobReconciler(ctx, m, ray.RayJobReconcilerOptions{BatchSchedulerManager: scheduler}, played{config})
			services := ray.NewRayServiceReconciler(ctx, m, played{config})
			return errors.Join(clusters.SetupWithManager(m, 1), jobs.SetupWithManager(m, 1), services.SetupWithManager(m, 1))
		},
	}
}

// played replaces the dashboards of Ray clusters, since no Pod runs a program.
type played struct{ rayconfig.Configuration }

func (played) GetDashboardClient(_ context.Context, m ctrl.Manager) func(*rayapi.RayCluster, string) (dashboardclient.RayDashboardClientInterface, error) {
	return func(c *rayapi.RayCluster, _ string) (dashboardclient.RayDashboardClientInterface, error) {
		return dashboard{reader: m.GetAPIReader(), cluster: c}, nil
	}
}

// dashboard is the dashboard of a RayJob's cluster. It has the methods that KubeRay calls for a
// RayJob whose submitter is a Kubernetes Job, and ends a Ray job as its submitter ends.
type dashboard struct {
	dashboardclient.RayDashboardClientInterface

	reader  client.Reader
	cluster *rayapi.RayCluster
}

func (d dashboard) GetJobInfo(ctx context.Context, id string) (*types.RayJobInfo, error) {
	var submitter batchv1.Job
	name := d.cluster.Labels[utils.RayOriginatedFromCRNameLabelKey]
	if err := d.reader.Get(ctx, client.ObjectKey{Namespace: d.cluster.Namespace, Name: name}, &submitter); err != nil {
		return nil, err
	}
	info := &types.RayJobInfo{JobId: id, SubmissionId: id, JobStatus: rayapi.JobStatusRunning}
	for _, c := range submitter.Status.Conditions {
		switch {
		case c.Status != "True":
		case c.Type == batchv1.JobComplete:
			info.JobStatus = rayapi.JobStatusSucceeded
		case c.Type == batchv1.JobFailed:
			info.JobStatus = rayapi.JobStatusFailed
		}
	}
	return info, nil
}

func (d dashboard) StopJob(context.Context, string) error { return nil }

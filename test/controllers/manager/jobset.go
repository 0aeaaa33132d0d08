package main

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	jobsetapi "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	jobsetcontrollers "sigs.k8s.io/jobset/pkg/controllers"
	jobsetwebhooks "sigs.k8s.io/jobset/pkg/webhooks"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/controllers/manager/run"
)

// jobSet returns what the main package of sigs.k8s.io/jobset sets up.
func jobSet() run.Controllers {
	return run.Controllers{
		Schemes: []func(*runtime.Scheme) error{scheme.AddToScheme, jobsetapi.AddToScheme},
		SetUp: func(ctx context.Context, m ctrl.Manager) error {
			if err := jobsetcontrollers.SetupJobSetIndexes(ctx, m.GetFieldIndexer()); err != nil {
				return err
			}
			if err := jobsetcontrollers.SetupPodIndexes(ctx, m.GetFieldIndexer()); err != nil {
				return err
			}
			sets := jobsetcontrollers.NewJobSetReconciler(m.GetClient(), m.GetScheme(), m.GetEventRecorder("jobset"))
			if err := sets.SetupWithManager(m); err != nil {
				return err
			}
			pods := jobsetcontrollers.NewPodReconciler(m.GetClient(), m.GetScheme(), m.GetEventRecorder("pod"))
			if err := pods.SetupWithManager(m); err != nil {
				return err
			}
			return jobsetwebhooks.Setup(m)
		},
	}
}

package main

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	lwsapi "sigs.k8s.io/lws/api/leaderworkerset/v1"
	"sigs.k8s.io/lws/pkg/controllers"
	"sigs.k8s.io/lws/pkg/webhooks"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/controllers/manager/run"
)

// leaderWorkerSet returns what cmd of sigs.k8s.io/lws sets up, without DisaggregatedSets.
func leaderWorkerSet() run.Controllers {
	return run.Controllers{
		Schemes: []func(*runtime.Scheme) error{scheme.AddToScheme, lwsapi.AddToScheme},
		SetUp: func(_ context.Context, m ctrl.Manager) error {
			if err := controllers.SetupIndexes(m.GetFieldIndexer()); err != nil {
				return err
			}
			recorder := m.GetEventRecorder("leaderworkerset")
			if err := controllers.NewLeaderWorkerSetReconciler(m.GetClient(), m.GetScheme(), recorder).SetupWithManager(m); err != nil {
				return err
			}
			if err := controllers.NewPodReconciler(m.GetClient(), m.GetScheme(), recorder, nil).SetupWithManager(m); err != nil {
				return err
			}
			if err := webhooks.SetupLeaderWorkerSetWebhook(m); err != nil {
				return err
			}
			return webhooks.NewPodWebhook(nil).Setup(m)
		},
	}
}

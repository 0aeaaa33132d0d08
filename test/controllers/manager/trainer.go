package main

import (
	"context"
	"fmt"

	trainerconfig "github.com/kubeflow/trainer/v2/pkg/apis/config/v1alpha1"
	trainerapi "github.com/kubeflow/trainer/v2/pkg/apis/trainer/v1alpha1"
	trainercontrollers "github.com/kubeflow/trainer/v2/pkg/controller"
	trainerruntimes "github.com/kubeflow/trainer/v2/pkg/runtime/core"
	trainerwebhooks "github.com/kubeflow/trainer/v2/pkg/webhooks"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	jobsetapi "sigs.k8s.io/jobset/api/jobset/v1alpha2"
	schedulingapi "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcanoapi "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/controllers/manager/run"
)

// trainer returns what cmd/trainer-controller-manager of github.com/kubeflow/trainer sets up.
func trainer() run.Controllers {
	return run.Controllers{
		Schemes: []func(*runtime.Scheme) error{
			scheme.AddToScheme, trainerapi.AddToScheme, jobsetapi.AddToScheme, schedulingapi.AddToScheme, volcanoapi.AddToScheme,
		},
		SetUp: func(ctx context.Context, m ctrl.Manager) error {
			// Only the alpha status server, which is off, reads the configuration.
			runtimes, err := trainerruntimes.New(ctx, m.GetClient(), m.GetFieldIndexer(), &trainerconfig.Configuration{})
			if err != nil {
				return err
			}
			if name, err := trainercontrollers.SetupControllers(m, runtimes, controller.Options{}); err != nil {
				return fmt.Errorf("controller of %s: %w", name, err)
			}
			if name, err := trainerwebhooks.Setup(m, runtimes); err != nil {
				return fmt.Errorf("webhook of %s: %w", name, err)
			}
			return nil
		},
	}
}

package main

import (
	"context"
	"fmt"

	trainingapi "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/config"
	trainingcontrollers "github.com/kubeflow/training-operator/pkg/controller.v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	schedulingapi "sigs.k8s.io/scheduler-plugins/apis/scheduling/v1alpha1"
	volcanoapi "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/controllers/manager/run"
)

// trainingOperator returns what cmd/training-operator.v1 of github.com/kubeflow/training-operator
// sets up, without its MPIJobs, which mpiOperator runs, and without its webhooks, which do not
// compile with the controller-runtime of the other projects.
func trainingOperator() run.Controllers {
	return run.Controllers{
		Schemes: []func(*runtime.Scheme) error{scheme.AddToScheme, trainingapi.AddToScheme, schedulingapi.AddToScheme, volcanoapi.AddToScheme},
		SetUp: func(_ context.Context, m ctrl.Manager) error {
			config.Config.PyTorchInitContainerImage = config.PyTorchInitContainerImageDefault
			config.Config.PyTorchInitContainerTemplateFile = config.PyTorchInitContainerTemplateFileDefault
			config.Config.PyTorchInitContainerMaxTries = config.PyTorchInitContainerMaxTriesDefault
			for kind, setUp := range trainingcontrollers.SupportedSchemeReconciler {
				if kind == trainingapi.MPIJobKind {
					continue
				}
				if err := setUp(m, common.GenNonGangSchedulerSetupFunc(), 1); err != nil {
					return fmt.Errorf("controller of %s: %w", kind, err)
				}
			}
			return nil
		},
	}
}

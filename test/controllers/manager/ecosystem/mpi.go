package main

import (
	"context"

	"github.com/kubeflow/mpi-operator/cmd/mpi-operator/app/options"
	mpiclient "github.com/kubeflow/mpi-operator/pkg/client/clientset/versioned"
	mpischeme "github.com/kubeflow/mpi-operator/pkg/client/clientset/versioned/scheme"
	mpiinformers "github.com/kubeflow/mpi-operator/pkg/client/informers/externalversions"
	mpicontroller "github.com/kubeflow/mpi-operator/pkg/controller"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/controllers/manager/run"
)

// mpiOperator returns what cmd/mpi-operator of github.com/kubeflow/mpi-operator sets up. It has no
// webhooks.
func mpiOperator() run.Controllers {
	return run.Controllers{
		// Its events name MPIJobs, with the types of this global scheme.
		Schemes: []func(*runtime.Scheme) error{func(*runtime.Scheme) error { return mpischeme.AddToScheme(scheme.Scheme) }},
		SetUp: func(_ context.Context, m ctrl.Manager) error {
			return m.Add(manager.RunnableFunc(func(ctx context.Context) error {
				client, err := kubernetes.NewForConfig(m.GetConfig())
				if err != nil {
					return err
				}
				jobs, err := mpiclient.NewForConfig(m.GetConfig())
				if err != nil {
					return err
				}
				all, mpi := informers.NewSharedInformerFactory(client, 0), mpiinformers.NewSharedInformerFactory(jobs, 0)
				controller, err := mpicontroller.NewMPIJobController(ctx, client, jobs, nil, nil,
					all.Core().V1().ConfigMaps(), all.Core().V1().Secrets(), all.Core().V1().Services(), all.Batch().V1().Jobs(),
					all.Core().V1().Pods(), all.Scheduling().V1().PriorityClasses(), mpi.Kubeflow().V2beta1().MPIJobs(),
					&options.ServerOption{ControllerRateLimit: 10, ControllerBurst: 100})
				if err != nil {
					return err
				}
				all.Start(ctx.Done())
				mpi.Start(ctx.Done())
				return controller.Run(2, ctx.Done())
			}))
		},
	}
}

package main

import (
	"context"
	"time"

	appwrapperapi "github.com/project-codeflare/appwrapper/api/v1beta2"
	"github.com/project-codeflare/appwrapper/pkg/config"
	"github.com/project-codeflare/appwrapper/pkg/controller"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/controllers/manager/run"
)

// appWrapper returns what the main package of github.com/project-codeflare/appwrapper sets up. A
// failed AppWrapper is not retried, and fails within a second instead of a minute.
func appWrapper() run.Controllers {
	return run.Controllers{
		Schemes: []func(*runtime.Scheme) error{scheme.AddToScheme, appwrapperapi.AddToScheme},
		SetUp: func(_ context.Context, m ctrl.Manager) error {
			c := config.NewAppWrapperConfig()
			c.FaultTolerance.FailureGracePeriod, c.FaultTolerance.RetryLimit = time.Second, 0
			if err := controller.SetupWebhooks(m, c); err != nil {
				return err
			}
			return controller.SetupControllers(m, c)
		},
	}
}

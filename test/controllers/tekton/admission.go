package main

import (
	"context"

	tektonconfig "github.com/tektoncd/pipeline/pkg/apis/config"
	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/apis/pipeline/v1alpha1"
	"github.com/tektoncd/pipeline/pkg/apis/pipeline/v1beta1"
	resolutionv1beta1 "github.com/tektoncd/pipeline/pkg/apis/resolution/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"knative.dev/pkg/configmap"
	"knative.dev/pkg/controller"
	"knative.dev/pkg/injection"
	"knative.dev/pkg/logging"
	"knative.dev/pkg/webhook/resourcesemantics"
	"knative.dev/pkg/webhook/resourcesemantics/conversion"
	"knative.dev/pkg/webhook/resourcesemantics/defaulting"
	"knative.dev/pkg/webhook/resourcesemantics/validation"
)

// admission returns the webhooks of Tekton's cmd/webhook for its current kinds. Their controllers
// set the rules and the certificate of the webhook configurations and definitions in the cluster.
func admission() []injection.ControllerConstructor {
	admitted := map[schema.GroupVersionKind]resourcesemantics.GenericCRD{
		v1beta1.SchemeGroupVersion.WithKind("Pipeline"):                    &v1beta1.Pipeline{},
		v1beta1.SchemeGroupVersion.WithKind("Task"):                        &v1beta1.Task{},
		v1beta1.SchemeGroupVersion.WithKind("TaskRun"):                     &v1beta1.TaskRun{},
		v1beta1.SchemeGroupVersion.WithKind("PipelineRun"):                 &v1beta1.PipelineRun{},
		v1beta1.SchemeGroupVersion.WithKind("CustomRun"):                   &v1beta1.CustomRun{},
		v1.SchemeGroupVersion.WithKind("Task"):                             &v1.Task{},
		v1.SchemeGroupVersion.WithKind("Pipeline"):                         &v1.Pipeline{},
		v1.SchemeGroupVersion.WithKind("TaskRun"):                          &v1.TaskRun{},
		v1.SchemeGroupVersion.WithKind("PipelineRun"):                      &v1.PipelineRun{},
		resolutionv1beta1.SchemeGroupVersion.WithKind("ResolutionRequest"): &resolutionv1beta1.ResolutionRequest{},
	}
	const name = "webhook.pipeline.tekton.dev"
	return []injection.ControllerConstructor{
		func(ctx context.Context, watcher configmap.Watcher) *controller.Impl {
			return defaulting.NewAdmissionController(ctx, name, "/defaulting", admitted, configured(ctx, watcher), true)
		},
		func(ctx context.Context, watcher configmap.Watcher) *controller.Impl {
			return validation.NewAdmissionController(ctx, "validation."+name, "/resource-validation", admitted, configured(ctx, watcher), true)
		},
		func(ctx context.Context, watcher configmap.Watcher) *controller.Impl {
			return conversion.NewConversionController(ctx, "/resource-conversion", converted(), configured(ctx, watcher))
		},
	}
}

// configured returns a function that adds Tekton's ConfigMaps in the cluster to the context of a
// request.
func configured(ctx context.Context, watcher configmap.Watcher) func(context.Context) context.Context {
	store := tektonconfig.NewStore(logging.FromContext(ctx).Named("config-store"))
	store.WatchConfigs(watcher)
	return store.ToContext
}

// converted returns the kinds with two served versions.
func converted() map[schema.GroupKind]conversion.GroupKindConversion {
	of := func(resource schema.GroupResource, newer, older conversion.ConvertibleObject) conversion.GroupKindConversion {
		return conversion.GroupKindConversion{
			DefinitionName: resource.String(), HubVersion: v1beta1.SchemeGroupVersion.Version,
			Zygotes: map[string]conversion.ConvertibleObject{"v1": newer, "v1beta1": older},
		}
	}
	return map[schema.GroupKind]conversion.GroupKindConversion{
		v1.Kind("Task"):        of(pipeline.TaskResource, &v1.Task{}, &v1beta1.Task{}),
		v1.Kind("Pipeline"):    of(pipeline.PipelineResource, &v1.Pipeline{}, &v1beta1.Pipeline{}),
		v1.Kind("TaskRun"):     of(pipeline.TaskRunResource, &v1.TaskRun{}, &v1beta1.TaskRun{}),
		v1.Kind("PipelineRun"): of(pipeline.PipelineRunResource, &v1.PipelineRun{}, &v1beta1.PipelineRun{}),
		v1beta1.Kind("StepAction"): {
			DefinitionName: pipeline.StepActionResource.String(), HubVersion: v1alpha1.SchemeGroupVersion.Version,
			Zygotes: map[string]conversion.ConvertibleObject{"v1alpha1": &v1alpha1.StepAction{}, "v1beta1": &v1beta1.StepAction{}},
		},
	}
}

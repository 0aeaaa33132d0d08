package controllers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kinds"
)

var (
	pipelineRuns = schema.GroupVersionResource{Group: "tekton.dev", Version: "v1", Resource: "pipelineruns"}
	taskRuns     = schema.GroupVersionResource{Group: "tekton.dev", Version: "v1", Resource: "taskruns"}
	pipelines    = schema.GroupVersionResource{Group: "tekton.dev", Version: "v1", Resource: "pipelines"}
	definitions  = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// tektonPipelines returns the project Tekton, which Kueue does not integrate.
func tektonPipelines() installation {
	return installation{
		program: "tekton", projects: []project{"tekton-pipelines"},
		service: types.NamespacedName{Namespace: "tekton-pipelines", Name: "tekton-pipelines-webhook"},
		prepare: configureTekton, complete: completeTekton,
	}
}

// configureTekton creates Tekton's namespace and ConfigMaps. Its controllers wait for them.
func configureTekton(ctx context.Context, cluster string) error {
	configs, err := kinds.Read(os.DirFS(filepath.Join(programs, "tekton-pipelines")), "configs")
	if err != nil {
		return err
	}
	for _, o := range configs {
		resource := schema.GroupVersionResource{Version: "v1", Resource: strings.ToLower(o.GetKind()) + "s"}
		if _, err := dynamicClient(cluster).Resource(resource).Namespace(o.GetNamespace()).Create(ctx, o, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// completeTekton points the definitions of kinds with two versions to the port of the webhooks,
// which convert between them. It waits until the API server calls the webhooks for PipelineRuns:
// Tekton itself sets their rules.
func completeTekton(ctx context.Context, cluster string, port int) error {
	client := dynamicClient(cluster)
	list, err := client.Resource(definitions).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		if strategy, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "conversion", "strategy"); strategy != "Webhook" {
			continue
		}
		change := fmt.Appendf(nil, `{"spec":{"conversion":{"webhook":{"clientConfig":{"service":{"port":%d}}}}}}`, port)
		if _, err := client.Resource(definitions).Patch(ctx, list.Items[i].GetName(), types.MergePatchType, change, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	invalid := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "tekton.dev/v1", "kind": "PipelineRun", "metadata": map[string]any{"name": "invalid"}, "spec": map[string]any{},
	}}
	var refusal error
	err = poll(ctx, func(ctx context.Context) bool {
		_, refusal = client.Resource(pipelineRuns).Namespace("default").Create(ctx, invalid, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return refusal != nil && strings.Contains(refusal.Error(), "validation.webhook.pipeline.tekton.dev")
	})
	if err != nil {
		return fmt.Errorf("wait until Tekton refuses an invalid PipelineRun: %w, %w", err, refusal)
	}
	return nil
}

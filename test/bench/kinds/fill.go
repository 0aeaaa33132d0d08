package main

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/test/fixture/kinds"
)

const namespace = "bench"

// fill installs the kinds in a cluster, and creates that many objects of each.
func fill(ctx context.Context, config *rest.Config, samples []kinds.Sample, objects int) error {
	if err := kinds.Install(ctx, config, kinds.Known, kinds.Others); err != nil {
		return err
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	ns := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": namespace},
	}}
	if _, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Create(ctx, ns, metav1.CreateOptions{}); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range samples {
		for n := range objects {
			group.Go(func() error { return create(ctx, client, &samples[i], n) })
		}
	}
	return group.Wait()
}

// create creates one object, which runs; an object with templates is suspended.
func create(ctx context.Context, client dynamic.Interface, s *kinds.Sample, n int) error {
	o := s.New(namespace, fmt.Sprintf("%s-%03d", s.Kind.Name, n))
	grow(o.Object["spec"])
	if s.Kind.Template {
		if err := unstructured.SetNestedField(o.Object, true, "spec", "suspend"); err != nil {
			return err
		}
	}
	created, err := client.Resource(s.Kind.Resource).Namespace(namespace).Create(ctx, o, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create %s %s: %w", s.Kind, o.GetName(), err)
	}
	if s.Kind.Template {
		return nil
	}
	return s.Report(ctx, client, created, "running")
}

// grow gives an object a realistic size of 5 to 10 kB: each of its containers gets settings, so
// objects with several containers have more.
func grow(value any) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			grow(item)
		}
	case map[string]any:
		if v["image"] != nil {
			var env []any
			for i := range 50 {
				env = append(env, map[string]any{"name": fmt.Sprintf("SETTING_%02d", i), "value": strings.Repeat("value-", 10)})
			}
			v["env"] = env
		}
		for _, inner := range v {
			grow(inner)
		}
	}
}

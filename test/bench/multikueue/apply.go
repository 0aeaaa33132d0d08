package multikueue

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
)

//go:embed *.yaml
var files embed.FS

// apply executes a template and creates the resulting objects, with their status.
func apply(ctx context.Context, client dynamic.Interface, file string, data any) error {
	t, err := template.ParseFS(files, file)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := t.Execute(&text, data); err != nil {
		return err
	}
	if err := createAll(ctx, client, &text); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// createAll creates the objects of a YAML text.
func createAll(ctx context.Context, client dynamic.Interface, text io.Reader) error {
	decoder := yaml.NewYAMLOrJSONDecoder(text, 4096)
	for {
		o := &unstructured.Unstructured{}
		switch err := decoder.Decode(&o.Object); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(o.Object) == 0:
			continue
		}
		if err := create(ctx, client, o); err != nil {
			return fmt.Errorf("create %s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
		}
	}
}

// create creates an object, and writes its status as its controller would.
func create(ctx context.Context, client dynamic.Interface, o *unstructured.Unstructured) error {
	gvr, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	resource := client.Resource(gvr).Namespace(o.GetNamespace())
	status, hasStatus := o.Object["status"]
	var created *unstructured.Unstructured
	// A new kind's API is served a moment after its CRD is established.
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (bool, error) {
		var err error
		created, err = resource.Create(ctx, o, metav1.CreateOptions{})
		if apierrors.IsNotFound(err) && strings.Contains(err.Error(), "could not find the requested resource") {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil || !hasStatus {
		return err
	}
	created.Object["status"] = status
	_, err = resource.UpdateStatus(ctx, created, metav1.UpdateOptions{})
	return err
}

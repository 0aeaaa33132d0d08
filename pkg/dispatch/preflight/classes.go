package preflight

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// addRemedy adds the command that creates a missing class on the worker, with the values of the
// origin's class.
func (c *check) addRemedy(ctx context.Context, p Problem) Problem {
	name := p.Object.Name
	switch p.Object.Kind {
	case "PriorityClass":
		value, flags := "VALUE", []string(nil)
		if original, err := c.origin.Find(ctx, "", name, priorityClasses()); err == nil && original != nil {
			number, _, _ := unstructured.NestedInt64(original.Object, "value")
			value = fmt.Sprint(number)
			if policy := preemption(original); policy != string(corev1.PreemptLowerPriority) {
				flags = []string{"--preemption-policy=" + policy}
			}
		}
		p.Remedy = command.Say("remove priorityClassName from the %s, or have the class created: %s", c.kind.Kind,
			c.worker.Kubectl("", "create", "priorityclass", name, "--value="+value).With(flags...))
	case "RuntimeClass":
		p.Remedy = command.Say("remove runtimeClassName from the %s, or have the runtime installed", c.kind.Kind)
		if original, err := c.origin.Find(ctx, "", name, runtimeClasses()); err == nil && original != nil {
			handler, _, _ := unstructured.NestedString(original.Object, "handler")
			class := map[string]any{
				"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": map[string]any{"name": name}, "handler": handler,
			}
			p.Remedy += command.Say("; if the nodes have it: %s", c.worker.Kubectl("", "create", "-f", "-").Fed(command.JSON(class)))
		}
	}
	return p
}

// priority warns about a PriorityClass that differs on the worker. It ignores errors, because
// most users cannot read PriorityClasses.
func (c *check) priority(ctx context.Context, of *pods) []Problem {
	name := of.spec.PriorityClassName
	if name == "" {
		return nil
	}
	here, err := c.origin.Find(ctx, "", name, priorityClasses())
	if err != nil || here == nil {
		return nil
	}
	there, err := c.worker.Find(ctx, "", name, priorityClasses())
	if err != nil || there == nil {
		return nil
	}
	before, _, _ := unstructured.NestedInt64(here.Object, "value")
	after, _, _ := unstructured.NestedInt64(there.Object, "value")
	if before == after && preemption(here) == preemption(there) {
		return nil
	}
	return []Problem{{
		Context: c.worker.Context, Object: named("PriorityClass", "", name),
		Message: fmt.Sprintf("differs from %s: value %d, %s instead of value %d, %s", c.origin.Context, after, preemption(there), before, preemption(here)),
	}}
}

func preemption(class *unstructured.Unstructured) string {
	if policy, _, _ := unstructured.NestedString(class.Object, "preemptionPolicy"); policy != "" {
		return policy
	}
	return string(corev1.PreemptLowerPriority)
}

// account, priorityClass and runtimeClass check what admission would, for users who cannot try a
// Pod.
func (c *check) account(ctx context.Context, of *pods) []Problem {
	return c.need(ctx, need{
		kind: "ServiceAccount", namespace: c.namespace(), name: of.spec.ServiceAccountName,
		message:  "does not exist, and the Pods run as it",
		remedy:   c.worker.Kubectl(c.namespace(), "create", "serviceaccount", of.spec.ServiceAccountName).Prose(),
		versions: versions(corev1.SchemeGroupVersion.WithResource("serviceaccounts")), blocks: true,
	})
}

func (c *check) priorityClass(ctx context.Context, of *pods) []Problem {
	return c.need(ctx, need{
		kind: "PriorityClass", name: of.spec.PriorityClassName,
		message: "does not exist, and the Pods name it", versions: versions(priorityClasses()), blocks: true,
	})
}

func (c *check) runtimeClass(ctx context.Context, of *pods) []Problem {
	name := ""
	if n := of.spec.RuntimeClassName; n != nil {
		name = *n
	}
	return c.need(ctx, need{
		kind: "RuntimeClass", name: name, message: "does not exist, and the Pods name it",
		versions: versions(runtimeClasses()), blocks: true,
	})
}

func priorityClasses() schema.GroupVersionResource {
	return schedulingv1.SchemeGroupVersion.WithResource("priorityclasses")
}

func runtimeClasses() schema.GroupVersionResource {
	return nodev1.SchemeGroupVersion.WithResource("runtimeclasses")
}

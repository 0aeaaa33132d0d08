package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// accelerators are those of each worker's nodes, in their order; of which there are four a
// node. Nodes after them have none.
var accelerators = map[string][]string{
	worker1: {"a100", "a100"},
	worker2: {"a100", "a100", "h100"},
}

func equip(ctx context.Context, clients map[string]kubernetes.Interface) error {
	for cluster, kinds := range accelerators {
		list, err := clients[cluster].CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("cluster %s: %w", cluster, err)
		}
		if len(list.Items) < len(kinds) {
			return fmt.Errorf("cluster %s has %d nodes, and %d are to have accelerators", cluster, len(list.Items), len(kinds))
		}
		for i, kind := range kinds {
			patch := fmt.Appendf(nil, `{"metadata": {"labels": {"accelerator": %q}},
				"status": {"capacity": {"nvidia.com/gpu": "4"}, "allocatable": {"nvidia.com/gpu": "4"}}}`, kind)
			for _, subresources := range [][]string{nil, {"status"}} {
				if _, err := clients[cluster].CoreV1().Nodes().Patch(ctx, list.Items[i].Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, subresources...); err != nil {
					return fmt.Errorf("cluster %s: %w", cluster, err)
				}
			}
		}
	}
	return nil
}

package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// accelerator describes the accelerator of a node.
type accelerator struct {
	kind string
	gpus int
	// rack is the rack of the node, "" if it does not matter.
	rack string
}

// accelerators are those of the nodes of each worker, in order. Further nodes have none.
var accelerators = map[string][]accelerator{
	worker1: {{"a100", 4, ""}, {"a100", 4, ""}},
	worker2: {{"a100", 4, ""}, {"a100", 4, ""}, {"h100", 2, "rack-1"}, {"h100", 2, "rack-2"}},
}

func equip(ctx context.Context, clients map[string]kubernetes.Interface) error {
	for cluster, equipment := range accelerators {
		list, err := clients[cluster].CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("cluster %s: %w", cluster, err)
		}
		if len(list.Items) < len(equipment) {
			return fmt.Errorf("cluster %s has %d nodes, and %d are to have accelerators", cluster, len(list.Items), len(equipment))
		}
		for i, a := range equipment {
			patch := fmt.Appendf(nil, `{"metadata": {"labels": {"accelerator": %q, "example.com/rack": %q}},
				"status": {"capacity": {"nvidia.com/gpu": "%[3]d"}, "allocatable": {"nvidia.com/gpu": "%[3]d"}}}`, a.kind, a.rack, a.gpus)
			for _, subresources := range [][]string{nil, {"status"}} {
				if _, err := clients[cluster].CoreV1().Nodes().Patch(ctx, list.Items[i].Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, subresources...); err != nil {
					return fmt.Errorf("cluster %s: %w", cluster, err)
				}
			}
		}
	}
	return nil
}

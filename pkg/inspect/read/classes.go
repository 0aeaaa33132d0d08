package read

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// ClassNames are the classes that a Job names, "" for none.
type ClassNames struct{ WorkloadPriority, Priority, Runtime string }

// Classes reads what classes come to, by context. A WorkloadPriorityClass goes before a
// PriorityClass (kueue: pkg/controller/jobframework/reconciler.go). The global default of
// PriorityClasses is not asked for, since few may list them. What cannot be read is said.
func Classes(ctx context.Context, f *fleet.Fleet, names ClassNames) map[string]placement.Class {
	if names == (ClassNames{}) {
		return nil
	}
	answers := fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (placement.Class, error) {
		var class placement.Class
		class.Priority, class.PriorityUnread = priorityOf(ctx, c, names)
		if names.Runtime != "" {
			r := schema.GroupVersionResource{Group: "node.k8s.io", Version: "v1", Resource: "runtimeclasses"}
			found, why := classNamed[struct {
				Overhead struct {
					PodFixed corev1.ResourceList `json:"podFixed"`
				} `json:"overhead"`
			}](ctx, c, r, "RuntimeClass", names.Runtime)
			class.Overhead, class.OverheadUnread = found.Overhead.PodFixed, why
		}
		return class, nil
	})
	classes := map[string]placement.Class{}
	for _, a := range answers {
		if a.Err == nil {
			classes[a.Context] = a.Value
		}
	}
	return classes
}

type priority struct {
	Value int32 `json:"value"`
}

func priorityOf(ctx context.Context, c *fleet.Cluster, names ClassNames) (value int32, unread string) {
	var found priority
	switch {
	case names.WorkloadPriority != "":
		version, err := KueueVersion(ctx, c)
		if err != nil || version == "" {
			return 0, ""
		}
		r := schema.GroupVersionResource{Group: kueue.Group, Version: version, Resource: "workloadpriorityclasses"}
		found, unread = classNamed[priority](ctx, c, r, "WorkloadPriorityClass", names.WorkloadPriority)
	case names.Priority != "":
		r := schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}
		found, unread = classNamed[priority](ctx, c, r, "PriorityClass", names.Priority)
	}
	return found.Value, unread
}

// classNamed reads a class, or says why it is unknown. A snapshot may lack what is there.
func classNamed[T any](ctx context.Context, c *fleet.Cluster, r schema.GroupVersionResource, kind, name string) (class T, unread string) {
	found, err := Get[T](ctx, c, r, "", name)
	switch {
	case err != nil:
		return class, fmt.Sprintf("%s %s could not be read: %s", kind, name, kubecontext.InContext(c.Context, "", err).Message())
	case found == nil:
		return class, fmt.Sprintf("%s %s was not found", kind, name)
	}
	return *found, ""
}

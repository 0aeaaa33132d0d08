package read

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// ClassNames are the classes that a Job names, "" for none.
type ClassNames struct{ WorkloadPriority, Priority, Runtime string }

// Classes reads the values of classes, by context. A WorkloadPriorityClass precedes a
// PriorityClass, which precedes the global default of PriorityClasses (kueue:
// pkg/controller/jobframework/reconciler.go). The results say which could not be read.
func Classes(ctx context.Context, f *fleet.Fleet, names ClassNames) map[string]placement.Class {
	answers := fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (placement.Class, error) {
		var class placement.Class
		class.Priority, class.PriorityUnread = priorityOf(ctx, c, names)
		if names.Runtime != "" {
			found, why := classNamed[struct {
				Overhead struct {
					PodFixed corev1.ResourceList `json:"podFixed"`
				} `json:"overhead"`
			}](ctx, c, runtimeClasses(), "RuntimeClass", names.Runtime)
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
	Value         int32 `json:"value"`
	GlobalDefault bool  `json:"globalDefault"`
}

func runtimeClasses() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "node.k8s.io", Version: "v1", Resource: "runtimeclasses"}
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
		found, unread = classNamed[priority](ctx, c, priorityClasses(), "PriorityClass", names.Priority)
	default:
		return defaultPriority(ctx, c)
	}
	return found.Value, unread
}

func priorityClasses() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}
}

// defaultPriority returns the value of the global default of PriorityClasses: the lowest if there
// are several, 0 if there is none, or in an older snapshot, which lacks them.
func defaultPriority(ctx context.Context, c *fleet.Cluster) (value int32, unread string) {
	var defaults []int32
	err := listObjects(ctx, c, priorityClasses(), "", metav1.ListOptions{}, func(p *priority) {
		if p.GlobalDefault {
			defaults = append(defaults, p.Value)
		}
	})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return 0, fmt.Sprintf("the global default of PriorityClasses could not be read: %s", kubecontext.InContext(c.Context, "", err).Message())
	case len(defaults) > 0:
		value = slices.Min(defaults)
	}
	return value, ""
}

// passClasses lists the classes that a Job may name, so that a snapshot records them. Few users may
// list them, so a denial is no gap.
func (r *factReader) passClasses(ctx context.Context) {
	for _, resource := range []schema.GroupVersionResource{
		r.resource("workloadpriorityclasses"), priorityClasses(), runtimeClasses(),
	} {
		r.wg.Go(func() { _ = listObjects(ctx, r.cluster, resource, "", metav1.ListOptions{}, func(*struct{}) {}) })
	}
}

// classNamed reads a class, or says why it is unknown. A snapshot may lack an existing class.
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

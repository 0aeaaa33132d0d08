package read

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// ClassNames are the classes that a Job names, "" for none.
type ClassNames struct {
	WorkloadPriority, Priority, Runtime string
	// InSnapshot is whether they are read from a snapshot, which may lack existing classes.
	InSnapshot bool
}

// ClassNamesOf returns the classes on which it depends whether Kueue creates a Workload for a Job.
func ClassNamesOf(j *inspect.Job) ClassNames {
	if j.Object == nil {
		return ClassNames{}
	}
	names := ClassNames{WorkloadPriority: j.Object.GetLabels()[delegation.PriorityClassLabel]}
	if j.Row().IsJob() {
		names.Priority = delegation.TextAt(j.Object.Object, "spec", "template", "spec", "priorityClassName")
	}
	return names
}

// Classes reads the values of classes, by context. A WorkloadPriorityClass precedes a
// PriorityClass, which precedes the global default of PriorityClasses (kueue:
// pkg/controller/jobframework/reconciler.go). The results say which could not be read.
func Classes(ctx context.Context, f *fleet.Fleet, names ClassNames) map[string]placement.Class {
	answers := fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (placement.Class, error) {
		var class placement.Class
		class.Priority, class.PriorityUnread, class.Missing = priorityOf(ctx, c, names)
		switch {
		case names.Priority == "":
		case names.WorkloadPriority == "":
			class.MissingForPods = class.Missing
		default:
			_, _, class.MissingForPods = priorityOf(ctx, c, ClassNames{Priority: names.Priority, InSnapshot: names.InSnapshot})
		}
		if names.Runtime != "" {
			found, why := classNamed[struct {
				Overhead struct {
					PodFixed corev1.ResourceList `json:"podFixed"`
				} `json:"overhead"`
			}](ctx, c, runtimeClasses(), "RuntimeClass", names.Runtime)
			switch {
			case found != nil:
				class.Overhead = found.Overhead.PodFixed
			case why == "":
				why = "RuntimeClass " + names.Runtime + " was not found"
			}
			class.OverheadUnread = why
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

// priorityOf returns the priority by the class that decides it. missing is that class if it does
// not exist.
func priorityOf(ctx context.Context, c *fleet.Cluster, names ClassNames) (value int32, unread string, missing placement.ClassName) {
	resource, kind, name := priorityClasses(), "PriorityClass", names.Priority
	switch {
	case names.WorkloadPriority != "":
		version, err := KueueVersion(ctx, c)
		if err != nil || version == "" {
			return 0, "", missing
		}
		resource = schema.GroupVersionResource{Group: kueue.Group, Version: version, Resource: "workloadpriorityclasses"}
		kind, name = "WorkloadPriorityClass", names.WorkloadPriority
	case names.Priority == "":
		value, unread = defaultPriority(ctx, c)
		return value, unread, missing
	}
	found, unread := classNamed[priority](ctx, c, resource, kind, name)
	switch {
	case found != nil:
		return found.Value, "", missing
	case unread == "" && !names.InSnapshot:
		return 0, "", placement.ClassName{Kind: kind, Name: name, Resource: resource.GroupResource().String()}
	}
	return 0, cmp.Or(unread, kind+" "+name+" was not found"), missing
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

// classNamed reads a class; nil if it was not found. unread says why it could not be read.
func classNamed[T any](ctx context.Context, c *fleet.Cluster, r schema.GroupVersionResource, kind, name string) (class *T, unread string) {
	found, err := Get[T](ctx, c, r, "", name)
	if err != nil {
		return nil, fmt.Sprintf("%s %s could not be read: %s", kind, name, kubecontext.InContext(c.Context, "", err).Message())
	}
	return found, ""
}

package read

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

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
	// MayGetDefault is whether Kueue's webhook may still name a WorkloadPriorityClass for the Job.
	MayGetDefault bool
}

// ClassNamesOf returns the classes on which it depends whether Kueue creates a Workload for a Job, and
// what its Pods request.
func ClassNamesOf(j *inspect.Job) ClassNames {
	if j.Object == nil {
		return ClassNames{}
	}
	names := ClassNames{WorkloadPriority: j.Object.GetLabels()[delegation.PriorityClassLabel]}
	if j.Row().IsJob() {
		names.Priority = delegation.TextAt(j.Object.Object, "spec", "template", "spec", "priorityClassName")
		names.Runtime = delegation.TextAt(j.Object.Object, "spec", "template", "spec", "runtimeClassName")
	}
	return names
}

// deciding returns the class that decides the priority, zero if a Job names none.
func (n ClassNames) deciding() inspect.ClassName {
	switch {
	case n.WorkloadPriority != "":
		return inspect.WorkloadPriorityClass(n.WorkloadPriority)
	case n.Priority != "":
		return inspect.ClassName{Kind: "PriorityClass", Name: n.Priority, Resource: priorityClasses().GroupResource().String()}
	}
	return inspect.ClassName{}
}

// Deciding returns what the class that decides the priority is known to be, from the classes that
// Classes has read on a cluster. It is zero if a Job names none.
func (n ClassNames) Deciding(class *placement.Class) inspect.Class {
	if n.deciding() == (inspect.ClassName{}) {
		return inspect.Class{}
	}
	if class.Missing != (inspect.ClassName{}) {
		return inspect.Class{Name: class.Missing, IsMissing: true}
	}
	return inspect.Class{Name: n.deciding(), Unread: class.PriorityUnread}
}

// mostClasses is for how many Jobs of a cluster a list reads the classes. If more lack a Workload, the
// classes are not the cause.
const mostClasses = 20

// readClasses reads the classes of the listed Jobs that have no Workload: Kueue creates none if a class
// does not exist. A denial is not a gap. A class that a snapshot lacks may exist.
func (r *factReader) readClasses(ctx context.Context, inSnapshot bool) {
	f := r.facts
	if f.Gaps[inspect.PartWorkloads] != nil {
		return
	}
	claimed := sets.New[string]()
	for _, w := range f.Kueue.Workloads {
		claimed.Insert(w.Labels[delegation.JobUIDLabel])
		if owner := metav1.GetControllerOf(w); owner != nil {
			claimed.Insert(string(owner.UID))
		}
	}
	left := mostClasses
	for _, j := range f.Jobs {
		isQueued := j.Queue() != "" && j.Prebuilt() == "" && !j.IsPart() && !j.IsMirror()
		if !isQueued || !j.Waits() || claimed.Has(j.UID) || left == 0 {
			continue
		}
		left--
		r.wg.Go(func() {
			class := classOf(ctx, r.cluster, j, inSnapshot)
			r.store(func() { f.AddClass(j, class) })
		})
	}
	r.wg.Wait()
}

// classOf reads the class of a listed Job. Lists lack the Pod template, so it reads the Job again if it
// has no WorkloadPriorityClass.
func classOf(ctx context.Context, c *fleet.Cluster, j *inspect.Job, inSnapshot bool) inspect.Class {
	names := ClassNames{WorkloadPriority: j.Marks.PriorityClass, InSnapshot: inSnapshot}
	if names.WorkloadPriority == "" && !j.Row().IsJob() {
		return inspect.Class{Unread: "its Pod templates are not read"}
	}
	if names.WorkloadPriority == "" {
		o, err := Get[map[string]any](ctx, c, j.Row().Resource, j.Namespace, j.Name)
		if err == nil && o == nil {
			return inspect.Class{} // It was deleted meanwhile.
		}
		if err != nil {
			return inspect.Class{Unread: fmt.Sprintf("the Pod template could not be read: %s", kubecontext.InContext(c.Context, "", err).Message())}
		}
		names.Priority = delegation.TextAt(*o, "spec", "template", "spec", "priorityClassName")
	}
	if names.deciding() == (inspect.ClassName{}) {
		return inspect.Class{}
	}
	_, unread, missing := priorityOf(ctx, c, names)
	return names.Deciding(&placement.Class{PriorityUnread: unread.text(), Missing: missing})
}

// Classes reads the values of classes, by context. A WorkloadPriorityClass precedes a
// PriorityClass, which precedes the global default of PriorityClasses (kueue:
// pkg/controller/jobframework/reconciler.go). The results say which could not be read.
func Classes(ctx context.Context, f *fleet.Fleet, names ClassNames) map[string]placement.Class {
	answers := fleet.Ask(ctx, f, func(ctx context.Context, c *fleet.Cluster) (placement.Class, error) {
		class := names.classOn(ctx, c)
		if names.Runtime != "" {
			found, unread := runtimeClass(ctx, c, names)
			class.Runtime, class.RuntimeUnread = found, unread.existence()
			if found == nil && unread == (doubt{}) {
				class.RuntimeUnread = "RuntimeClass " + names.Runtime + " was not found"
				class.MissingForPods = cmp.Or(class.MissingForPods, inspect.ClassName{Kind: "RuntimeClass", Name: names.Runtime, Resource: runtimeClasses().GroupResource().String()})
			}
		}
		return class, nil
	})
	classes := map[string]placement.Class{}
	for _, a := range answers {
		class := a.Value
		if a.Err != nil {
			why := "its classes could not be read: " + kubecontext.InContext(a.Context, "", a.Err).Message()
			class = placement.Class{PriorityUnread: why, IsNamed: names.deciding() != (inspect.ClassName{})}
			if class.IsNamed {
				class.Unread = why
			}
			if names.Priority != "" {
				class.UnreadForPods = why
			}
			if names.Runtime != "" {
				class.RuntimeUnread = why
			}
		}
		classes[a.Context] = class
	}
	return classes
}

// classOn reads the class that decides the priority on a cluster, and the PriorityClass of the Pods.
func (n ClassNames) classOn(ctx context.Context, c *fleet.Cluster) placement.Class {
	class := placement.Class{IsNamed: n.deciding() != (inspect.ClassName{})}
	value, unread, missing := priorityOf(ctx, c, n)
	class.Priority, class.PriorityUnread, class.Missing = value, unread.text(), missing
	unreadForPods := unread
	switch {
	case n.Priority == "":
		unreadForPods = doubt{}
	case n.WorkloadPriority == "" && !n.MayGetDefault:
		class.MissingForPods = missing
	default:
		_, unreadForPods, class.MissingForPods = priorityOf(ctx, c, ClassNames{Priority: n.Priority, InSnapshot: n.InSnapshot})
	}
	class.UnreadForPods = unreadForPods.existence()
	switch {
	case !class.IsNamed || unread == (doubt{}):
	case n.WorkloadPriority == "" && class.MissingForPods == (inspect.ClassName{}):
		// Whether Kueue's default replaces this class does not matter if this one exists.
		class.Unread = class.UnreadForPods
	default:
		class.Unread = unread.existence()
	}
	return class
}

// doubt is what is unknown about a class, zero if nothing is: what could not be read, and why not.
type doubt struct{ what, state, why string }

// text says what is unknown, and existence that it may not exist; both are "" if nothing is unknown.
func (d doubt) text() string {
	if d == (doubt{}) {
		return ""
	}
	return fmt.Sprintf("%s %s: %s", d.what, d.state, d.why)
}

func (d doubt) existence() string {
	if d == (doubt{}) {
		return ""
	}
	return fmt.Sprintf("cannot tell whether %s exists: %s", d.what, d.why)
}

func couldNotRead(c *fleet.Cluster, what string, err error) doubt {
	return doubt{what, "could not be read", kubecontext.InContext(c.Context, "", err).Message()}
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
func priorityOf(ctx context.Context, c *fleet.Cluster, names ClassNames) (value int32, unread doubt, missing inspect.ClassName) {
	resource, decides := priorityClasses(), names.deciding()
	if names.WorkloadPriority == "" && names.MayGetDefault {
		if found, why := defaultClass(ctx, c); found != nil || why != (doubt{}) {
			value := ptr.Deref(found, priority{}).Value
			return value, why, missing
		}
	}
	switch {
	case names.WorkloadPriority != "":
		version, err := KueueVersion(ctx, c)
		if err != nil || version == "" {
			return 0, doubt{}, missing
		}
		resource = schema.GroupVersionResource{Group: kueue.Group, Version: version, Resource: "workloadpriorityclasses"}
	case names.Priority == "":
		value, unread = defaultPriority(ctx, c)
		return value, unread, missing
	}
	found, unread := classNamed[priority](ctx, c, resource, decides.Kind, decides.Name)
	switch {
	case found != nil:
		return found.Value, doubt{}, missing
	case unread == (doubt{}) && names.InSnapshot:
		unread = unrecorded(ctx, c, resource, decides.Kind, decides.Name)
	}
	if unread == (doubt{}) {
		missing = decides
	}
	return 0, unread, missing
}

// unrecorded says why it is unknown whether a class exists that a snapshot lacks: the snapshot may have none of the
// kind, although they exist. It returns nothing if the snapshot has all of the kind, so that the class did not exist.
func unrecorded(ctx context.Context, c *fleet.Cluster, r schema.GroupVersionResource, kind, name string) doubt {
	err := listObjects(ctx, c, r, "", metav1.ListOptions{}, func(*struct{}) {})
	if resource, isSnapshot := kubecontext.NotRecorded(err); isSnapshot {
		return doubt{kind + " " + name, "is unknown", fmt.Sprintf("the snapshot lacks %s; record a new snapshot", resource)}
	}
	if err != nil {
		return couldNotRead(c, kind+" "+name, err)
	}
	return doubt{}
}

// runtimeClass reads the RuntimeClass that Pods name; nil if it was not found, or, with unread, if that is unknown.
func runtimeClass(ctx context.Context, c *fleet.Cluster, names ClassNames) (found *nodev1.RuntimeClass, unread doubt) {
	found, unread = classNamed[nodev1.RuntimeClass](ctx, c, runtimeClasses(), "RuntimeClass", names.Runtime)
	if found == nil && unread == (doubt{}) && names.InSnapshot {
		unread = unrecorded(ctx, c, runtimeClasses(), "RuntimeClass", names.Runtime)
	}
	return found, unread
}

// defaultClass returns the WorkloadPriorityClass that Kueue's webhook gives to objects that name none: the
// one with the name default, if it exists (kueue: gate WorkloadPriorityClassDefaulting, on since 0.20,
// which does not serve the older API). unread says why that is unknown.
func defaultClass(ctx context.Context, c *fleet.Cluster) (found *priority, unread doubt) {
	served, err := servedVersions(ctx, c, kueue.Group)
	if err != nil || len(served) == 0 || slices.Contains(served, delegation.OldKueueVersion) {
		return nil, doubt{}
	}
	version, err := KueueVersion(ctx, c)
	if err != nil || version == "" {
		return nil, doubt{}
	}
	return classNamed[priority](ctx, c, kueueResource(version, "workloadpriorityclasses"), "WorkloadPriorityClass", "default")
}

func priorityClasses() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}
}

// defaultPriority returns the value of the global default of PriorityClasses: the lowest if there
// are several, 0 if there is none, or in an older snapshot, which lacks them.
func defaultPriority(ctx context.Context, c *fleet.Cluster) (value int32, unread doubt) {
	var defaults []int32
	err := listObjects(ctx, c, priorityClasses(), "", metav1.ListOptions{}, func(p *priority) {
		if p.GlobalDefault {
			defaults = append(defaults, p.Value)
		}
	})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return 0, couldNotRead(c, "the global default of PriorityClasses", err)
	case len(defaults) > 0:
		value = slices.Min(defaults)
	}
	return value, doubt{}
}

// passClasses lists the classes that a Job may name, so that a snapshot records them. Few users may
// list them, so a denial is not a gap.
func (r *factReader) passClasses(ctx context.Context) {
	for _, resource := range []schema.GroupVersionResource{
		r.resource("workloadpriorityclasses"), priorityClasses(), runtimeClasses(),
	} {
		r.wg.Go(func() { _ = listObjects(ctx, r.cluster, resource, "", metav1.ListOptions{}, func(*struct{}) {}) })
	}
}

// classNamed reads a class; nil if it was not found. unread says why it could not be read.
func classNamed[T any](ctx context.Context, c *fleet.Cluster, r schema.GroupVersionResource, kind, name string) (class *T, unread doubt) {
	found, err := Get[T](ctx, c, r, "", name)
	if err != nil {
		return nil, couldNotRead(c, kind+" "+name, err)
	}
	return found, doubt{}
}

package read

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// jobsWithEvidence returns the Jobs whose Pods and warnings should be read, by UID: those that are
// delegated or have marks, or with all, also all others that have not finished.
func jobsWithEvidence(f *inspect.Facts, all bool) map[string]*inspect.Job {
	jobs := map[string]*inspect.Job{}
	for _, j := range f.Jobs {
		if j.IsDelegated() || j.Marks != nil || all && j.IsOpen() {
			jobs[j.UID] = j
		}
	}
	return jobs
}

// readEvidence reads what rules need to know about the Jobs in the facts. known are the earlier
// lists, nil if there are none. withPods is Want.Pods.
func (r *factReader) readEvidence(ctx context.Context, namespace string, known *inspect.Capacity, withPods bool) {
	facts := r.facts
	r.readVersion(ctx)
	r.readNamespaces(ctx, namespace)
	if r.isWhole {
		r.readUnselected(ctx, namespace)
	} else {
		jobs := jobsWithEvidence(facts, withPods)
		r.readPodsOf(ctx, namespace, jobs)
		r.readWarnings(ctx, namespace, jobs)
	}
	if jobs := inspect.DispatchedJobs(facts.Jobs); len(jobs) > 0 {
		r.readLeases(ctx, commonNamespace(jobs), delegation.OriginUIDLabel)
	}
	if !r.hasKueue() || r.isWhole {
		// A whole reading gets them with the capacity.
		return
	}
	k := facts.Kueue
	if all, ok := known.WorkloadsOf(namespace); ok {
		k.Workloads = all
	} else {
		r.readAllWorkloads(ctx, namespace)
	}
	r.read(inspect.PartQueues, func() error {
		var locals []*kueue.LocalQueue
		err := listObjects(ctx, r.cluster, r.resource("localqueues"), namespace, metav1.ListOptions{}, func(q *kueue.LocalQueue) { locals = append(locals, q) })
		r.store(func() { k.LocalQueues, k.ListsLocalQueues = append(k.LocalQueues, locals...), err == nil })
		return err
	})
	readList(ctx, r, inspect.PartQueues, r.resource("clusterqueues"), "", &k.ClusterQueues)
}

func (r *factReader) readVersion(ctx context.Context) {
	r.read(inspect.PartVersion, func() error {
		version, err := Version(ctx, r.cluster)
		if err != nil {
			return err
		}
		r.store(func() { r.facts.Version = version })
		return nil
	})
}

func (r *factReader) readNamespaces(ctx context.Context, namespace string) {
	r.read(inspect.PartNamespaces, func() error {
		namespaces := map[string]inspect.Namespace{}
		resource := corev1.SchemeGroupVersion.WithResource("namespaces")
		type object struct {
			metav1.ObjectMeta `json:"metadata"`
			Status            corev1.NamespaceStatus `json:"status"`
		}
		err := listObjects(ctx, r.cluster, resource, "", metav1.ListOptions{}, func(o *object) {
			isTerminating := o.DeletionTimestamp != nil || o.Status.Phase == corev1.NamespaceTerminating
			namespaces[o.Name] = inspect.Namespace{Name: o.Name, UID: string(o.UID), Labels: o.Labels, CreatedAt: o.CreationTimestamp.Time, IsTerminating: isTerminating}
		})
		if err != nil {
			if r.isWhole {
				r.passNamespaces(ctx, namespace)
			} else if r.cluster.LearnNamespaces(ctx, namespace) == nil {
				// A user who may not list namespaces can often get their own.
				r.store(func() { r.facts.NamespaceUIDs = r.cluster.Identity().Namespaces })
			}
			return err
		}
		r.store(func() { r.facts.Namespaces = namespaces })
		return nil
	})
}

// readPodsOf reads the Pods of these Jobs, by the label of each kind, and Pods that deleted Jobs
// left.
func (r *factReader) readPodsOf(ctx context.Context, namespace string, jobs map[string]*inspect.Job) {
	type labelled struct{ namespace, label, value string }
	ofKinds, wanted := sets.New[string](), sets.New[labelled]()
	if r.mayHaveLeftPods() {
		ofKinds.Insert(delegation.Job().PodLabel)
	}
	for _, j := range jobs {
		if label := j.Row().PodLabel; label != "" && j.PodLabelValue() != "" {
			ofKinds.Insert(label)
			wanted.Insert(labelled{j.Namespace, label, j.PodLabelValue()})
		}
	}
	for _, label := range sets.List(ofKinds) {
		r.read(inspect.PartPods, func() error {
			ofJobs := metav1.ListOptions{LabelSelector: label}
			return listObjects(ctx, r.cluster, corev1.SchemeGroupVersion.WithResource("pods"), namespace, ofJobs, func(o *podObject) {
				p := o.pod
				if jobs[p.JobUID] != nil || p.LeftBy != "" || wanted.Has(labelled{p.Namespace, label, o.labels[label]}) && label != delegation.Job().PodLabel {
					r.store(func() { r.facts.AddPod(&p) })
				}
			})
		})
	}
}

// hasOthers reports whether a fleet has several clusters, so that Jobs of one may have run on another.
func hasOthers(f *fleet.Fleet) bool { return len(f.Contexts()) > 1 }

// mayHaveLeftPods reports whether mirrors of Jobs of another cluster may have run here, and left Pods
// when they were deleted. None of them may exist by now.
func (r *factReader) mayHaveLeftPods() bool {
	return r.hasOthers && r.hasKueue() && slices.ContainsFunc(r.facts.Kinds, func(k delegation.Kind) bool { return k.IsJob() })
}

// readLeftPods reads the Pods that deleted Jobs of a name left.
func (r *factReader) readLeftPods(ctx context.Context, namespace, job string) {
	r.read(inspect.PartPods, func() error {
		ofJob := metav1.ListOptions{LabelSelector: labels.Set{delegation.Job().PodLabel: job}.String()}
		return listObjects(ctx, r.cluster, corev1.SchemeGroupVersion.WithResource("pods"), namespace, ofJob, func(o *podObject) {
			if p := o.pod; p.LeftBy != "" {
				r.store(func() { r.facts.AddPod(&p) })
			}
		})
	})
}

// keepPodWarnings adds to the facts the warnings about Pods that have not started. The Pods and the
// warnings must have been read.
func (r *factReader) keepPodWarnings() {
	for _, p := range r.facts.Pods {
		if e := r.podWarnings[p.UID]; e != nil && p.IsCreating() {
			r.facts.Events = append(r.facts.Events, e)
		}
	}
}

// readLeases reads the Leases that match a label selector.
func (r *factReader) readLeases(ctx context.Context, namespace, selector string) {
	r.read(inspect.PartLeases, func() error {
		leases, err := listLeases(ctx, r.cluster, namespace, selector)
		if err != nil {
			return err
		}
		r.store(func() {
			if r.facts.Leases == nil {
				r.facts.Leases = leases
			}
			maps.Copy(r.facts.Leases, leases)
		})
		return nil
	})
}

// readWarnings reads the warnings about these Jobs and about Pods, and the preemption events of
// Workloads.
func (r *factReader) readWarnings(ctx context.Context, namespace string, jobs map[string]*inspect.Job) {
	if len(jobs) == 0 {
		return
	}
	r.read(inspect.PartEvents, func() error {
		events := corev1.SchemeGroupVersion.WithResource("events")
		warnings := metav1.ListOptions{FieldSelector: "type=" + corev1.EventTypeWarning}
		err := listObjects(ctx, r.cluster, events, namespace, warnings, func(o *eventObject) {
			switch e := o.event; {
			case jobs[e.UID] != nil:
				r.store(func() { r.facts.Events = append(r.facts.Events, &e) })
			case e.IsAboutStart() && e.Replaces(r.podWarnings[e.UID]):
				// Which Pods matter is known once they are read, too.
				if r.podWarnings == nil {
					r.podWarnings = map[string]*inspect.Event{}
				}
				r.podWarnings[e.UID] = &e
			}
		})
		if err != nil || r.facts.NoKueue {
			return err
		}
		for _, reason := range []string{inspect.PreemptedReason, inspect.PreemptorReason} {
			preemptions := metav1.ListOptions{FieldSelector: "reason=" + reason}
			err := listObjects(ctx, r.cluster, events, namespace, preemptions, func(o *eventObject) {
				if e := o.event; e.Kind == "Workload" {
					r.store(func() { r.facts.Events = append(r.facts.Events, &e) })
				}
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// eventObject decodes an event into the model.
type eventObject struct{ event inspect.Event }

// UnmarshalJSON decodes the whole event and keeps the needed fields.
func (e *eventObject) UnmarshalJSON(text []byte) error {
	var o corev1.Event
	if err := apijson.Unmarshal(text, &o); err != nil {
		return err
	}
	e.event = *readEvent(&o)
	return nil
}

func readEvent(o *corev1.Event) *inspect.Event {
	e := &inspect.Event{
		ID: o.Name, Kind: o.InvolvedObject.Kind, Namespace: o.InvolvedObject.Namespace, Name: o.InvolvedObject.Name,
		UID: string(o.InvolvedObject.UID), Warning: o.Type == corev1.EventTypeWarning,
		Reason: o.Reason, Message: messageOf(o), Time: o.LastTimestamp.Time, Count: max(1, o.Count),
	}
	// Events of events.k8s.io leave the older fields empty.
	if e.Time.IsZero() {
		e.Time = o.EventTime.Time
	}
	if o.Series != nil {
		e.Time, e.Count = o.Series.LastObservedTime.Time, o.Series.Count
	}
	if e.Time.IsZero() {
		e.Time = o.CreationTimestamp.Time
	}
	return e
}

// messageOf returns the message of an event without what its recorder and controllers put before it
// (client-go: tools/events, EventAggregator; kubernetes: pkg/controller/controller_utils.go).
func messageOf(o *corev1.Event) string {
	return strings.TrimPrefix(strings.TrimPrefix(o.Message, "(combined from similar events): "), "Error creating: ")
}

// leaseObject has the needed fields of a Lease.
type leaseObject struct {
	Metadata struct {
		Namespace     string            `json:"namespace"`
		Name          string            `json:"name"`
		Labels        map[string]string `json:"labels"`
		ManagedFields []struct {
			Time *metav1.Time `json:"time"`
		} `json:"managedFields"`
	} `json:"metadata"`
	Spec struct {
		HolderIdentity       string       `json:"holderIdentity"`
		LeaseDurationSeconds int32        `json:"leaseDurationSeconds"`
		AcquireTime          *metav1.Time `json:"acquireTime"`
		RenewTime            *metav1.Time `json:"renewTime"`
	} `json:"spec"`
}

func readLease(o *leaseObject) *inspect.Lease {
	l := &inspect.Lease{
		Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, OriginUID: o.Metadata.Labels[delegation.OriginUIDLabel],
		Holder: o.Spec.HolderIdentity, Duration: time.Duration(o.Spec.LeaseDurationSeconds) * time.Second,
		Acquired: ptr.Deref(o.Spec.AcquireTime, metav1.Time{}).Time,
	}
	for _, f := range o.Metadata.ManagedFields {
		if t := ptr.Deref(f.Time, metav1.Time{}).Time; t.After(l.Renewed) {
			l.Renewed = t
		}
	}
	if l.Renewed.IsZero() {
		l.Renewed = ptr.Deref(o.Spec.RenewTime, metav1.Time{}).Time
	}
	if !l.Acquired.IsZero() {
		l.Acquired = l.Acquired.Add(holderBehind(o, l.Renewed))
	}
	return l
}

// holderBehind returns by how much the holder's clock is behind that of the Lease's cluster,
// because both dated the last renewal. It returns zero if another client wrote the Lease too, or if
// a slow request can explain the difference.
func holderBehind(o *leaseObject, renewed time.Time) time.Duration {
	theirs := ptr.Deref(o.Spec.RenewTime, metav1.Time{}).Time
	if theirs.IsZero() || len(o.Metadata.ManagedFields) != 1 {
		return 0
	}
	if behind := renewed.Sub(theirs); behind.Abs() >= maxRequestTime {
		return behind
	}
	return 0
}

// maxRequestTime is the longest time of a request, plus a second for the precision of an API server's
// times.
const maxRequestTime = 5 * time.Second

// listLeases returns the Leases that match a label selector, by namespace and name.
func listLeases(ctx context.Context, c *fleet.Cluster, namespace, selector string) (map[string]*inspect.Lease, error) {
	leases := map[string]*inspect.Lease{}
	resource := coordinationv1.SchemeGroupVersion.WithResource("leases")
	err := listObjects(ctx, c, resource, namespace, metav1.ListOptions{LabelSelector: selector}, func(o *leaseObject) {
		leases[o.Metadata.Namespace+"/"+o.Metadata.Name] = readLease(o)
	})
	if err != nil {
		return nil, err
	}
	return leases, nil
}

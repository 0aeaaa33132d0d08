package read

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// jobsWithEvidence returns the Jobs whose Pods and warnings should be read, by UID: those that are
// delegated or have marks.
func jobsWithEvidence(f *inspect.Facts) map[string]*inspect.Job {
	jobs := map[string]*inspect.Job{}
	for _, j := range f.Jobs {
		if j.IsDelegated() || j.Marks != nil {
			jobs[j.UID] = j
		}
	}
	return jobs
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
			namespaces[o.Name] = inspect.Namespace{Name: o.Name, UID: string(o.UID), Labels: o.Labels, IsTerminating: isTerminating}
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

// readWarnings reads the warnings about these Jobs, and the preemption events of Workloads.
func (r *factReader) readWarnings(ctx context.Context, namespace string, jobs map[string]*inspect.Job) {
	r.read(inspect.PartEvents, func() error {
		events := corev1.SchemeGroupVersion.WithResource("events")
		warnings := metav1.ListOptions{FieldSelector: "type=" + corev1.EventTypeWarning}
		err := listObjects(ctx, r.cluster, events, namespace, warnings, func(o *eventObject) {
			if e := o.event; jobs[e.UID] != nil {
				r.store(func() { r.facts.Events = append(r.facts.Events, &e) })
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

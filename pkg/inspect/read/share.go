package read

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// sharer lets Workloads share equal parts, because there may be very many and most of their memory
// is equal. A map with one label takes as much as five of the strings that differ. Shared parts
// must not be modified.
type sharer struct {
	interner
	fields map[string]*metav1.FieldsV1
	times  map[metav1.Time]*metav1.Time
	// labels and asks are the first values seen, by a part of them.
	labels map[string]map[string]string
	asks   map[string][]kueue.PodSetRequests
	// podSets are the first ones seen, by the first Pod set's name; templates and admissions are by queue.
	podSets    map[string][]kueue.PodSet
	templates  map[string][]kueue.PodTemplate
	admissions map[string]*kueue.Admission
	// These lists are the first ones seen, by their first elements. What a controller writes in one
	// second is usually equal.
	writes     lists[metav1.ManagedFieldsEntry]
	conditions lists[metav1.Condition]
	checks     lists[kueue.CheckState]
	names      lists[string]
	held       lists[kueue.FlavorQuantity]
}

func newSharer() *sharer {
	return &sharer{
		interner: interner{}, fields: map[string]*metav1.FieldsV1{}, times: map[metav1.Time]*metav1.Time{},
		labels: map[string]map[string]string{}, asks: map[string][]kueue.PodSetRequests{},
		podSets: map[string][]kueue.PodSet{}, templates: map[string][]kueue.PodTemplate{}, admissions: map[string]*kueue.Admission{},
		writes: lists[metav1.ManagedFieldsEntry]{}, conditions: lists[metav1.Condition]{}, checks: lists[kueue.CheckState]{},
		names: lists[string]{}, held: lists[kueue.FlavorQuantity]{},
	}
}

// lists are the first lists seen, by their first elements.
type lists[T comparable] map[T][]T

// one returns the first list seen if it equals this one.
func (l lists[T]) one(list []T) []T {
	if len(list) == 0 {
		return list
	}
	if before := l[list[0]]; slices.Equal(before, list) {
		return before
	}
	l[list[0]] = list
	return list
}

// value shares the value of a pointer.
func value[T comparable](known map[T]*T, p *T) *T {
	if p == nil {
		return nil
	}
	if same, ok := known[*p]; ok {
		return same
	}
	known[*p] = p
	return p
}

// all interns strings.
func all[S ~string](s *sharer, texts ...*S) {
	for _, text := range texts {
		*text = S(s.one(string(*text)))
	}
}

// workload shares the parts of a Workload.
func (s *sharer) workload(w *kueue.Workload) {
	all(s, &w.Namespace, &w.Spec.QueueName, &w.Spec.PriorityClassName)
	w.Labels, w.Annotations = s.single(w.Labels), s.single(w.Annotations)
	for i := range w.ManagedFields {
		f := &w.ManagedFields[i]
		all(s, &f.Manager, &f.APIVersion, &f.FieldsType, &f.Subresource)
		all(s, &f.Operation)
		f.FieldsV1, f.Time = s.fieldsOf(f), value(s.times, f.Time)
	}
	w.ManagedFields, w.Finalizers = s.writes.one(w.ManagedFields), s.names.one(w.Finalizers)
	for i := range w.OwnerReferences {
		all(s, &w.OwnerReferences[i].APIVersion, &w.OwnerReferences[i].Kind)
	}
	if sets := w.Spec.PodSets; len(sets) > 0 {
		w.Spec.PodSets = likeFirst(s.podSets, sets[0].Name, sets)
	}
	if a := w.Status.Admission; a != nil {
		w.Status.Admission = likeFirst(s.admissions, a.ClusterQueue, a)
	}
	for i := range w.Status.Conditions {
		c := &w.Status.Conditions[i]
		all(s, &c.Type, &c.Reason, &c.Message)
		all(s, &c.Status)
	}
	for i := range w.Status.AdmissionChecks {
		c := &w.Status.AdmissionChecks[i]
		all(s, &c.Name, &c.State, &c.Message)
	}
	w.Status.Conditions, w.Status.AdmissionChecks = s.conditions.one(w.Status.Conditions), s.checks.one(w.Status.AdmissionChecks)
	w.Status.Nominated = s.names.one(w.Status.Nominated)
}

// likeFirst returns the first value seen under a key if it equals this one. The Workloads of one
// queue are usually equal.
func likeFirst[T any](first map[string]T, key string, value T) T {
	before, ok := first[key]
	switch {
	case !ok:
		first[key] = value
	case apiequality.Semantic.DeepEqual(before, value):
		return before
	}
	return value
}

// fieldsOf returns the fields that a manager owns, if they include the nominations; otherwise nil.
// The fields may contain the UID of an owner, so they would all differ.
func (s *sharer) fieldsOf(f *metav1.ManagedFieldsEntry) *metav1.FieldsV1 {
	if !inspect.Nominates(f) {
		return nil
	}
	text := string(f.FieldsV1.GetRawBytes())
	if same, ok := s.fields[text]; ok {
		return same
	}
	s.fields[text] = f.FieldsV1
	return f.FieldsV1
}

// single shares a map with one entry. Larger maps have entries that are unique to an object.
func (s *sharer) single(m map[string]string) map[string]string {
	if len(m) != 1 {
		return m
	}
	for key, value := range m {
		if same, ok := s.labels[key]; ok && same[key] == value {
			return same
		}
		s.labels[key] = m
	}
	return m
}

// claim shares the parts of a claim.
func (s *sharer) claim(c *kueue.Claim) {
	all(s, &c.Namespace, &c.Kind, &c.LocalQueue, &c.ClusterQueue, &c.Reason, &c.Message, &c.Origin)
	for i := range c.Holds {
		all(s, &c.Holds[i].Flavor, &c.Holds[i].Resource)
	}
	c.Holds, c.Nominated = s.held.one(c.Holds), s.names.one(c.Nominated)
	if c.Templates != nil {
		c.Templates = likeFirst(s.templates, c.LocalQueue, c.Templates)
	}
	if len(c.Requests) == 0 {
		return
	}
	equal := func(a, b kueue.PodSetRequests) bool {
		return a.Name == b.Name && maps.EqualFunc(map[corev1.ResourceName]resource.Quantity(a.Resources), b.Resources, resource.Quantity.Equal)
	}
	first := c.Requests[0].Name
	for name, quantity := range c.Requests[0].Resources {
		if name != corev1.ResourceCPU && name != corev1.ResourceMemory {
			first += " " + string(name) + "=" + quantity.String()
		}
	}
	if same, ok := s.asks[first]; ok && slices.EqualFunc(same, c.Requests, equal) {
		c.Requests = same
		return
	}
	s.asks[first] = c.Requests
}

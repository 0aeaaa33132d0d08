package read

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/cache"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/wire"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// readJob converts a batch/v1 Job to the model. kind is its row in the table of kinds.
func readJob(kind *delegation.Kind, o *batchv1.Job) read {
	r := read{kind: kind, state: stateOf(o)}
	apiVersion, kindName := kind.GroupVersionKind().ToAPIVersionAndKind()
	r.job = inspect.Job{
		APIVersion: apiVersion, Kind: kindName,
		Namespace: o.Namespace, Name: o.Name, UID: string(o.UID),
		ManagedBy: kind.OwnerOf(ptr.Deref(o.Spec.ManagedBy, "")), NamesBuiltIn: kind.NamesBuiltIn(ptr.Deref(o.Spec.ManagedBy, "")),
		Completions: o.Spec.Completions, Parallelism: o.Spec.Parallelism,
		Indexed:   ptr.Deref(o.Spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion,
		Succeeded: o.Status.Succeeded, Failed: o.Status.Failed, Active: o.Status.Active, Ready: o.Status.Ready,
		StartTime: o.Status.StartTime, CompletionTime: o.Status.CompletionTime,
		CreationTimestamp: o.CreationTimestamp,
		Suspended:         ptr.Deref(o.Spec.Suspend, false),
		StatusWrittenAt:   inspect.StatusWrittenAt(o.ManagedFields),
		Marks:             delegation.MarksOf(o.Labels, o.Annotations),
		Generation:        o.Generation,
		SpecWrittenAt:     inspect.SpecWrittenAt(o.ManagedFields),
		DeletedAt:         o.DeletionTimestamp, Finalizers: o.Finalizers,
		TTL: o.Spec.TTLSecondsAfterFinished, Deadline: o.Spec.ActiveDeadlineSeconds, BackoffLimit: o.Spec.BackoffLimit, ManualSelector: ptr.Deref(o.Spec.ManualSelector, false),
		Controller:   metav1.GetControllerOf(o),
		NodeSelector: k8slabels.Set(o.Spec.Template.Spec.NodeSelector).String(), HasNodeAffinity: hasNodeAffinity(o.Spec.Template.Spec.Affinity),
	}
	r.job.Requests = requestsOf(&r.job, &o.Spec.Template.Spec)
	if !r.job.ManagedBy.IsBuiltIn() {
		r.job.StatusWriters = inspect.StatusWriters(o.ManagedFields)
	} else if r.job.IsMirror() {
		r.job.SpecWriters = inspect.SpecWriters(o.ManagedFields)
	}
	if since, ok := kind.Finished(r.state); ok && !since.IsZero() {
		r.job.FinishedTime = &metav1.Time{Time: since}
	}
	r.job.Failure, r.job.PerIndex = kind.Failure(r.state), perIndexOf(o)
	r.job.Decision = decisionOf(&r.state, r.job.FinishedTime != nil)
	if failed := ptr.Deref(o.Status.FailedIndexes, ""); failed != "" && r.job.Failure != "" {
		r.job.Failure += ": " + shortIndexes(failed)
	}
	return r
}

// requestsOf returns the resources that the Pods of a Job of MultiKueue without a queue request, by a spec
// that may lack the amounts; nil for other Jobs. It is also nil if they request devices by ResourceClaims:
// Kueue's configuration says for which resource these count.
func requestsOf(j *inspect.Job, pod *corev1.PodSpec) []string {
	if j.ManagedBy != delegation.MultiKueue || j.Queue() != "" || len(pod.ResourceClaims) > 0 {
		return nil
	}
	lists := []corev1.ResourceList{pod.Overhead}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		lists = append(lists, c.Resources.Requests, c.Resources.Limits)
	}
	if pod.Resources != nil {
		lists = append(lists, pod.Resources.Requests, pod.Resources.Limits)
	}
	names := sets.New[string]()
	for _, list := range lists {
		for name := range list {
			names.Insert(string(name))
		}
	}
	return sets.List(names)
}

// hasNodeAffinity reports whether the affinity of a Pod excludes nodes.
func hasNodeAffinity(a *corev1.Affinity) bool {
	return a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
}

// perIndexOf returns how often each index of a Job may fail, nil if only backoffLimit counts.
func perIndexOf(o *batchv1.Job) *inspect.PerIndex {
	if o.Spec.BackoffLimitPerIndex == nil {
		return nil
	}
	return &inspect.PerIndex{
		Limit: *o.Spec.BackoffLimitPerIndex, MaxFailed: o.Spec.MaxFailedIndexes, Failed: shortIndexes(ptr.Deref(o.Status.FailedIndexes, "")),
	}
}

// shortIndexes shortens a list of indexes, such as "1,3-5", which may be long.
func shortIndexes(indexes string) string {
	const most = 40
	if len(indexes) <= most {
		return indexes
	}
	return indexes[:strings.LastIndex(indexes[:most], ",")+1] + "…"
}

// decisionOf returns how a Job will end, nil if that is not decided. Of a Job that has ended, only an unusual
// success is kept: Failure says why it failed.
func decisionOf(s *delegation.State, hasEnded bool) *inspect.Decision {
	if why := reasonOf(s, batchv1.JobFailureTarget); why != "" && !hasEnded {
		return &inspect.Decision{Fails: true, Why: why}
	}
	if d := (&inspect.Decision{Why: reasonOf(s, batchv1.JobSuccessCriteriaMet)}); d.Why != "" && (!hasEnded || !d.IsUsual()) {
		return d
	}
	return nil
}

// reasonOf returns the reason and the message of a condition, "" if it is not true.
func reasonOf(s *delegation.State, of batchv1.JobConditionType) string {
	for _, c := range s.Conditions {
		if c.Type == string(of) && c.True {
			return strings.TrimSuffix(c.Reason+": "+c.Message, ": ")
		}
	}
	return ""
}

// drop removes the fields that readJob does not read, which are most, and all labels except marks
// and the given ones.
func drop(o *batchv1.Job, labels []string) {
	pod := corev1.PodSpec{NodeSelector: o.Spec.Template.Spec.NodeSelector}
	if a := o.Spec.Template.Spec.Affinity; a != nil {
		pod.Affinity = &corev1.Affinity{}
		if a.NodeAffinity != nil {
			pod.Affinity.NodeAffinity = &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution,
			}
		}
	}
	if o.Spec.ManagedBy != nil && readsRequests(*o.Spec.ManagedBy) {
		keepRequests(&pod, &o.Spec.Template.Spec)
	}
	o.Spec.Template = corev1.PodTemplateSpec{Spec: pod}
	isKept := keepsLabel(labels)
	maps.DeleteFunc(o.Labels, func(key, _ string) bool { return !isKept(key) })
	maps.DeleteFunc(o.Annotations, func(key, _ string) bool { return !delegation.IsMark(key) })
	for i := range o.ManagedFields {
		o.ManagedFields[i].FieldsV1 = nil
	}
}

// readsRequests reports whether the model keeps the resources that the Jobs of an owner request. Decoding
// them for all Jobs would slow down long lists.
func readsRequests(owner string) bool { return owner == string(delegation.MultiKueue) }

// keepRequests copies what requestsOf reads.
func keepRequests(slim, pod *corev1.PodSpec) {
	slim.Containers, slim.InitContainers = resourceNames(pod.Containers), resourceNames(pod.InitContainers)
	slim.Overhead = withoutAmounts(pod.Overhead)
	if r := pod.Resources; r != nil {
		slim.Resources = &corev1.ResourceRequirements{Limits: withoutAmounts(r.Limits), Requests: withoutAmounts(r.Requests)}
	}
	for _, c := range pod.ResourceClaims {
		slim.ResourceClaims = append(slim.ResourceClaims, corev1.PodResourceClaim{Name: c.Name})
	}
}

// resourceNames returns containers of which only the names of their resources are left.
func resourceNames(containers []corev1.Container) []corev1.Container {
	slim := make([]corev1.Container, len(containers))
	for i := range containers {
		r := &containers[i].Resources
		slim[i].Resources = corev1.ResourceRequirements{Limits: withoutAmounts(r.Limits), Requests: withoutAmounts(r.Requests)}
	}
	return slim
}

func withoutAmounts(list corev1.ResourceList) corev1.ResourceList {
	names := corev1.ResourceList{}
	for name := range list {
		names[name] = resource.Quantity{}
	}
	return names
}

func stateOf(o *batchv1.Job) delegation.State {
	s := delegation.State{
		Deleting: o.DeletionTimestamp != nil,
		Suspend:  ptr.Deref(o.Spec.Suspend, false),
		Active:   o.Status.Active, Succeeded: o.Status.Succeeded, Failed: o.Status.Failed,
		Ready:         o.Status.Ready,
		StatusWritten: !isEmpty(&o.Status) || inspect.StatusWrittenAt(o.ManagedFields) != nil,
	}
	for _, c := range o.Status.Conditions {
		s.Conditions = append(s.Conditions, delegation.Condition{
			Type: string(c.Type), Reason: c.Reason, Message: c.Message,
			True: c.Status == corev1.ConditionTrue, Status: string(c.Status), Since: c.LastTransitionTime.Time,
		})
	}
	return s
}

// isEmpty reports whether a status is as the API server creates it.
func isEmpty(s *batchv1.JobStatus) bool {
	return len(s.Conditions) == 0 && s.StartTime == nil && s.CompletionTime == nil &&
		s.Active == 0 && s.Succeeded == 0 && s.Failed == 0 && s.Ready == nil && s.Terminating == nil &&
		s.CompletedIndexes == "" && s.FailedIndexes == nil && s.UncountedTerminatedPods == nil
}

// jobsOf returns the source of a query's batch/v1 Jobs, as protobuf if the server supports it.
func jobsOf(client rest.Interface, q Query, namespace string, kind *delegation.Kind) cache.Source[read] {
	selected, names, labels := q.selected(kind), interner{}, newLabelSets(q.Labels)
	jobs := jobCollection{client: client, namespace: namespace, labels: q.Labels}
	var before *delegation.Marks
	readOne := func(job *batchv1.Job) read {
		r := readJob(kind, job)
		names.intern(&r.job)
		r.job.Labels = labels.of(job.Labels)
		// Queued Jobs without a chosen cluster often have the same marks.
		if m := r.job.Marks; m != nil && before != nil && *m == *before {
			r.job.Marks = before
		} else {
			before = m
		}
		return r
	}
	return cache.Source[read]{
		Key:  strings.Join(append([]string{"jobs", namespace, selected.LabelSelector, selected.FieldSelector}, q.Labels...), "\n"),
		What: kind.ResourceName(),
		List: func(ctx context.Context, visit func(string, read)) (string, error) {
			return jobs.list(ctx, selected, func(job *batchv1.Job) {
				visit(cache.ObjectKey(job.Namespace, job.Name), readOne(job))
			})
		},
		Watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.LabelSelector, o.FieldSelector = selected.LabelSelector, selected.FieldSelector
			return jobs.watch(ctx, o)
		},
		Decode: func(o runtime.Object) (read, error) {
			job, ok := o.(*batchv1.Job)
			if !ok {
				return read{}, fmt.Errorf("the server sent a %T in a watch of Jobs", o)
			}
			drop(job, q.Labels)
			return readOne(job), nil
		},
	}
}

// list lists Jobs in chunks, and returns the resource version of the first. It requests the next
// chunk as soon as one begins to arrive, so that the connection is never idle.
func (c jobCollection) list(ctx context.Context, o metav1.ListOptions, visit func(*batchv1.Job)) (version string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o.Limit = chunk
	page, err := c.openChunk(ctx, o)
	if err != nil {
		return "", err
	}
	version = page.ResourceVersion
	var before, size int64
	for {
		var next func() (*jobPage, error)
		o.Continue = page.Continue
		ask := func(jobs int64) {
			if next == nil && o.Continue != "" {
				o.Limit = limitFor(before+jobs, size+page.size)
				next = c.ahead(ctx, o)
			}
		}
		jobs := int64(0)
		err := page.each(func(job *batchv1.Job) {
			jobs++
			if jobs == sample {
				ask(jobs)
			}
			visit(job)
		})
		if err != nil {
			return version, err
		}
		ask(jobs)
		if next == nil {
			return version, nil
		}
		before, size = before+jobs, size+page.size
		if page, err = next(); err != nil {
			return version, err
		}
	}
}

// sample is how many Jobs of a chunk are measured to estimate their size.
const sample = 20

// largePage is the target size of a chunk in bytes, once the size of Jobs is known. Each chunk
// costs a round trip, and memory on the server.
const largePage = 16 << 20

// limitFor returns how many Jobs to request after these many, with their size in bytes. The first
// chunk is small, so that output can start early.
func limitFor(jobs, size int64) int64 {
	if jobs == 0 || size == 0 {
		return chunk
	}
	return min(max(largePage/(size/jobs+1), chunk), 20*chunk)
}

// ahead requests a chunk in the background.
func (c jobCollection) ahead(ctx context.Context, o metav1.ListOptions) (wait func() (*jobPage, error)) {
	type answer struct {
		page *jobPage
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		page, err := c.openChunk(ctx, o)
		answers <- answer{page, err}
	}()
	return func() (*jobPage, error) {
		a := <-answers
		return a.page, a.err
	}
}

// openChunk requests one chunk. If the server has compacted the snapshot of the earlier chunks,
// openChunk continues with the token that the server offers.
func (c jobCollection) openChunk(ctx context.Context, o metav1.ListOptions) (*jobPage, error) {
	page, err := c.open(ctx, o)
	if token, ok := wire.NextToken(err, o); ok {
		o.Continue = token
		page, err = c.open(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	if err := wire.CheckContinue(o.Continue, page.Continue); err != nil {
		return nil, errors.Join(err, page.body.Close())
	}
	return page, nil
}

func (c jobCollection) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	return c.client.Get().NamespaceIfScoped(c.namespace, c.namespace != "").Resource("jobs").
		VersionedParams(&o, scheme.ParameterCodec).Watch(ctx)
}

// keepsLabel returns a function that says whether to keep a label of an object: marks and requested
// labels are kept.
func keepsLabel(wanted []string) func(key string) bool {
	return func(key string) bool { return delegation.IsMark(key) || slices.Contains(wanted, key) }
}

// labelSets selects the requested labels of objects. Objects with the same labels share one map,
// because a map takes more memory than the rest of a Job.
type labelSets struct {
	wanted []string
	// known are the maps by their values. No value contains "=" or ",".
	known map[string]map[string]string
}

func newLabelSets(wanted []string) *labelSets {
	return &labelSets{wanted: wanted, known: map[string]map[string]string{}}
}

// of returns the requested labels of an object, nil if it has none.
func (s *labelSets) of(labels map[string]string) map[string]string {
	var key []byte
	hasAny := false
	for _, name := range s.wanted {
		value, isSet := labels[name]
		if isSet {
			hasAny = true
			key = append(key, value...)
			key = append(key, '=')
		}
		key = append(key, ',')
	}
	if !hasAny {
		return nil
	}
	if set, isKnown := s.known[string(key)]; isKnown {
		return set
	}
	set := maps.Clone(labels)
	maps.DeleteFunc(set, func(name, _ string) bool { return !slices.Contains(s.wanted, name) })
	s.known[string(key)] = set
	return set
}

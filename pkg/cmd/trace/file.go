package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/tracing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/manifest"
	dispatchobject "github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/answer"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// readFiles judges Jobs that are not submitted yet.
func (o *traceOptions) readFiles(ctx context.Context, f *fleet.Fleet, addresses []kubecontext.Address) (*inspect.TraceList, error) {
	entries, err := manifest.ReadAll(ctx, o.filenames, o.In, func(u *unstructured.Unstructured) bool { return isCronJob(u) || isJob(u) })
	if err != nil {
		return nil, err
	}
	manifests, err := o.chooseJobs(entries)
	if err != nil {
		return nil, err
	}
	requests := make([]placement.Request, len(manifests))
	var queues []types.NamespacedName
	var errs []error
	for i, m := range manifests {
		namespace, err := manifest.NamespaceOf(m.file, *o.flags.Kube.Namespace, o.wanted.Namespace)
		if err == nil {
			requests[i], err = o.request(m.Object, namespace)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.Source, err))
			continue
		}
		if kind, known := delegation.KindOf(m.file.GroupVersionKind()); known {
			requests[i].OwnerField = strings.Join(kind.ManagedBy, ".")
		}
		if m.file != m.Object {
			requests[i].LabelsField = "spec.jobTemplate.metadata.labels"
		}
		queues = append(queues, types.NamespacedName{Namespace: requests[i].Namespace, Name: cmp.Or(requests[i].Queue, placement.DefaultQueue)})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	inventory := read.Read(ctx, f, read.Want{Capacity: true, Queues: queues, Addresses: addresses, Now: o.Clock.Now})
	o.noteSnapshot()
	list, tracer := inspect.NewTraceList(), tracing.Tracer{Addresses: addresses, Reach: o.CommandReach(o.flags), Now: o.Clock.Now}
	for i, m := range manifests {
		o.addQueues(&requests[i])
		o.given.addNamespace(inventory, &requests[i])
		o.noteNewQueue(inventory, &m, &requests[i])
		existing := o.applyDefaults(ctx, f, inventory, m.Object, &requests[i])
		o.warnOfFields(inventory, &m, &requests[i])
		o.checkClasses(ctx, f, inventory, &m, &requests[i])
		o.checkWorkload(ctx, f, m.Object, &requests[i])
		o.checkServed(ctx, f, inventory, m.Object, &requests[i])
		checkSyntax(inventory, m.Object, &requests[i])
		if len(existing) == 0 {
			existing = o.checkNames(ctx, f, inventory, m.Object, &requests[i])
		}
		o.checkNeeds(ctx, f, inventory, m.Object, &requests[i])
		t := inspect.UnsubmittedTrace(m.file.GroupVersionKind(), requests[i].Namespace, m.name, requests[i].Owner)
		t.Placements = append(t.Placements, answer.Reached(placement.Submit(inventory, &requests[i]), o.CommandReach(o.flags))...)
		answer.Unsubmitted(t, tracer.ReadHolders(ctx, f, answer.UnreadHolders(inventory, t)))
		o.nameExisting(t, &m, existing)
		checkOwner(t, m.file)
		o.adviseDispatch(t, &requests[i], m.file)
		list.Items = append(list.Items, *t)
	}
	list.Errors = append(inventory.Errors(), tracing.UnreadQuotas(inventory, list.Items, isUnreadable)...)
	for i := range list.Items {
		list.Items[i].Errors = list.Errors
	}
	return list, nil
}

func isUnreadable(p *inspect.Placement) bool { return p.Reason == inspect.Unreadable }

// planned is an object of a file that can be judged: a Job, or the Job that a CronJob would create.
type planned struct {
	manifest.Entry
	// file is the object in the file. kind and name are its own.
	file       *unstructured.Unstructured
	kind, name string
}

// chooseJobs returns the Jobs among the objects of files, and reports which others are skipped. It
// returns an error if there are no Jobs.
func (o *traceOptions) chooseJobs(entries []manifest.Entry) ([]planned, error) {
	var jobs []planned
	var others, skipped []string
	for _, e := range entries {
		p := planned{Entry: e, file: e.Object, kind: e.Object.GetKind(), name: nameOf(e.Object)}
		switch {
		case isCronJob(e.Object):
			job, err := jobOfCronJob(e.Object)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.Source, err)
			}
			p.Object = job
		case !isJob(e.Object):
			others = append(others, strings.TrimSpace(p.kind+" "+p.name))
			if isNameable(e.Object) {
				o.given = append(o.given, e.Object)
			} else {
				skipped = append(skipped, others[len(others)-1])
			}
			continue
		}
		jobs = append(jobs, p)
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("%s: no Jobs found, only %s", strings.Join(o.filenames, ", "), inspect.Some(others))
	}
	o.noteSkipped(skipped)
	return jobs, nil
}

func isCronJob(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind() == batchv1.SchemeGroupVersion.WithKind("CronJob")
}

// isJob reports whether an object can be delegated or queued. A kind that is in no table counts if
// the object names a queue.
func isJob(object *unstructured.Unstructured) bool {
	kind, isKnown := delegation.KindOf(object.GroupVersionKind())
	return isKnown && !kind.Template || object.GetLabels()[delegation.QueueNameLabel] != ""
}

// jobOfCronJob returns a Job as a CronJob would create it, with a generated name (kubernetes:
// pkg/controller/cronjob/utils.go, getJobFromTemplate2).
func jobOfCronJob(object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	var cron batchv1.CronJob
	if err := dispatchobject.Decode(object, &cron); err != nil {
		return nil, err
	}
	job := batchv1.Job{Spec: cron.Spec.JobTemplate.Spec}
	job.SetGroupVersionKind(delegation.Job().GroupVersionKind())
	job.Namespace, job.GenerateName = cron.Namespace, nameOf(object)+"-"
	job.Labels, job.Annotations = cron.Spec.JobTemplate.Labels, cron.Spec.JobTemplate.Annotations
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&job)
	return &unstructured.Unstructured{Object: content}, err
}

// applyDefaults adds the defaults of the clusters that a Job would be submitted to, by a dry run. It
// prints the clusters where that was not possible, and creates nothing. It returns the contexts that
// have a Job of this name. There, it tries one with a generated name.
func (o *traceOptions) applyDefaults(ctx context.Context, f *fleet.Fleet, v *inspect.Inventory, object *unstructured.Unstructured, r *placement.Request) (existing []string) {
	if o.flags.From != "" || object.GroupVersionKind() != delegation.Job().GroupVersionKind() {
		return nil
	}
	var contexts []string
	for _, at := range placement.Entries(v, r) {
		if at.Err == nil && at.Kueue != nil {
			contexts = append(contexts, at.Context)
		}
	}
	job := o.asSubmitted(object, r.Namespace)
	tried, existing := tryCreate(ctx, f, job, contexts)
	for _, name := range contexts {
		result := tried[name]
		err := result.Err
		if err == nil && result.Object != nil {
			var request placement.Request
			if request, err = o.request(result.Object, r.Namespace); err == nil {
				request.PriorityClass = result.Object.GetLabels()[delegation.PriorityClassLabel]
				r.Check(name).As = &request
				continue
			}
		}
		switch {
		case apierrors.IsNotFound(err):
			// The namespace does not exist, which is reported.
		case kubecontext.IsRightMissing(err):
			util.Report(o.ErrOut, "note: Job %s/%s is checked without the defaults and webhooks of %s: you may not create jobs there", r.Namespace, nameOf(job), name)
		case rejects(f, name, job, err):
			r.Check(name).Refused = kubecontext.Objection(err)
		default:
			util.Report(o.ErrOut, "note: Job %s/%s is checked without the defaults and webhooks of %s: %s", r.Namespace, nameOf(job), name, kubecontext.InContext(name, "", err).Message())
		}
	}
	return existing
}

// rejects reports whether the API server of a context rejects a Job until it is changed, by the same rules
// as dispatch. Other errors, such as an exhausted quota, pass by themselves, or say nothing about the Job.
func rejects(f *fleet.Fleet, name string, job *unstructured.Unstructured, err error) bool {
	return slices.ContainsFunc(f.Routes(name), func(c *fleet.Cluster) bool {
		return slices.ContainsFunc(preflight.NewProbe(c).Refused(job, err), func(p preflight.Problem) bool { return p.Blocking && !p.Untried && p.ChangesObject })
	})
}

// nameOf returns the name of an object, or the prefix of its generated name.
func nameOf(o *unstructured.Unstructured) string {
	return cmp.Or(o.GetName(), o.GetGenerateName())
}

// asSubmitted returns a Job as it would be submitted.
func (o *traceOptions) asSubmitted(object *unstructured.Unstructured, namespace string) *unstructured.Unstructured {
	job := object.DeepCopy()
	job.SetNamespace(namespace)
	if o.submitTo != "" {
		labels := map[string]string{delegation.QueueNameLabel: o.submitTo}
		for key, value := range object.GetLabels() {
			if key != delegation.QueueNameLabel {
				labels[key] = value
			}
		}
		job.SetLabels(labels)
	}
	return job
}

// request returns the placement request of an object of a manifest in a namespace. For kinds other than Job, the
// requested resources are unknown, because their controllers determine them.
func (o *traceOptions) request(object *unstructured.Unstructured, namespace string) (placement.Request, error) {
	label := ""
	if marks := delegation.MarksOf(object.GetLabels(), object.GetAnnotations()); marks != nil {
		label = marks.Queue
	}
	queue := cmp.Or(o.submitTo, label)
	kind, _ := delegation.KindOf(object.GroupVersionKind())
	r := placement.Request{Namespace: namespace, Queue: queue, Kind: kind, Owner: ownerOf(object), Label: label}
	if o.submitTo != "" {
		r.QueueFlag = "--queue"
	}
	if object.GroupVersionKind() != delegation.Job().GroupVersionKind() {
		return r, nil
	}
	job, err := dispatchobject.TypedJob(object)
	if err != nil {
		return r, err
	}
	of := placement.OfJob(job, queue)
	of.Namespace, of.Owner, of.QueueFlag, of.Label = r.Namespace, r.Owner, r.QueueFlag, r.Label
	return of, nil
}

// checkOwner makes a trace report a managedBy that looks like a typo: the API server accepts any
// name, and nothing would ever run the object.
func checkOwner(t *inspect.Trace, object *unstructured.Unstructured) {
	kind, known := delegation.KindOf(object.GroupVersionKind())
	if !known || kind.IsUnmanaged() {
		return
	}
	typed := kind.OwnerOf(delegation.TextAt(object.Object, kind.ManagedBy...))
	if meant := delegation.SuggestOwner(typed); meant != "" {
		t.Reason = inspect.ReasonUnknownOwner
		t.Message = fmt.Sprintf("Unknown owner %s; did you mean %s?", typed, meant)
		t.Fixes = []command.Fix{{Text: fmt.Sprintf("set %s to %s", strings.Join(kind.ManagedBy, "."), meant), Command: []string{}}}
		t.Remedy = string(command.Alternatives(t.Fixes))
		t.Summary = t.Phrase() + ". " + t.Message
	}
}

// adviseDispatch makes a trace say that a Job of this plugin runs only where the user dispatches it, unless
// it can run nowhere. dispatch refuses -n if another namespace is in the file.
func (o *traceOptions) adviseDispatch(t *inspect.Trace, r *placement.Request, file *unstructured.Unstructured) {
	if r.Owner != delegation.Dispatch || r.Queue != "" || placement.Overall(t.Placements) == inspect.Never {
		return
	}
	dispatch := command.Plugin("dispatch")
	for _, name := range o.filenames {
		dispatch = dispatch.With("-f", name)
	}
	if file.GetNamespace() == "" {
		dispatch = dispatch.With("-n", r.Namespace)
	}
	dispatch = dispatch.With("--to", "CONTEXT")
	t.Reason, t.Message = inspect.ReasonUndispatched, "Nothing runs it until you dispatch it."
	t.Fixes = command.Say("create it and dispatch it to a cluster: %s", dispatch).Reached(o.CommandReach(o.flags)).Fixes()
	t.Remedy = string(command.Alternatives(t.Fixes))
	t.Summary = t.Phrase() + ". " + t.Message
}

// ownerOf returns the owner of an object, the built-in one for unknown kinds.
func ownerOf(object *unstructured.Unstructured) delegation.Owner {
	kind, known := delegation.KindOf(object.GroupVersionKind())
	if !known || kind.IsUnmanaged() {
		return delegation.BuiltIn
	}
	return kind.OwnerOf(delegation.TextAt(object.Object, kind.ManagedBy...))
}

// cannotRunError is returned if no cluster can run some objects, which was printed before.
type cannotRunError struct {
	// names are their kinds and names. total is the number of all objects.
	names []string
	total int
}

func (e *cannotRunError) ExitCode() int { return util.ExitFindings }

func (e *cannotRunError) Error() string {
	if e.total == 1 {
		return "no cluster can run " + e.names[0]
	}
	return fmt.Sprintf("no cluster can run %d of %d objects: %s", len(e.names), e.total, inspect.Some(e.names))
}

// fitError returns an error for the objects of files that no cluster can run.
func (o *traceOptions) fitError(list *inspect.TraceList) error {
	if len(o.filenames) == 0 {
		return nil
	}
	var names []string
	for i := range list.Items {
		if t := &list.Items[i]; t.Reason == inspect.ReasonUnknownOwner || placement.Overall(t.Placements) == inspect.Never {
			names = append(names, delegation.Named(t.Origin.Kind, t.Origin.Namespace, t.Origin.Name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &cannotRunError{names: names, total: len(list.Items)}
}

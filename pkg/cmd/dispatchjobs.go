package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
)

// wantedJobs are the Jobs that the user means, with what is wrong with some of
// them.
type wantedJobs struct {
	requests []dispatch.Request
	errs     []error
}

// find reads the Jobs that the user means from the origin's cluster or from
// files.
func (o *dispatchOptions) find(ctx context.Context, origin *dispatch.Side) (*wantedJobs, error) {
	switch {
	case len(o.flags.filenames) > 0:
		return o.ofFiles(ctx, origin)
	case o.flags.labelSelector != "":
		return o.selected(ctx, origin)
	}
	found := &wantedJobs{}
	names := slices.Clone(o.names)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		job, err := origin.Job(ctx, o.origin.Namespace, name)
		if err != nil {
			found.errs = append(found.errs, err)
			continue
		}
		if job == nil {
			found.errs = append(found.errs, fmt.Errorf("context %s: there is no job %q in namespace %q; -f FILE creates one", origin.Context, name, o.origin.Namespace))
			continue
		}
		found.requests = append(found.requests, dispatch.Request{Origin: job})
	}
	return found, nil
}

func (o *dispatchOptions) selected(ctx context.Context, origin *dispatch.Side) (*wantedJobs, error) {
	jobs, others, err := dispatch.Find(ctx, origin, o.loop.Plan.Owner, o.origin.Namespace, o.flags.labelSelector)
	if err != nil {
		return nil, err
	}
	found := &wantedJobs{}
	ended := 0
	for _, job := range jobs {
		if dispatch.HasFinished(job) {
			ended++
			continue
		}
		found.requests = append(found.requests, dispatch.Request{Origin: job})
	}
	if len(found.requests) == 0 {
		return nil, fmt.Errorf("context %s: no unfinished Job of %s in namespace %q matches %q; %d that match are finished, and %d are managed by somebody else",
			origin.Context, o.loop.Plan.Owner, o.origin.Namespace, o.flags.labelSelector, ended, others)
	}
	return found, nil
}

// ofFiles reads files, and looks which of their Jobs exist already. A file is
// dispatched as a whole or not at all.
func (o *dispatchOptions) ofFiles(ctx context.Context, origin *dispatch.Side) (*wantedJobs, error) {
	manifests, err := dispatch.ReadManifests(o.flags.filenames, o.In)
	if err != nil {
		return nil, err
	}
	found := &wantedJobs{}
	seen := map[string]string{}
	var errs []error
	for _, m := range manifests {
		job := m.Object
		if err := o.complete(job); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.Source, err))
			continue
		}
		key := job.GetNamespace() + "/" + job.GetName()
		if before, ok := seen[key]; ok {
			errs = append(errs, fmt.Errorf("%s: job %s stands in %s already", m.Source, key, before))
			continue
		}
		seen[key] = m.Source
		existing, err := origin.Job(ctx, job.GetNamespace(), job.GetName())
		switch {
		case err != nil:
			errs = append(errs, err)
		case existing != nil:
			tell(o.ErrOut, "note: job %s exists already on %s, and is gone on with as it is there", key, origin.Context)
			found.requests = append(found.requests, dispatch.Request{Origin: existing})
		default:
			found.requests = append(found.requests, dispatch.Request{Origin: job, Create: true})
		}
	}
	return found, errors.Join(errs...)
}

// complete gives a Job of a file its namespace and its owner, and takes away what
// is left in it of another life.
func (o *dispatchOptions) complete(job *unstructured.Unstructured) error {
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "selfLink", "managedFields"} {
		unstructured.RemoveNestedField(job.Object, "metadata", field)
	}
	delete(job.Object, "status")
	own := job.GetNamespace()
	switch given := *o.flags.kube.Namespace; {
	case own == "":
		job.SetNamespace(o.origin.Namespace)
	case given != "" && given != own:
		return fmt.Errorf("job %s is of namespace %q, and --namespace says %q", job.GetName(), own, given)
	}
	managedBy, _, err := unstructured.NestedString(job.Object, delegation.Job().ManagedBy...)
	if err != nil {
		return fmt.Errorf("job %s: spec.managedBy is no text", job.GetName())
	}
	switch owner := delegation.Job().OwnerOf(managedBy); {
	case managedBy == "":
		return unstructured.SetNestedField(job.Object, string(o.loop.Plan.Owner), delegation.Job().ManagedBy...)
	case owner != o.loop.Plan.Owner:
		return fmt.Errorf("job %s has spec.managedBy: %s, and would have to have %s, or none at all", job.GetName(), managedBy, o.loop.Plan.Owner)
	}
	return nil
}

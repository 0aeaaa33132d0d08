package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util/writing"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/manifest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// wantedJobs are the objects that the user selected, and the errors of objects that cannot be
// dispatched.
type wantedJobs struct {
	requests []request
	errs     []error
}

// request is a selected object.
type request struct {
	preflight.Request
	kind delegation.Kind
}

// key identifies an object of a cluster.
func (r request) key(namespace, name string) string {
	return r.kind.Resource.GroupResource().String() + " " + namespace + "/" + name
}

// find reads the selected Jobs from the origin's cluster or from files.
func (o *dispatchOptions) find(ctx context.Context, origin *fleet.Cluster) (*wantedJobs, error) {
	switch {
	case len(o.flags.filenames) > 0:
		return o.findManifests(ctx, origin)
	case o.flags.labelSelector != "":
		return o.findBySelector(ctx, origin)
	}
	found := &wantedJobs{}
	targets := slices.SortedFunc(slices.Values(o.targets), func(a, b writing.Target) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	seen := map[string]bool{}
	for _, t := range targets {
		kind, err := o.kinds.Named(ctx, t.Kind)
		if err != nil {
			return nil, err
		}
		r := request{kind: kind}
		key := r.key(o.origin.Namespace, t.Name)
		if seen[key] {
			continue // The user has also named it by another name of its kind.
		}
		seen[key] = true
		r.Origin, err = writing.Read(ctx, origin, kind, o.origin.Namespace, t.Name)
		switch {
		case err != nil:
			found.errs = append(found.errs, err)
		case r.Origin == nil:
			found.errs = append(found.errs, fmt.Errorf("context %q: %s %q not found in namespace %q. Name the namespace with -n, or create it with -f FILE", origin.Context, strings.ToLower(kind.Kind), t.Name, o.origin.Namespace))
		default:
			found.requests = append(found.requests, r)
		}
	}
	return found, nil
}

func (o *dispatchOptions) findBySelector(ctx context.Context, origin *fleet.Cluster) (*wantedJobs, error) {
	kinds, err := o.kinds.Chosen(ctx, o.flags.kinds, o.owner)
	if err != nil {
		return nil, err
	}
	found := &wantedJobs{}
	ended, others := 0, 0
	for _, kind := range kinds {
		jobs, othersOfKind, err := dispatch.Find(ctx, origin, kind, o.owner, o.origin.Namespace, o.flags.labelSelector)
		if err != nil {
			return nil, err
		}
		others += othersOfKind
		for _, job := range jobs {
			if object.HasFinished(kind, job) {
				ended++
				continue
			}
			found.requests = append(found.requests, request{kind: kind, Request: preflight.Request{Origin: job}})
		}
	}
	if len(found.requests) == 0 {
		return nil, fmt.Errorf("context %q: no unfinished %s managed by %s in namespace %q matches %q; %d matches are finished, %d have another owner",
			origin.Context, writing.Noun(kinds), o.owner, o.origin.Namespace, o.flags.labelSelector, ended, others)
	}
	return found, nil
}

// findManifests returns the Jobs of files, and reads those of them that already exist on the cluster. The
// Jobs of a file are dispatched together or not at all.
func (o *dispatchOptions) findManifests(ctx context.Context, origin *fleet.Cluster) (*wantedJobs, error) {
	found := &wantedJobs{}
	seen := map[string]string{}
	var errs []error
	for _, m := range o.manifests {
		job := m.Object
		kind, err := o.kinds.Of(ctx, job.GroupVersionKind())
		if err == nil {
			err = o.complete(kind, job)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", m.Source, err))
			continue
		}
		r := request{kind: kind, Request: preflight.Request{Origin: job, Create: true}}
		key := r.key(job.GetNamespace(), job.GetName())
		if before, ok := seen[key]; ok {
			errs = append(errs, fmt.Errorf("%s: %s is also in %s", m.Source, object.KindAndName(job), before))
			continue
		}
		seen[key] = m.Source
		existing, err := writing.Read(ctx, origin, kind, job.GetNamespace(), job.GetName())
		switch {
		case kubecontext.IsUnserved(err):
			// Preflight reports it with a remedy.
		case err != nil:
			errs = append(errs, err)
			continue
		case existing != nil:
			util.Report(o.ErrOut, "note: %s already exists on %s; resuming", object.KindAndName(job), origin.Context)
			r.Request = preflight.Request{Origin: existing}
		}
		found.requests = append(found.requests, r)
	}
	return found, errors.Join(errs...)
}

// dropMarks removes from a Job of a file the marks of an earlier dispatch: an exported Job names
// the mirror of the Job that it was copied from.
func dropMarks(job *unstructured.Unstructured) {
	for _, key := range []string{delegation.MirrorAnnotation, delegation.OriginAnnotation, delegation.CancelledAnnotation} {
		unstructured.RemoveNestedField(job.Object, "metadata", "annotations", key)
	}
	unstructured.RemoveNestedField(job.Object, "metadata", "labels", delegation.OriginUIDLabel)
}

// complete sets the namespace and the owner of a Job from a file, and removes the fields that a
// server set.
func (o *dispatchOptions) complete(kind delegation.Kind, job *unstructured.Unstructured) error {
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "selfLink", "managedFields"} {
		unstructured.RemoveNestedField(job.Object, "metadata", field)
	}
	delete(job.Object, "status")
	dropMarks(job)
	namespace, err := manifest.NamespaceOf(job, *o.flags.Kube.Namespace, o.origin.Namespace)
	if err != nil {
		return err
	}
	job.SetNamespace(namespace)
	if kind.Template || !kind.Allows(o.owner) {
		return nil // The plan refuses it with a reason.
	}
	path := strings.Join(kind.ManagedBy, ".")
	managedBy, _, err := unstructured.NestedString(job.Object, kind.ManagedBy...)
	if err != nil {
		return fmt.Errorf("%s %s: %s is not a string", strings.ToLower(kind.Kind), job.GetName(), path)
	}
	switch owner := kind.OwnerOf(managedBy); {
	case managedBy == "":
		return unstructured.SetNestedField(job.Object, string(o.owner), kind.ManagedBy...)
	case owner != o.owner:
		return fmt.Errorf("%s %s has %s: %s. Set %[3]s to %[5]s, or remove it", strings.ToLower(kind.Kind), job.GetName(), path, managedBy, o.owner)
	}
	return nil
}

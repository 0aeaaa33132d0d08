package dispatch

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// originSide is what there is to find where the origin is.
func (c *check) originSide(ctx context.Context) []Problem {
	namespace := c.Request.Origin.GetNamespace()
	return together(ctx,
		func(ctx context.Context) []Problem {
			return c.origin.access(ctx, namespace, rightsOnOrigin(c.Create))
		},
		func(ctx context.Context) []Problem { return c.originSpace(ctx, namespace) },
		c.honoursManagedBy,
	)
}

func (c *check) originSpace(ctx context.Context, namespace string) []Problem {
	state, err := c.origin.space(ctx, namespace)
	about := object("Namespace", "", namespace)
	switch {
	case apierrors.IsForbidden(err) && !c.Create:
		// The origin is in it.
		return nil
	case err != nil:
		return []Problem{c.origin.unchecked(about, "", err)}
	case !state.exists:
		return []Problem{{
			Context: c.origin.Context, Blocking: true, Object: about, Message: "does not exist",
			Remedy: c.origin.kubectl("", "create namespace %s", namespace),
		}}
	case state.terminating:
		return []Problem{{
			Context: c.origin.Context, Blocking: true, Object: about,
			Message: "is being deleted, and the Job with it", Remedy: "dispatch a Job of another namespace",
		}}
	}
	return nil
}

// honoursManagedBy says whether the origin's cluster would run the Job itself.
func (c *check) honoursManagedBy(ctx context.Context) []Problem {
	version, err := c.origin.version(ctx)
	if err != nil {
		return nil
	}
	if c.Create {
		return c.tryOrigin(ctx, version)
	}
	if !version.isBefore(1, 32) {
		return nil
	}
	// Before 1.32 the gate is off by default, and it may be on in the API server, which
	// has kept the field, but not in the controller manager, which does not look then
	// (KEP-4368, "Two controllers running").
	return []Problem{{
		Context: c.origin.Context,
		Message: fmt.Sprintf("the cluster is %s, where the built-in controller runs Jobs that somebody else manages too, unless the feature gate JobManagedBy is on", version.text),
		Remedy:  "see that its kube-controller-manager has --feature-gates=JobManagedBy=true; no pods of the Job may be there: " + c.origin.kubectl(c.Request.Origin.GetNamespace(), "get pods -l %s=%s", jobNameLabel, c.Request.Origin.GetName()),
	}}
}

// jobNameLabel is on all pods of a Job.
const jobNameLabel = "batch.kubernetes.io/job-name"

// tryOrigin has the server say what it would store if the origin was created.
func (c *check) tryOrigin(ctx context.Context, version serverVersion) []Problem {
	namespace := c.Request.Origin.GetNamespace()
	if may, err := c.origin.may(ctx, namespace, "create", jobsResource()); err == nil && !may {
		return nil
	}
	if state, err := c.origin.space(ctx, namespace); err == nil && !state.exists {
		return nil
	}
	var found []Problem
	stored, err := c.origin.tryJob(ctx, c.Request.Origin, metav1.FieldValidationStrict)
	if unknown := unknownFields(err); len(unknown) > 0 {
		// What is unknown altogether is more likely misspelt than new.
		unknown = slices.DeleteFunc(unknown, func(f string) bool { return f == "spec.managedBy" })
		if len(unknown) > 0 {
			found = append(found, Problem{
				Context: c.origin.Context, Blocking: true,
				Message: fmt.Sprintf("the API server (%s) does not know %s", version.text, strings.Join(unknown, ", ")),
				Remedy:  "correct or remove that in the file; " + c.origin.kubectl("", "explain job.spec --recursive") + " lists what it knows",
			})
		}
		stored, err = c.origin.tryJob(ctx, c.Request.Origin, metav1.FieldValidationIgnore)
	}
	if apierrors.IsAlreadyExists(err) {
		return append(found, Problem{
			Context: c.origin.Context, Blocking: true, Object: object("Job", namespace, c.Request.Origin.GetName()), Message: "is there already",
			Remedy: "dispatch it by its name instead of from the file, or see what it is: " + c.origin.kubectl(namespace, "get job %s -o yaml", c.Request.Origin.GetName()),
		})
	}
	if err != nil {
		return append(found, c.origin.refused(c.Request.Origin, err)...)
	}
	if managedBy, _, _ := unstructured.NestedString(stored.Object, "spec", "managedBy"); managedBy == "" {
		found = append(found, Problem{
			Context: c.origin.Context, Blocking: true,
			Message: fmt.Sprintf("the API server (%s) drops spec.managedBy without a word, so the Job would run there as well as on %s", version.text, c.worker.Context),
			Remedy:  "keep the origin on a cluster of Kubernetes 1.32 or later, or turn the feature gate JobManagedBy on in its kube-apiserver and kube-controller-manager",
		})
	}
	lost := slices.DeleteFunc(droppedFields(c.Request.Origin, stored), func(f dropped) bool { return f.path == "spec.managedBy" })
	return append(found, c.origin.tooOld(version, lost)...)
}

// tryJob has the server do everything to create a Job, but store it.
func (p probe) tryJob(ctx context.Context, job *unstructured.Unstructured, validation string) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return p.Dynamic.Resource(delegation.Job().Resource).Namespace(job.GetNamespace()).Create(ctx, job, metav1.CreateOptions{
		DryRun: []string{metav1.DryRunAll}, FieldManager: FieldManager, FieldValidation: validation,
	})
}

// unknownFields are those that a server named when it was to be strict; nil if the
// error is another (apimachinery: pkg/runtime/error.go, strictDecodingError).
func unknownFields(err error) []string {
	if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "strict decoding error") {
		return nil
	}
	var fields []string
	for _, m := range regexp.MustCompile(`(?:unknown|duplicate) field "([^"]+)"`).FindAllStringSubmatch(err.Error(), -1) {
		fields = append(fields, m[1])
	}
	return fields
}

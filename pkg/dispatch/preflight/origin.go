package preflight

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/object"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// originSide runs all checks of the origin's cluster.
func (c *check) originSide(ctx context.Context) []Problem {
	namespace := c.Request.Origin.GetNamespace()
	return runConcurrently(ctx,
		func(ctx context.Context) []Problem {
			return c.origin.Access(ctx, namespace, rightsOnOrigin(c.kind, c.Create))
		},
		func(ctx context.Context) []Problem { return c.originSpace(ctx, namespace) },
		c.servesOrigin,
		c.honoursManagedBy,
		c.originQueue,
	)
}

func (c *check) originSpace(ctx context.Context, namespace string) []Problem {
	state, err := c.origin.namespaceState(ctx, namespace)
	about := named("Namespace", "", namespace)
	switch {
	case apierrors.IsForbidden(err) && !c.Create:
		// The origin is in the namespace, so it exists.
		return nil
	case err != nil:
		return []Problem{c.origin.unchecked(about, "", err)}
	case !state.exists:
		return []Problem{{
			Context: c.origin.Context, Blocking: true, Object: about, Message: "does not exist",
			Remedy: c.origin.Kubectl("", "create", "namespace", namespace).Prose(),
		}}
	case state.terminating:
		return []Problem{{
			Context: c.origin.Context, Blocking: true, Object: about,
			Message: fmt.Sprintf("is being deleted, together with the %s", c.kind.Kind), Remedy: command.Say("dispatch %s of another namespace", object.WithArticle(c.kind.Kind)),
		}}
	}
	return nil
}

// honoursManagedBy checks whether the origin's cluster would run the Job itself.
func (c *check) honoursManagedBy(ctx context.Context) []Problem {
	version, err := c.origin.version(ctx)
	if err != nil {
		return nil
	}
	var found []Problem
	if c.kind.Ignored != "" {
		found = append(found, Problem{
			Context: c.origin.Context,
			Message: fmt.Sprintf("%s ignores %s, and would run the %s here too", c.kind.Ignored, content.Dotted(c.kind.ManagedBy), c.kind.Kind),
			Remedy:  command.Say("upgrade it there to %s or later, or remove it", c.kind.Since),
		})
	}
	if c.Create {
		return append(found, c.tryOrigin(ctx, version)...)
	}
	if !c.kind.IsJob() || !version.isBefore(1, 32) {
		return found
	}
	// Before 1.32 the feature gate is off by default. It may be on in the API server, which has
	// stored the field, but off in the controller manager, which then ignores it (KEP-4368, "Two
	// controllers running").
	return []Problem{{
		Context: c.origin.Context,
		Message: fmt.Sprintf("the cluster is %s, where the built-in controller also runs Jobs with another owner, unless the feature gate JobManagedBy is on", version.text),
		Remedy:  command.Say("set --feature-gates=JobManagedBy=true on its kube-controller-manager. The Job must have no Pods there: %s", c.origin.Kubectl(c.Request.Origin.GetNamespace(), "get", "pods", "-l", jobNameLabel+"="+c.Request.Origin.GetName())),
	}}
}

// jobNameLabel is a label of all Pods of a Job.
const jobNameLabel = "batch.kubernetes.io/job-name"

// tryOrigin creates the origin in a dry run, and checks what the server would store.
func (c *check) tryOrigin(ctx context.Context, version serverVersion) []Problem {
	namespace := c.Request.Origin.GetNamespace()
	if may, err := c.origin.may(ctx, namespace, "create", c.kind.Resource.GroupResource()); err == nil && !may {
		return nil
	}
	if state, err := c.origin.namespaceState(ctx, namespace); err == nil && !state.exists {
		return nil
	}
	managedBy := content.Dotted(c.kind.ManagedBy)
	var found []Problem
	stored, err := c.origin.Create(ctx, c.kind.Resource, c.Request.Origin, metav1.FieldValidationStrict, metav1.DryRunAll)
	if unknown := unknownFields(err); len(unknown) > 0 {
		// A field that the API does not know is more likely a typo than new.
		unknown = slices.DeleteFunc(unknown, func(f string) bool { return f == managedBy })
		if len(unknown) > 0 {
			found = append(found, Problem{
				Context: c.origin.Context, Blocking: true,
				Message: fmt.Sprintf("the API server (%s) does not know %s", version.text, strings.Join(unknown, ", ")),
				Remedy:  command.Say("correct or remove it in the file; %s lists the known fields", c.origin.Kubectl("", "explain", command.Explained(c.kind)+".spec", "--recursive")),
			})
		}
		stored, err = c.origin.Create(ctx, c.kind.Resource, c.Request.Origin, metav1.FieldValidationIgnore, metav1.DryRunAll)
	}
	if kubecontext.IsUnserved(err) {
		return found // This is already reported.
	}
	if apierrors.IsAlreadyExists(err) {
		return append(found, Problem{
			Context: c.origin.Context, Blocking: true, Object: named(c.kind.Kind, namespace, c.Request.Origin.GetName()), Message: "already exists",
			Remedy: command.Say("dispatch it by name instead of from the file, or inspect it: %s", c.origin.Kubectl(namespace, "get", command.KindName(c.kind), c.Request.Origin.GetName(), "-o", "yaml")),
		})
	}
	if err != nil {
		return append(found, c.origin.Refused(c.Request.Origin, err)...)
	}
	if content.StringAt(stored, c.kind.ManagedBy...) == "" {
		found = append(found, Problem{
			Context: c.origin.Context, Blocking: true,
			Message: fmt.Sprintf("the API server (%s) silently drops %s, so the %s would run both there and on %s", version.text, managedBy, c.kind.Kind, c.worker.Context),
			Remedy:  c.remedyForDropped(),
		})
	}
	lost := slices.DeleteFunc(droppedFields(c.Request.Origin, stored), func(f dropped) bool { return f.path == managedBy })
	return append(found, c.drops(c.origin, version, lost)...)
}

// remedyForDropped returns how to get an API that stores managedBy.
func (c *check) remedyForDropped() command.Prose {
	switch {
	case c.kind.IsJob():
		return "keep the origin on a cluster of Kubernetes 1.32 or later, or enable the feature gate JobManagedBy in its kube-apiserver and kube-controller-manager"
	case c.kind.Since != "":
		return command.Say("ask an administrator to install the API of %s or later there", c.kind.Since)
	}
	return "ask an administrator to install a version of the API there that has the field"
}

// unknownField matches a field that the API server does not know, or that a manifest has twice.
var unknownField = regexp.MustCompile(`(?:unknown|duplicate) field "([^"]+)"`)

// unknownFields returns the fields that a strict server rejected; nil for another error
// (apimachinery: pkg/runtime/error.go, strictDecodingError).
func unknownFields(err error) []string {
	if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "strict decoding error") {
		return nil
	}
	var fields []string
	for _, m := range unknownField.FindAllStringSubmatch(err.Error(), -1) {
		fields = append(fields, m[1])
	}
	return fields
}

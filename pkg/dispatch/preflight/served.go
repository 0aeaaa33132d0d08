package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// served describes how a server serves a kind.
type served struct {
	// exists is whether it serves the requested version, and status whether that version has a
	// status subresource. otherVersions are the versions that it serves instead.
	exists, status bool
	otherVersions  []string
}

// serves returns how a server serves a kind. It is not needed for Jobs, which every server has.
func (p Probe) serves(ctx context.Context, resource schema.GroupVersionResource) (served, error) {
	return recall(ctx, p, "serves "+resource.String(), func(ctx context.Context) (served, error) {
		exists, status, err := p.resources(ctx, resource)
		if err != nil || exists {
			return served{exists: exists, status: status}, err
		}
		versions, err := p.Versions(ctx, resource.Group)
		return served{otherVersions: slices.DeleteFunc(versions, func(version string) bool {
			exists, _, err := p.resources(ctx, resource.GroupResource().WithVersion(version))
			return err != nil || !exists
		})}, err
	})
}

// resources reports whether a server has a resource in a version, and whether it has its status
// subresource.
func (p Probe) resources(ctx context.Context, resource schema.GroupVersionResource) (exists, status bool, err error) {
	list, err := p.Kubernetes().Discovery().ServerResourcesForGroupVersionWithContext(ctx, resource.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	for _, r := range list.APIResources {
		exists = exists || r.Name == resource.Resource
		status = status || r.Name == resource.Resource+"/status"
	}
	return exists, status, nil
}

// servesOrigin checks that the origin's cluster serves the kind, with a status subresource.
func (c *check) servesOrigin(ctx context.Context) []Problem {
	return c.missingKind(ctx, c.origin, true)
}

// servesMirror checks that the worker serves the kind in the version of the origin. It needs no
// status subresource, because dispatch does not write the mirror's status.
func (c *check) servesMirror(ctx context.Context) []Problem {
	return c.missingKind(ctx, c.worker, false)
}

func (c *check) missingKind(ctx context.Context, p Probe, needsStatus bool) []Problem {
	if c.kind.IsJob() {
		return nil
	}
	name := c.kind.Resource.GroupResource().String()
	found, err := p.serves(ctx, c.kind.Resource)
	problem := Problem{Context: p.Context, Blocking: true, Object: labelled("the API of " + name)}
	switch {
	case err != nil:
		return []Problem{p.unchecked(problem.Object, "", err)}
	case found.exists && (found.status || !needsStatus):
		return nil
	case found.exists:
		problem.Message = fmt.Sprintf("has no status subresource (%s/status), so the status of the mirror cannot be copied back", name)
		problem.Remedy = "ask an administrator to install a version there that has the status subresource"
	case len(found.otherVersions) > 0:
		problem.Message = fmt.Sprintf("is served as %s, and the %s uses %s", strings.Join(found.otherVersions, ", "), c.kind.Kind, c.kind.Resource.Version)
		problem.Remedy = command.Say("ask an administrator to install a controller that serves %s there, or use %s on both clusters", c.kind.Resource.Version, found.otherVersions[0])
	default:
		problem.Message = "is not served"
		problem.Remedy = command.Say("ask an administrator to install the controller of %ss there", c.kind.Kind)
	}
	return []Problem{problem}
}

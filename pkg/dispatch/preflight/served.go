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

// served is what a server has of a kind.
type served struct {
	// here is whether it has the version that is asked for, and status whether that
	// has a status of its own. others are the versions that it has instead.
	here, status bool
	others       []string
}

// serves asks a server what it has of a kind. Jobs are everywhere.
func (p Probe) serves(ctx context.Context, resource schema.GroupVersionResource) (served, error) {
	return recall(ctx, p, "serves "+resource.String(), func(ctx context.Context) (served, error) {
		here, status, err := p.resources(resource)
		if err != nil || here {
			return served{here: here, status: status}, err
		}
		versions, err := p.Versions(ctx, resource.Group)
		return served{others: slices.DeleteFunc(versions, func(version string) bool {
			there, _, err := p.resources(resource.GroupResource().WithVersion(version))
			return err != nil || !there
		})}, err
	})
}

// resources says whether a server has a resource in a version, and its status.
func (p Probe) resources(resource schema.GroupVersionResource) (here, status bool, err error) {
	list, err := p.Kubernetes().Discovery().ServerResourcesForGroupVersion(resource.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	for _, r := range list.APIResources {
		here = here || r.Name == resource.Resource
		status = status || r.Name == resource.Resource+"/status"
	}
	return here, status, nil
}

// servesOrigin says whether the origin's cluster has the kind, with a status that can
// be written by itself.
func (c *check) servesOrigin(ctx context.Context) []Problem {
	return c.lacksKind(ctx, c.origin, true)
}

// servesMirror says whether the worker has the kind in the version of the origin. Who
// writes the status there is no matter of ours.
func (c *check) servesMirror(ctx context.Context) []Problem {
	return c.lacksKind(ctx, c.worker, false)
}

func (c *check) lacksKind(ctx context.Context, p Probe, needsStatus bool) []Problem {
	if c.kind.IsJob() {
		return nil
	}
	name := c.kind.Resource.GroupResource().String()
	found, err := p.serves(ctx, c.kind.Resource)
	problem := Problem{Context: p.Context, Blocking: true, Object: "the API of " + name}
	switch {
	case err != nil:
		return []Problem{p.unchecked(problem.Object, "", err)}
	case found.here && (found.status || !needsStatus):
		return nil
	case found.here:
		problem.Message = fmt.Sprintf("has no status of its own (%s/status), so that of the mirror cannot be written back", name)
		problem.Remedy = "have a version of it installed that has the status subresource"
	case len(found.others) > 0:
		problem.Message = fmt.Sprintf("is there as %s, and the %s is of %s", strings.Join(found.others, ", "), c.kind.Kind, c.kind.Resource.Version)
		problem.Remedy = command.Say("have one installed there that has %s, or use %s on both clusters", c.kind.Resource.Version, found.others[0])
	default:
		problem.Message = "is not there"
		problem.Remedy = command.Say("have what runs %ss installed there", c.kind.Kind)
	}
	return []Problem{problem}
}

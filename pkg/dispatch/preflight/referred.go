package preflight

import (
	"context"
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// referred checks the objects that the mirror itself names, outside of Pod templates.
func (c *check) referred(ctx context.Context) []Problem {
	var needs []need
	for _, r := range c.kind.References {
		field := strings.Join(r.Path, ".") + "." + r.Field
		for _, name := range r.Names(c.mirror.Object) {
			if r.Kind == "ServiceAccount" && name == "default" {
				// Each namespace has one, and few users may read it.
				continue
			}
			original := c.origin.Kubectl(c.Request.Origin.GetNamespace(), "get", r.Resource.GroupResource().String(), name, "-o", "yaml")
			needs = append(needs, need{
				kind: r.Kind, namespace: c.namespace(), name: name,
				message:  fmt.Sprintf("does not exist, and %s names it", field),
				remedy:   command.Say("create it there, like the one of the origin: %s", original),
				versions: versions(r.Resource), blocks: true,
			})
		}
	}
	return c.all(ctx, needs)
}

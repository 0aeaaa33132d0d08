package kueue

import (
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// Grant is a right that a manager needs on its workers for a resource.
type Grant struct {
	Group, Resource string
	Verbs           []string
}

// WorkerGrants returns what MultiKueue needs on a worker to dispatch the
// kinds of integrations that it copies: to watch, create and delete mirrors and
// Workloads, and to read their status (docs/reference/multikueue.md#setup).
func WorkerGrants(frameworks []string) []Grant {
	grants := []Grant{
		{Group, "workloads", []string{"create", "delete", "get", "list", "patch", "update", "watch"}},
		{Group, "workloads/status", []string{"get", "patch", "update"}},
	}
	for _, name := range frameworks {
		if group, resource, ok := frameworkResource(name); ok {
			grants = append(grants,
				Grant{group, resource, []string{"create", "delete", "get", "list", "watch"}},
				Grant{group, resource + "/status", []string{"get"}})
		}
	}
	return grants
}

// frameworkResource returns the resource of an integration, such as jobs of
// group batch for "batch/job" and pipelineruns of tekton.dev for
// "PipelineRun.v1.tekton.dev". ok is false if the name has neither form.
func frameworkResource(name string) (group, resource string, ok bool) {
	switch name {
	case "pod":
		return "", "pods", true
	case "statefulset":
		return "apps", "statefulsets", true
	}
	if group, kind, isPath := strings.Cut(name, "/"); isPath {
		return group, strings.ToLower(delegation.Plural(kind)), true
	}
	parts := strings.SplitN(name, ".", 3)
	if len(parts) < 3 {
		return "", "", false
	}
	return parts[2], strings.ToLower(delegation.Plural(parts[0])), true
}

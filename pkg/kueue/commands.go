package kueue

import (
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// Kubectl returns the kubectl command with a verb for an object of Kueue.
// namespace is "" for cluster-scoped kinds.
func Kubectl(context, verb, kind, namespace, name string) command.Command {
	return command.Kubectl(context, namespace, verb, Resource(kind), name)
}

// ShowPods returns the command that shows whether Kueue runs, in any namespace. It lists nothing if
// Kueue runs outside the cluster.
func ShowPods(context string) command.Command {
	return command.Kubectl(context, "", "get", "deployments,pods", "-A", "-l", "app.kubernetes.io/name=kueue")
}

// Patch returns the command that sets a field of an object of Kueue.
func Patch(context, kind, namespace, name string, value any, path ...string) command.Command {
	return Kubectl(context, "patch", kind, namespace, name).With("--type", "merge", "-p", command.Patch(value, path...))
}

// Activate returns the command that makes Kueue queue a deactivated Workload
// again.
func Activate(context string, w *Workload) command.Command {
	return Patch(context, "Workload", w.Namespace, w.Name, true, "spec", "active")
}

// ShowWebhook returns the owner of a webhook, in words, and a command that shows
// whether it runs.
func ShowWebhook(context, webhook string) (who string, show command.Command) {
	// Kueue's webhooks of Jobs (kueue: config/components/webhook/manifests.yaml).
	if webhook == "mjob.kb.io" || webhook == "vjob.kb.io" {
		return "Kueue", ShowPods(context)
	}
	return "webhook " + webhook, command.Kubectl(context, "", "get", "validatingwebhookconfigurations,mutatingwebhookconfigurations")
}

// setQuotas returns the command that sets nominal quotas in the spec of a ClusterQueue. The command changes
// nothing if a flavor or a resource has moved within the spec. It is zero if the spec lacks one of them.
func setQuotas(context string, q *ClusterQueue, raises []Raise) command.Command {
	var patch []any
	for _, r := range raises {
		steps := setQuota(q, r)
		if steps == nil {
			return command.Command{}
		}
		patch = append(patch, steps...)
	}
	return Kubectl(context, "patch", "ClusterQueue", "", q.Name).With("--type", "json", "-p", command.JSON(patch))
}

// setQuota returns the steps of a JSON patch that set one nominal quota, nil if the spec lacks it.
func setQuota(q *ClusterQueue, raise Raise) []any {
	for g := range q.Spec.ResourceGroups {
		for f, quotas := range q.Spec.ResourceGroups[g].Flavors {
			for i, r := range quotas.Resources {
				if quotas.Name != raise.Flavor || r.Name != raise.Resource {
					continue
				}
				flavorPath := fmt.Sprintf("/spec/resourceGroups/%d/flavors/%d", g, f)
				quotaPath := fmt.Sprintf("%s/resources/%d", flavorPath, i)
				return []any{
					map[string]any{"op": "test", "path": flavorPath + "/name", "value": raise.Flavor},
					map[string]any{"op": "test", "path": quotaPath + "/name", "value": raise.Resource},
					map[string]any{"op": "replace", "path": quotaPath + "/nominalQuota", "value": raise.To},
				}
			}
		}
	}
	return nil
}

package advice

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// GrantRights returns how to give a user rights in a cluster. kubectl returns a kubectl command for
// that cluster.
func GrantRights(kubectl func(words ...string) command.Command, user string, rights []inspect.Access) command.Prose {
	var rules []any
	for _, a := range rights {
		rules = append(rules, map[string]any{"apiGroups": []any{a.Group}, "resources": []any{a.Resource}, "verbs": a.Verbs})
	}
	role := "multikueue-manager-additional-" + shortHash(user, rules)
	create := kubectl("apply", "-f", "-").Fed(command.JSON(map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": role}, "rules": rules,
	}))
	return command.Say("grant the rights: %s, and then %s", create, kubectl("create", "clusterrolebinding", role, "--clusterrole="+role, "--user="+user))
}

// GetReadRights returns how a user gets the right to read kinds of objects in contexts.
func GetReadRights(kinds string, contexts []string) command.Prose {
	return command.Say("get the right to read %s on %s. %s", kinds, inspect.And(contexts), kubecontext.RightsHint)
}

// AddContext returns how clusters that no known context reaches get one.
func AddContext(clusters string) command.Prose {
	return command.Say("add a context for %s to the kubeconfig", clusters)
}

// ShowReadError returns how to see why a resource of a context cannot be read.
func ShowReadError(context, resource string) command.Prose {
	return command.Say("see why: %s", command.Kubectl(context, "", "get", resource))
}

// shortHash returns a short text that differs for other users and other rules, so that the fix for
// one manager does not replace the rights of another one, nor those of an earlier fix.
func shortHash(user string, rules []any) string {
	sum := sha256.Sum256([]byte(fmt.Sprint(user, rules)))
	return hex.EncodeToString(sum[:4])
}

package plumbing

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/advice"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func workerOutOfReach() view.Rule {
	return brokenWorkerRule(view.Rule{Code: unreachable}, adviseUnreachable, inspect.PartSecrets, inspect.PartKueue)
}

func adviseUnreachable(v *view.View, b brokenWorker, s *view.Sighting) {
	if strings.Contains(b.active.Message, "x509") {
		s.Remedy = correctCertificate(v, b)
		return
	}
	server := cmp.Or(v.ServerOf(b.manager, b.cluster.Name), "the API server of "+b.cluster.Name)
	facts, context := v.Worker(b.manager, b.cluster.Name)
	switch {
	case context == "" || context == b.manager.Context:
		s.Remedy = command.Say("restore the connection from %s to %s", b.manager.Context, server)
	case facts != nil && addressesDiffer(v, context, server):
		address := addressOf(v, context)
		s.Message = fmt.Sprintf("%s cannot use worker %s: its kubeconfig points to %s, context %s to %s", b.manager.Context, b.cluster.Name, server, context, address)
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: the worker's API server answers this context at %s", context, address))
		s.Remedy = advice.ReplaceKubeconfig(b.manager, b.cluster, fmt.Sprintf("if %s is wrong, write the right server to %s.kubeconfig", server, b.cluster.Name))
	case facts != nil && v.Age(b.manager.Context, s.Since) > longestRetry:
		s.Remedy = command.Say("restore the connection from %[1]s to %[2]s; context %[3]s reaches it, so check the network and firewall of %[1]s",
			b.manager.Context, server, context)
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: the worker's API server answers this context", context))
	case facts != nil:
		s.Remedy = command.Say("wait up to five minutes: Kueue on %[2]s retries, and the worker answers context %[1]s; if it stays lost, restore the connection from %[2]s to %[3]s",
			context, b.manager.Context, server)
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: the worker's API server answers this context", context))
	default:
		which := server
		if strings.Contains(server, "://") {
			which = "the API server at " + server
		}
		s.Remedy = command.Say("start %s, or restore the connection from %s to it; check with: %s",
			which, b.manager.Context, command.Kubectl(context, "", "get", "--raw", "/readyz"))
		if v.Failed(context) != nil {
			s.Evidence = append(s.Evidence, fmt.Sprintf("%s: the worker does not answer this context either", context))
		}
	}
}

// longestRetry is after how long a manager has certainly tried again to reach a worker: Kueue waits for
// at most 5m20s between two attempts (docs/reference/multikueue.md).
const longestRetry = 6 * time.Minute

// addressOf returns the API server that a context points to, "" if unknown.
func addressOf(v *view.View, context string) string {
	for _, a := range v.Addresses() {
		if a.Context == context {
			return a.Server
		}
	}
	return ""
}

// addressesDiffer reports whether a context points to another address than
// server.
func addressesDiffer(v *view.View, context, server string) bool {
	address := addressOf(v, context)
	return address != "" && strings.Contains(server, "://") && !kubecontext.SameServer(address, server)
}

// undispatchedFor returns the Jobs that can be offered to no worker, because rules like this one report
// all workers of their check.
func undispatchedFor(v *view.View, b brokenWorker) []*inspect.Job {
	checks, _ := v.Checks(b.manager)
	var jobs []*inspect.Job
	for _, c := range checks {
		active := meta.FindStatusCondition(c.Status.Conditions, kueue.Active)
		if !c.IsMultiKueue() || active == nil || active.Status == "True" {
			continue
		}
		if u, ok := unusableOf(v, b.manager, c); ok && u.areReported() && u.has(b.cluster.Name) {
			jobs = append(jobs, undispatched(v, b.manager, c)...)
		}
	}
	return jobs
}

// unservedKind matches the kind that a worker does not serve, in a message of
// the manager.
var unservedKind = regexp.MustCompile(`no matches for kind "([^"]+)" in version "([^"]+)"`)

// missingResource matches the resource that is missing, in a message of the
// API server itself.
var missingResource = regexp.MustCompile(`could not find the requested resource \(\w+ ([\w.-]+)\)`)

// missingKind returns the name of the kind that a worker does not serve, and its resource, empty if the message of
// the manager does not tell.
func missingKind(b brokenWorker) (name string, resource schema.GroupResource) {
	if m := unservedKind.FindStringSubmatch(b.active.Message); m != nil {
		version, _ := schema.ParseGroupVersion(m[2])
		return fmt.Sprintf("kind %s (%s)", m[1], m[2]), schema.GroupResource{Group: version.Group, Resource: strings.ToLower(delegation.Plural(m[1]))}
	}
	if m := missingResource.FindStringSubmatch(b.active.Message); m != nil {
		return m[1], schema.ParseGroupResource(m[1])
	}
	return "the kind that the message names", schema.GroupResource{}
}

// disableOn returns how to make Kueue on a manager ignore the kind of a resource.
func disableOn(manager *inspect.Facts, resource schema.GroupResource) string {
	if manager.Setup != nil {
		if field := manager.Setup.Installation.FieldOf(resource); field != "" {
			return "remove it from " + field + " in the configuration of Kueue on " + manager.Context
		}
	}
	return "remove it from the frameworks in the configuration of Kueue on " + manager.Context
}

// onWorker returns a kubectl command for a worker, by its context or, if that
// is unknown, by its kubeconfig.
func onWorker(v *view.View, b brokenWorker, words ...string) command.Command {
	if context := v.ContextOf(b.manager, b.cluster.Name); context != "" {
		return command.Kubectl(context, "", words...)
	}
	return command.Of("kubectl", "--kubeconfig", b.cluster.Name+".kubeconfig").With(words...)
}

// deniedTo returns all rights that a user of the manager lacks on a worker, as JM416 reports them, nil if they
// were not read: Kueue names one resource at a time.
func deniedTo(b brokenWorker, user string) []inspect.Access {
	setup := b.manager.Setup
	if setup == nil || setup.Credentials[b.cluster.Name].User != user {
		return nil
	}
	if _, isVoid := setup.Void[b.cluster.Name]; isVoid {
		return nil
	}
	return setup.Denied[b.cluster.Name]
}

func kindMissingOnWorker() view.Rule {
	return brokenWorkerRule(view.Rule{Code: "JM005"}, func(v *view.View, b brokenWorker, s *view.Sighting) {
		kind, resource := missingKind(b)
		s.Remedy = command.Say("install the CRD of %s on %s, with its manifest in FILE: %s; or %s",
			kind, b.cluster.Name, onWorker(v, b, "apply", "--server-side", "-f", "FILE"), disableOn(b.manager, resource))
	}, inspect.PartSecrets)
}

func workerForbids() view.Rule {
	return brokenWorkerRule(view.Rule{Code: "JM006"}, func(v *view.View, b brokenWorker, s *view.Sighting) { s.Remedy = allowAccess(v, b) }, inspect.PartSecrets)
}

// allowAccess returns how to give the manager's user on a worker the right that it
// lacks.
func allowAccess(v *view.View, b brokenWorker) command.Prose {
	denied, _ := kubecontext.DenialIn(b.active.Message)
	resource, _, _ := strings.Cut(denied.Resource, "/")
	if denied.User == "" || !view.IsName(resource) || denied.Group != "" && !view.IsName(denied.Group) {
		return command.Say("add what the message names to the role that the manager's user has on %s", b.cluster.Name)
	}
	kubectl := func(words ...string) command.Command { return onWorker(v, b, words...) }
	if all := deniedTo(b, denied.User); slices.ContainsFunc(all, func(a inspect.Access) bool { return a.Group == denied.Group && a.Resource == resource }) {
		return advice.GrantRights(kubectl, denied.User, all)
	}
	return advice.GrantRights(kubectl, denied.User, []inspect.Access{
		{Group: denied.Group, Resource: resource, Verbs: []string{"create", "delete", "get", "list", "patch", "update", "watch"}},
		{Group: denied.Group, Resource: resource + "/status", Verbs: []string{"get", "patch", "update"}},
	})
}

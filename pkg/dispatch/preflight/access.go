package preflight

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// Right is a right that the user needs on one resource.
type Right struct {
	// What is the resource, or a subresource such as "jobs/status". Verbs are the needed verbs.
	What  schema.GroupResource
	Verbs []string
	// Consequence says what is impossible without the right. Blocks is whether the dispatch is
	// impossible without it.
	Consequence string
	Blocks      bool
}

func jobs() schema.GroupResource { return delegation.Job().Resource.GroupResource() }

func podsResource() schema.GroupResource { return schema.GroupResource{Resource: "pods"} }

// statusResource returns the status subresource of a kind.
func statusResource(k delegation.Kind) schema.GroupResource {
	return schema.GroupResource{Group: k.Resource.Group, Resource: k.Resource.Resource + "/status"}
}

// rightsOnOrigin returns the rights that a dispatch needs on the origin's cluster.
func rightsOnOrigin(k delegation.Kind, create bool) []Right {
	objects := Right{k.Resource.GroupResource(), rights.Verbs(rights.DispatchOrigin, jobs()), fmt.Sprintf("the %s cannot be followed", k.Kind), true}
	if create {
		objects.Verbs = append(objects.Verbs, "create")
	}
	leases := schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}
	lacking := "the status cannot be written back"
	if k.IsJob() {
		lacking += "; the stock roles edit and admin only let it be read"
	}
	return []Right{
		objects,
		{statusResource(k), rights.Verbs(rights.DispatchOrigin, statusResource(delegation.Job())), lacking, true},
		{
			leases, rights.Verbs(rights.DispatchOrigin, leases),
			"two dispatchers could take the same " + k.Kind, true,
		},
	}
}

// rightsOnWorker returns the rights that a dispatch needs on the worker. Reading Pods is required
// for Jobs only: the status of other kinds suffices.
func rightsOnWorker(k delegation.Kind) []Right {
	return []Right{
		{k.Resource.GroupResource(), rights.Verbs(rights.DispatchMirror, jobs()), "there can be no mirror", true},
		{podsResource(), rights.Verbs(rights.DispatchMirror, podsResource()), "its Pods cannot be read", k.IsJob()},
		{schema.GroupResource{Resource: "pods/log"}, []string{"get"}, "its Pods' logs cannot be read", false},
	}
}

// rightsToCopy returns the rights that copying dependencies needs on the worker.
func rightsToCopy(d []dependency.Object) []Right {
	var wanted []Right
	for _, kind := range []string{dependency.ConfigMap, dependency.Secret} {
		for _, one := range d {
			if one.Kind == kind {
				wanted = append(wanted, Right{
					dependency.Resource(kind).GroupResource(),
					rights.Verbs(rights.DispatchCopy, dependency.Resource(kind).GroupResource()),
					"what the Pods need cannot be copied", true,
				})
				break
			}
		}
	}
	return wanted
}

// Access returns a Problem for each right that the user lacks in a namespace, and one for each
// that could not be checked.
func (p Probe) Access(ctx context.Context, namespace string, wanted []Right) []Problem {
	looks := make([]checkFunc, len(wanted))
	for i, r := range wanted {
		looks[i] = func(ctx context.Context) []Problem { return p.missingVerbs(ctx, namespace, r) }
	}
	return runConcurrently(ctx, looks...)
}

func (p Probe) missingVerbs(ctx context.Context, namespace string, r Right) []Problem {
	denied, failures := make([]bool, len(r.Verbs)), make([]error, len(r.Verbs))
	looks := make([]checkFunc, len(r.Verbs))
	for i, verb := range r.Verbs {
		looks[i] = func(ctx context.Context) []Problem {
			may, err := p.may(ctx, namespace, verb, r.What)
			denied[i], failures[i] = !may && err == nil, err
			return nil
		}
	}
	runConcurrently(ctx, looks...)
	about := labelled("permission on " + r.What.Resource)
	var lacking []string
	var found []Problem
	for i, verb := range r.Verbs {
		if denied[i] {
			lacking = append(lacking, verb)
		}
		if failures[i] != nil && len(found) == 0 {
			found = append(found, p.unchecked(about, namespace, failures[i]))
		}
	}
	if len(lacking) == 0 {
		return found
	}
	return append(found, Problem{
		Context: p.Context, Blocking: r.Blocks, Object: about, IsSentence: true,
		Message: fmt.Sprintf("you may not %s %s in namespace %s: %s", strings.Join(lacking, ", "), r.What.Resource, namespace, r.Consequence),
		Remedy:  p.grant(namespace, p.user(ctx), r),
	})
}

// unfitForName matches what a name of a Role cannot have.
var unfitForName = regexp.MustCompile(`[^a-z0-9.-]+`)

// grant returns the commands that grant a right to a user.
func (p Probe) grant(namespace, user string, r Right) command.Prose {
	if user == "" {
		user = "USER"
	}
	subject := "--user=" + user
	if account, ok := strings.CutPrefix(user, "system:serviceaccount:"); ok {
		subject = "--serviceaccount=" + account
	}
	// Each user and resource has its own Role, so that the commands for several users and of
	// several runs do not conflict.
	name := "jobs-managedby-" + strings.ReplaceAll(r.What.Resource, "/", "-") + "-" + unfitForName.ReplaceAllString(strings.ToLower(user), "-")
	resource, subresource, hasSubresource := strings.Cut(r.What.Resource, "/")
	if r.What.Group != "" {
		resource += "." + r.What.Group
	}
	if hasSubresource {
		resource += "/" + subresource
	}
	// A context that lacks the right cannot be used to grant it.
	return command.Say("a user who may grant it in the cluster of %s runs, with a CONTEXT of their own: %s, and then %s", p.Context,
		command.Kubectl("CONTEXT", namespace, "create", "role", name, "--verb="+strings.Join(r.Verbs, ","), "--resource="+resource),
		command.Kubectl("CONTEXT", namespace, "create", "rolebinding", name, "--role="+name, subject))
}

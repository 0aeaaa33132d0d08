package rules

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

func workerOutOfReach() Rule {
	return Rule{
		Code: "JM004", Title: "the manager cannot reach a worker",
		Holds: "the manager reaches every worker",
		Why: `The manager gets no connection to the API server of a worker: the cluster or the way to it is down, its
address has changed, or the certificate that it shows is not signed by the authority in the kubeconfig. The manager
tries again and again, at last every five minutes. Jobs that run there go on, but their status stands still; after
workerLostTimeout (15 minutes) the manager gives them to another worker, while the old copy may still run.`,
		Shows: `The MultiKueueCluster's condition Active is False with reason ClientConnectionFailed; the message speaks of
a refused connection, a timeout, a name that is not known or x509, and of the next attempt.`,
		Remedy: `Restore the connection between the two API servers, or correct server and certificate-authority-data in
the Secret. Do it within workerLostTimeout to keep the Jobs that run there.`,
		Link: "https://github.com/kubernetes-sigs/kueue/issues/13091",
	}.ofBroken(adviseUnreachable, inspect.PartSecrets, inspect.PartQueues)
}

func adviseUnreachable(v *View, b brokenWorker, s *Sighting) {
	s.Jobs = append(s.Jobs, undispatchedFor(v, b)...)
	if strings.Contains(b.active.Message, "x509") {
		s.Remedy = newKubeconfig(b, fmt.Sprintf("write the authority that signs %s's certificate to certificate-authority-data in %s.kubeconfig", b.cluster.Name, b.cluster.Name))
		return
	}
	server := cmp.Or(v.ServerOf(b.manager, b.cluster.Name), "the API server of "+b.cluster.Name)
	facts, context := v.Worker(b.manager, b.cluster.Name)
	switch {
	case context == "" || context == b.manager.Context:
		s.Remedy = command.Say("restore the connection from %s to %s", b.manager.Context, server)
	case facts != nil && v.addressesDiffer(context, server):
		address := v.addressOf(context)
		s.Message = fmt.Sprintf("%s cannot use worker %s: its kubeconfig points to %s, context %s to %s", b.manager.Context, b.cluster.Name, server, context, address)
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: the worker's API server answers us at %s", context, address))
		s.Remedy = newKubeconfig(b, fmt.Sprintf("if %s is wrong, write the right server to %s.kubeconfig", server, b.cluster.Name))
	case facts != nil:
		s.Remedy = command.Say("it answers us as context %s, so the Kueue manager on %s may find it back by itself: it tries again and again, at last every five minutes; if that fails, too, restore the connection from there to %s",
			context, b.manager.Context, server)
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: the worker's API server answers us", context))
	default:
		s.Remedy = command.Say("bring %s back, or restore the connection from %s to it; it answers again once this does: %s",
			server, b.manager.Context, command.Kubectl(context, "", "get", "--raw", "/readyz"))
		if v.Failed(context) != nil {
			s.Evidence = append(s.Evidence, fmt.Sprintf("%s: the worker does not answer us either", context))
		}
	}
}

// addressOf returns the API server that a context leads to, "" if unknown.
func (v *View) addressOf(context string) string {
	for _, a := range v.inventory.Addresses {
		if a.Context == context {
			return a.Server
		}
	}
	return ""
}

// addressesDiffer returns whether a context leads to another address than a server.
func (v *View) addressesDiffer(context, server string) bool {
	address := v.addressOf(context)
	return address != "" && strings.Contains(server, "://") && !kubecontext.SameServer(address, server)
}

// undispatchedFor are the Jobs that no worker can be offered to while this one,
// and all others of its check, are out of reach.
func undispatchedFor(v *View, b brokenWorker) []*inspect.Job {
	checks, _ := v.Checks(b.manager)
	var jobs []*inspect.Job
	for _, c := range checks {
		active := meta.FindStatusCondition(c.Status.Conditions, kueue.Active)
		if !c.IsMultiKueue() || active == nil || active.Status == "True" {
			continue
		}
		if u, ok := unusableOf(v, b.manager, c); ok && u.areLost() && u.has(b.cluster.Name) {
			jobs = append(jobs, v.undispatched(b.manager, c)...)
		}
	}
	return jobs
}

// kindPattern finds the kind that a worker does not serve.
const kindPattern = `no matches for kind "([^"]+)" in version "([^"]+)"`

// missingPattern finds it where the API server itself says so.
const missingPattern = `could not find the requested resource \(\w+ ([\w.-]+)\)`

// missingKind is that kind in words.
func missingKind(b brokenWorker) string {
	if m := regexp.MustCompile(kindPattern).FindStringSubmatch(b.active.Message); m != nil {
		return fmt.Sprintf("kind %s (%s)", m[1], m[2])
	}
	if m := regexp.MustCompile(missingPattern).FindStringSubmatch(b.active.Message); m != nil {
		return m[1]
	}
	return "the kind that the message names"
}

// onWorker is a command of kubectl's for a worker, as far as the way there is known.
func onWorker(v *View, b brokenWorker, words ...string) command.Command {
	if context := v.ContextOf(b.manager, b.cluster.Name); context != "" {
		return command.Kubectl(context, "", words...)
	}
	return command.Of("kubectl", "--kubeconfig", b.cluster.Name+".kubeconfig").With(words...)
}

func kindMissingOnWorker() Rule {
	return Rule{
		Code: "JM005", Title: "a worker lacks a kind that Kueue is configured for",
		Holds: "every worker serves the kinds that Kueue is set up for",
		Why: `The manager watches on each worker every kind that its integrations.frameworks lists. If the worker does not
serve one of them, the whole worker is unusable, for Jobs of every kind.`,
		Shows: `The MultiKueueCluster's condition Active is False with reason ClientConnectionFailed and a message such as
no matches for kind "JobSet" in version "jobset.x-k8s.io/v1alpha2".`,
		Remedy: `Install the operator of that kind, or at least its CRD, on the worker; or take the framework off the
manager's integrations.frameworks.`,
		Link: "https://github.com/kubernetes-sigs/kueue/issues/3582",
	}.ofBroken(func(v *View, b brokenWorker, s *Sighting) {
		kind := missingKind(b)
		s.Remedy = command.Say("install the CRD of %s on %s, with its manifest in FILE: %s, or take it off integrations.frameworks in the Kueue manager's configuration on %s",
			kind, b.cluster.Name, onWorker(v, b, "apply", "--server-side", "-f", "FILE"), b.manager.Context)
	}, inspect.PartSecrets)
}

func workerForbids() Rule {
	return Rule{
		Code: "JM006", Title: "the manager lacks permissions on a worker",
		Holds: "every worker grants the manager the rights that it needs",
		Why: `The manager logs in to the worker, and its role there does not allow to list and watch one of the kinds that
the manager is set up for. One kind is enough to make the worker unusable for all. The role that Kueue's sample script
makes does not name every kind that is enabled by default.`,
		Shows: `The MultiKueueCluster's condition Active is False with reason ClientConnectionFailed and a message with
forbidden, the user, the verb and the resource.`,
		Remedy: `Add the verb and the resource to the ClusterRole that the manager's user has on the worker.`,
		Link:   setupPage,
	}.ofBroken(func(v *View, b brokenWorker, s *Sighting) { s.Remedy = allow(v, b) }, inspect.PartSecrets)
}

// forbiddenPattern finds who may not do what.
const forbiddenPattern = `User "([^"]+)" cannot \w+ resource "([^"/]+)[^"]*" in API group "([^"]*)"`

// isName says whether a word of a message can be an object's name, or a resource's.
func isName(word string) bool { return len(validation.IsDNS1123Subdomain(word)) == 0 }

// allow is how to give the manager's user on a worker what it lacks.
func allow(v *View, b brokenWorker) command.Prose {
	m := regexp.MustCompile(forbiddenPattern).FindStringSubmatch(b.active.Message)
	if len(m) == 0 || !isName(m[2]) || m[3] != "" && !isName(m[3]) {
		return command.Say("add what the message names to the role that the manager's user has on %s", b.cluster.Name)
	}
	role, resource := "multikueue-"+m[2], strings.TrimSuffix(m[2]+"."+m[3], ".")
	create := onWorker(v, b, "create", "clusterrole", role, "--verb=get,list,watch,create,update,patch,delete", "--resource="+resource)
	bind := onWorker(v, b, "create", "clusterrolebinding", role, "--clusterrole="+role, "--user="+m[1])
	return command.Say("%s, and then %s", create, bind)
}

func workerKueueTooOld() Rule {
	return Rule{
		Code: "JM007", Title: "a worker has no Kueue, or one that is too old",
		Holds: "every worker has a recent Kueue",
		Why: `The manager speaks kueue.x-k8s.io/v1beta2 to its workers. A worker without Kueue does not serve it, nor does
one with a Kueue before 0.15.`,
		Shows: `The MultiKueueCluster's condition Active is False with reason ClientConnectionFailed and the message no
matches for kind "Workload" in version "kueue.x-k8s.io/v1beta2".`,
		Remedy: `Install Kueue on the worker, or upgrade it there; upgrade workers before the manager.`,
		Link:   "https://kueue.sigs.k8s.io/docs/installation/",
	}.ofBroken(func(v *View, b brokenWorker, s *Sighting) {
		if f, context := v.Worker(b.manager, b.cluster.Name); f != nil && f != b.manager {
			switch has, known := v.HasKueue(f); {
			case has:
				s.Evidence = append(s.Evidence, fmt.Sprintf("%s: kueue.x-k8s.io is served as %s", context, f.Kueue.Version))
			case known:
				s.Evidence = append(s.Evidence, fmt.Sprintf("%s: kueue.x-k8s.io is not served", context))
			}
		}
		s.Remedy = command.Say("install Kueue 0.15 or later on %s: %s",
			b.cluster.Name, onWorker(v, b, "apply", "--server-side", "-f", "https://github.com/kubernetes-sigs/kueue/releases/latest/download/manifests.yaml"))
	}, inspect.PartSecrets, inspect.PartKueue)
}

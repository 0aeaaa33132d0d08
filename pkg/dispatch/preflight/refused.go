package preflight

import (
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// refusal is a kind of answer with which an admission plugin refuses an object.
type refusal struct {
	// pattern matches the text after "is forbidden: ".
	pattern string
	// describe fills in a Problem from the match. Context and Blocking are already set.
	describe func(p *Problem, m []string)
}

// Refused returns the Problems for which a server refuses an object in a dry run.
func (p Probe) Refused(o *unstructured.Unstructured, err error) []Problem {
	about, rejected := Object{}, "the "+o.GetKind()
	if o.GetKind() == "Pod" {
		about, rejected = thePods(), "the Pods"
	}
	webhook, cause := kubecontext.FailedWebhook(err)
	switch {
	case webhook != "":
		who, show := kueue.ShowWebhook(p.Context, webhook)
		return []Problem{{
			Context: p.Context, Blocking: true, Untried: true, Object: about, IsSentence: true,
			Message: fmt.Sprintf("the API server cannot try %s: %s fails: %s", rejected, who, cause),
			Remedy:  command.Say("try again, or check that %s runs: %s", who, show),
		}}
	case apierrors.IsNotFound(err) && strings.Contains(err.Error(), "namespaces "):
		return []Problem{{
			Context: p.Context, Blocking: true, Object: named("Namespace", "", o.GetNamespace()), Message: "does not exist",
			Remedy: p.Kubectl("", "create", "namespace", o.GetNamespace()).Prose(),
		}}
	case apierrors.IsAlreadyExists(err):
		return []Problem{{
			Context: p.Context, Blocking: true, Object: named(o.GetKind(), o.GetNamespace(), o.GetName()), Message: "already exists",
			Remedy: command.Say("inspect it: %s", p.Kubectl(o.GetNamespace(), "get", command.KindNameOf(o), o.GetName(), "-o", "yaml")),
		}}
	case kubecontext.IsConnection(err), apierrors.IsUnauthorized(err), kubecontext.IsUnserved(err):
		return []Problem{p.unchecked(about, o.GetNamespace(), err)}
	case kubecontext.IsDryRunUnsupported(err):
		// Such webhooks are older than admissionregistration.k8s.io/v1, which forbids them.
		return []Problem{{Context: p.Context, Untried: true, Object: about, Message: "cannot be tried: " + kubecontext.Because(err)}}
	}
	text := kubecontext.Objection(err)
	for _, r := range p.refusals(o, rejected) {
		if m := regexp.MustCompile(r.pattern).FindStringSubmatch(text); m != nil {
			found := Problem{Context: p.Context, Blocking: true, Object: about}
			r.describe(&found, m)
			return []Problem{found}
		}
	}
	if !kubecontext.IsRejection(err) {
		// Missing connections are handled above: a proxy or the server failed, and did not judge the object.
		return []Problem{{
			Context: p.Context, Blocking: true, Untried: true, Object: about, IsSentence: true,
			Message: fmt.Sprintf("the API server cannot try %s: %s", rejected, text), Remedy: "try again",
		}}
	}
	return []Problem{{
		Context: p.Context, Blocking: true, Object: about, IsSentence: true, ChangesObject: true,
		Message: fmt.Sprintf("the API server rejects %s: %s", rejected, text),
		Remedy:  command.Say("change the %s so that it is accepted, or ask an administrator to change the policy", subject(o)),
	}}
}

// subject returns the kind of the object that a user would change: for a Pod, the kind of its
// controller.
func subject(o *unstructured.Unstructured) string {
	if o.GetKind() != "Pod" {
		return o.GetKind()
	}
	if controller := metav1.GetControllerOfNoCopy(o); controller != nil {
		return controller.Kind
	}
	return delegation.Job().Kind
}

// defaultAccount is the ServiceAccount of Pods that name none.
const defaultAccount = "default"

// ExceededQuota matches an error of the quota plugin: the name of the quota, and the lists of
// requested, used and limited resources, for Quantities (apiserver:
// pkg/admission/plugin/resourcequota/controller.go).
const ExceededQuota = `^exceeded quota: ([^,\s]+), requested: (.*), used: (.*), limited: (.*)$`

// refusals match the errors of Kubernetes' own admission plugins (kubernetes:
// plugin/pkg/admission; apiserver: pkg/admission/plugin; pod-security-admission:
// admission/admission.go). rejected is what they refuse, such as "the Job".
func (p Probe) refusals(o *unstructured.Unstructured, rejected string) []refusal {
	namespace, subject := o.GetNamespace(), subject(o)
	return []refusal{
		{`^error looking up service account \S+/([^\s:/]+): .*not found`, func(found *Problem, m []string) {
			found.Object, found.Message = named("ServiceAccount", namespace, m[1]), "does not exist, and the Pods run as it"
			if wrong := p.invalidName("ServiceAccount", namespace, m[1], "the Pods' template"); wrong != nil {
				*found = wrong[0]
				return
			}
			found.Remedy = p.Kubectl(namespace, "create", "serviceaccount", m[1]).Prose()
			if m[1] == defaultAccount {
				found.Message = "does not exist yet, and the Pods run as it"
				found.Remedy = command.Say("try again in a moment: a controller creates it in every new namespace; if none does on %s: %s", p.Context, found.Remedy)
			}
		}},
		{`^no PriorityClass with name (\S+) was found`, func(found *Problem, m []string) {
			found.Object, found.Message = named("PriorityClass", "", m[1]), "does not exist, and the Pods name it"
		}},
		{`^pod rejected: RuntimeClass "([^"]+)" not found`, func(found *Problem, m []string) {
			found.Object, found.Message = named("RuntimeClass", "", m[1]), "does not exist, and the Pods name it"
		}},
		{ExceededQuota, func(found *Problem, m []string) {
			found.Message = fmt.Sprintf("is exhausted: requested %s, used %s, limited to %s", m[2], m[3], m[4])
			found.Remedy = command.Say("request less, or have the quota raised: %s", p.Kubectl(namespace, "describe", "resourcequota", m[1]))
			// Pods are retried until they fit, a Job is not.
			if found.Object == thePods() && fitsAlone(m[2], m[4]) {
				found.Blocking = false
				found.Message += "; the Pods wait until quota is free"
			}
			found.Object = named("ResourceQuota", namespace, m[1])
		}},
		{`^failed quota: ([^:\s]+): (.*)$`, func(found *Problem, m []string) {
			found.Object, found.Message = named("ResourceQuota", namespace, m[1]), "rejects these Pods: "+m[2]
			found.Remedy = command.Say("set that for every container of the %s, or have a LimitRange set it: %s", subject, p.Kubectl(namespace, "describe", "resourcequota", m[1]))
		}},
		{`^status unknown for quota: ([^,\s]+)`, func(found *Problem, m []string) {
			found.Blocking, found.Untried = false, true
			found.Object = named("ResourceQuota", namespace, m[1])
			found.Message = "cannot be checked: its controller has not counted it yet"
		}},
		{`^violates PodSecurity "([^"]+)": (.*)$`, func(found *Problem, m []string) {
			found.Object = named("Namespace", "", namespace)
			found.Message = fmt.Sprintf("accepts only Pods of the PodSecurity level %s: %s", m[1], m[2])
			found.ChangesObject = true
			found.Remedy = command.Say("set the named fields in the %s, choose another namespace, or %s", subject, p.allowPods(o, m[1]))
		}},
		{`^unable to create new content in namespace (\S+) because it is being terminated`, func(found *Problem, m []string) {
			found.Object, found.Message = named("Namespace", "", m[1]), "is being deleted"
			found.Remedy = command.Say("%s, then create it again, or choose another namespace", p.Kubectl("", "wait", "--for=delete", "namespace", m[1]))
		}},
		{`^\[?(?:(?:minimum|maximum) .* usage per |.* limit to request ratio per ).*$`, func(found *Problem, m []string) {
			found.IsSentence, found.Message = true, fmt.Sprintf("a LimitRange rejects %s: %s", rejected, strings.Trim(m[0], "[]"))
			found.Remedy = command.Say("request amounts within its limits: %s", p.Kubectl(namespace, "describe", "limitranges"))
		}},
		{`^admission webhook "([^"]+)" denied the request:? ?(.*)$`, func(found *Problem, m []string) {
			found.IsSentence, found.ChangesObject = true, true
			found.Message = fmt.Sprintf("the admission webhook %s refuses %s: %s", m[1], rejected, m[2])
			found.Remedy = command.Say("change the %s so that the webhook accepts it; ask the webhook's administrator what it requires", subject)
		}},
	}
}

// fitsAlone reports whether a request is within the limits, so that only other objects use up the
// quota. Both lists look like "pods=1,requests.cpu=2".
func fitsAlone(requested, limited string) bool {
	limits, requests := Quantities(limited), Quantities(requested)
	for name, quantity := range requests {
		limit, ok := limits[name]
		if !ok || quantity.Cmp(limit) > 0 {
			return false
		}
	}
	return len(requests) > 0
}

// Quantities parses a list of resources from the quota plugin, such as "pods=1,requests.cpu=2".
// It omits malformed entries.
func Quantities(list string) map[string]resource.Quantity {
	parsed := map[string]resource.Quantity{}
	for entry := range strings.SplitSeq(list, ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(entry), "=")
		if quantity, err := resource.ParseQuantity(text); err == nil {
			parsed[name] = quantity
		}
	}
	return parsed
}

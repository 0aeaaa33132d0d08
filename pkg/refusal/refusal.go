// Package refusal explains why an API server refuses an object: it reads the errors of Kubernetes' admission
// plugins and of policies, in answers and in events, and has the fix for each.
package refusal

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// Target is the refused object, and where it was refused.
type Target struct {
	Context, Namespace string
	// Subject is the kind of the object that a user would change: of Pods, that of their controller.
	Subject string
	// Rejected names the refused object in a sentence, such as "the Job" or "the Pods".
	Rejected string
	// ArePods is whether a controller creates the objects, and tries again.
	ArePods bool
	// Pod is the refused Pod; nil if it is unknown.
	Pod *corev1.PodTemplateSpec
	// Again is how a user creates an object again after a change, such as "and create it again": the Pod
	// template of a submitted object is immutable. It is empty before the object is submitted.
	Again command.Prose
}

// change returns the fix to change the object.
func (t *Target) change(how command.Prose) command.Prose {
	if t.Again == "" {
		return how
	}
	return command.Say("%s, %s", how, t.Again)
}

// changeOr returns the fix to change the object, or something else.
func (t *Target) changeOr(how, otherwise command.Prose) command.Prose {
	separator := ", or"
	if t.Again != "" {
		separator = "; or"
	}
	return command.Say("%s%s %s", t.change(how), separator, otherwise)
}

func (t *Target) kubectl(namespace string, words ...string) command.Command {
	return command.Kubectl(t.Context, namespace, words...)
}

// Refusal is why an object is refused.
type Refusal struct {
	// Kind, Namespace and Name are the object that is at fault; empty if that is the refused object.
	Kind, Namespace, Name string
	// Message describes the fault. Its subject is the object at fault, unless IsSentence is true.
	Message    string
	IsSentence bool
	// Remedy is the fix; "" if it depends on another cluster, or no fix is known.
	Remedy command.Prose
	// ChangesObject is whether Remedy is first of all to change the refused object.
	ChangesObject bool
	// Waits is whether the refusal passes by itself.
	Waits bool
	// Untried is whether the object was not judged.
	Untried bool
}

// DefaultAccount is the ServiceAccount of Pods that name none.
const DefaultAccount = "default"

// ExceededQuota matches an error of the quota plugin: the name of the quota, and the lists of
// requested, used and limited resources, for Quantities (apiserver:
// pkg/admission/plugin/resourcequota/controller.go).
var ExceededQuota = regexp.MustCompile(`^exceeded quota: ([^,\s]+), requested: (.*), used: (.*), limited: (.*)$`)

// plugin is a kind of answer with which an admission plugin refuses an object.
type plugin struct {
	// pattern matches the text after "is forbidden: ".
	pattern *regexp.Regexp
	// describe fills in a Refusal from the match.
	describe func(r *Refusal, m []string)
}

// Of explains a refusal. text is the error after "is forbidden: ".
func (t *Target) Of(text string) (r Refusal, ok bool) {
	for _, p := range t.plugins() {
		if m := p.pattern.FindStringSubmatch(text); m != nil {
			p.describe(&r, m)
			return r, true
		}
	}
	return r, false
}

// Unknown returns the refusal by an unknown plugin or policy.
func (t *Target) Unknown(text string) Refusal {
	return Refusal{
		IsSentence: true, ChangesObject: true, Message: fmt.Sprintf("the API server rejects %s: %s", t.Rejected, text),
		Remedy: t.changeOr(command.Say("change the %s so that it is accepted", t.Subject), "ask an administrator to change the policy"),
	}
}

// InEvent explains the refusal of Pods by the message of a controller's event. ok is false if the message
// reports a failure that is not a rejection.
func (t *Target) InEvent(message string) (r Refusal, ok bool) {
	text, isRejection := message, rejection.MatchString(message)
	if prefix := forbidden.FindStringIndex(message); prefix != nil {
		text, isRejection = message[prefix[1]:], true
	}
	if r, ok := t.Of(text); ok {
		return r, true
	}
	if !isRejection {
		return r, false
	}
	return t.Unknown(text), true
}

// forbidden matches what an API server puts before an error about a Pod. Controllers may put more before it.
var forbidden = regexp.MustCompile(`pods? "[^"]*" is forbidden: `)

// rejection matches other errors with which an API server rejects a Pod for good.
var rejection = regexp.MustCompile(`\bPod "[^"]*" is invalid: |\bdenied the request\b`)

// Errors of Kubernetes' own admission plugins, besides ExceededQuota (kubernetes: plugin/pkg/admission; apiserver:
// pkg/admission/plugin; pod-security-admission: admission/admission.go).
var (
	missingAccount  = regexp.MustCompile(`^error looking up service account \S+/([^\s:/]+): .*not found`)
	missingPriority = regexp.MustCompile(`^no PriorityClass with name (\S+) was found`)
	missingRuntime  = regexp.MustCompile(`^pod rejected: RuntimeClass "([^"]+)" not found`)
	unlimited       = regexp.MustCompile(`^failed quota: ([^:\s]+): (.*)$`)
	uncountedQuota  = regexp.MustCompile(`^status unknown for quota: ([^,\s]+)`)
	violatedLevel   = regexp.MustCompile(`^violates PodSecurity "([^"]+)": (.*)$`)
	endingNamespace = regexp.MustCompile(`^unable to create new content in namespace (\S+) because it is being terminated`)
	limitRange      = regexp.MustCompile(`^\[?(?:(?:minimum|maximum) .* usage per |.* limit to request ratio per ).*$`)
	webhook         = regexp.MustCompile(`^admission webhook "([^"]+)" denied the request:? ?(.*)$`)
)

// plugins explain the errors of Kubernetes' own admission plugins.
func (t *Target) plugins() []plugin {
	of := func(r *Refusal, kind, namespace, name, format string, arguments ...any) {
		r.Kind, r.Namespace, r.Name, r.Message = kind, namespace, name, fmt.Sprintf(format, arguments...)
	}
	return []plugin{
		{missingAccount, func(r *Refusal, m []string) {
			of(r, "ServiceAccount", t.Namespace, m[1], "does not exist, and the Pods run as it")
			create := t.kubectl(t.Namespace, "create", "serviceaccount", m[1])
			r.Remedy = command.Say("create the ServiceAccount: %s", create)
			// The controller has had time for the Pods of a submitted object.
			if m[1] == DefaultAccount && t.Again == "" {
				r.Message = "does not exist yet, and the Pods run as it"
				r.Remedy = command.Say("try again in a moment: a controller creates it in every new namespace; if none does on %s: %s", t.Context, create)
			}
		}},
		{missingPriority, func(r *Refusal, m []string) {
			of(r, "PriorityClass", "", m[1], "does not exist, and the Pods name it")
		}},
		{missingRuntime, func(r *Refusal, m []string) {
			of(r, "RuntimeClass", "", m[1], "does not exist, and the Pods name it")
		}},
		{ExceededQuota, func(r *Refusal, m []string) {
			of(r, "ResourceQuota", t.Namespace, m[1], "is exhausted: requested %s, used %s, limited to %s", m[2], m[3], m[4])
			show := t.kubectl(t.Namespace, "describe", "resourcequota", m[1])
			r.Remedy = t.changeOr("request less", command.Say("have the quota raised: %s", show))
			// Pods are retried until they fit, a Job is not.
			if t.ArePods && fitsAlone(m[2], m[4]) {
				r.Waits = true
				r.Message += "; the Pods wait until quota is free"
				r.Remedy = command.Say("raise ResourceQuota %s in namespace %s of %s, or free what it counts: %s", m[1], t.Namespace, t.Context, show)
			}
		}},
		{unlimited, func(r *Refusal, m []string) {
			of(r, "ResourceQuota", t.Namespace, m[1], "rejects these Pods: %s", m[2])
			r.Remedy = t.changeOr(command.Say("set that for every container of the %s", t.Subject),
				command.Say("have a LimitRange set it: %s", t.kubectl(t.Namespace, "describe", "resourcequota", m[1])))
		}},
		{uncountedQuota, func(r *Refusal, m []string) {
			of(r, "ResourceQuota", t.Namespace, m[1], "cannot be checked: its controller has not counted it yet")
			r.Waits, r.Untried = true, true
		}},
		{violatedLevel, func(r *Refusal, m []string) {
			of(r, "Namespace", "", t.Namespace, "accepts only Pods of the PodSecurity level %s: %s", m[1], m[2])
			r.ChangesObject = true
			r.Remedy = t.changeOr(command.Say("set the named fields in the %s, or choose another namespace", t.Subject), t.allowPods(m[1], m[2]))
		}},
		{endingNamespace, func(r *Refusal, m []string) {
			of(r, "Namespace", "", m[1], "is being deleted")
			r.Remedy = command.Say("wait until it is deleted: %s, then create the namespace again, or choose another namespace", t.kubectl("", "wait", "--for=delete", "namespace", m[1]))
		}},
		{limitRange, func(r *Refusal, m []string) {
			r.IsSentence, r.Message = true, fmt.Sprintf("a LimitRange rejects %s: %s", t.Rejected, strings.Trim(m[0], "[]"))
			r.Remedy = t.change(command.Say("request amounts within its limits: %s", t.kubectl(t.Namespace, "describe", "limitranges")))
		}},
		{webhook, func(r *Refusal, m []string) {
			r.IsSentence, r.ChangesObject = true, true
			r.Message = fmt.Sprintf("the admission webhook %s refuses %s: %s", m[1], t.Rejected, m[2])
			r.Remedy = command.Say("%s; ask the webhook's administrator what it requires", t.change(command.Say("change the %s so that the webhook accepts it", t.Subject)))
		}},
	}
}

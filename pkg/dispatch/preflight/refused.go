package preflight

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/refusal"
)

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
	target := refusal.Target{
		Context: p.Context, Namespace: o.GetNamespace(), Subject: subject(o), Rejected: rejected, ArePods: about == thePods(), Pod: podOf(o),
	}
	r, isKnown := target.Of(text)
	switch {
	case isKnown && r.Kind == "ServiceAccount":
		if wrong := p.invalidName(r.Kind, r.Namespace, r.Name, "the Pods' template"); wrong != nil {
			return wrong
		}
	case !isKnown && !kubecontext.IsRejection(err):
		// Missing connections are handled above: a proxy or the server failed, and did not judge the object.
		return []Problem{{
			Context: p.Context, Blocking: true, Untried: true, Object: about, IsSentence: true,
			Message: fmt.Sprintf("the API server cannot try %s: %s", rejected, text), Remedy: "try again",
		}}
	case !isKnown:
		r = target.Unknown(text)
	}
	found := Problem{
		Context: p.Context, Blocking: !r.Waits, Untried: r.Untried, Object: about, Message: r.Message, IsSentence: r.IsSentence, Remedy: r.Remedy, ChangesObject: r.ChangesObject,
	}
	if r.Kind != "" {
		found.Object = named(r.Kind, r.Namespace, r.Name)
	}
	return []Problem{found}
}

// podOf returns the Pod that an object is, nil if it is none or invalid.
func podOf(o *unstructured.Unstructured) *corev1.PodTemplateSpec {
	pod := &corev1.Pod{}
	if o.GetKind() != "Pod" || runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, pod) != nil {
		return nil
	}
	return &corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec}
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

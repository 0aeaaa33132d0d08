package kubecontext

import (
	"errors"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// IsAnswer reports whether an error is an answer of an API server or a kubelet, and not a missing
// answer.
func IsAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// IsRefused reports whether a server refuses a request because of who sends it: the user lacks the
// right, or the server does not accept the credentials.
func IsRefused(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// Denial is what an API server says about a right that a user lacks.
type Denial struct {
	User, Verb string
	// Group and Resource are, for example, "batch" and "jobs/status". Resource is "" if the server
	// does not name it.
	Group, Resource string
	// Namespace is "" for a right on the whole cluster, or if the server does not name it.
	Namespace string
	// IsEverywhere is whether the server says that the right is on the whole cluster.
	IsEverywhere bool
}

// The parts of a denial (k8s.io/apiserver/pkg/endpoints/handlers/responsewriters, ForbiddenMessage).
const (
	deniedUser     = `\bUser "([^"]*)" cannot ([a-z]+)`
	deniedResource = ` resource "([^"]*)" in API group "([^"]*)"(?: (at the cluster scope)| in the namespace "([^"]*)")?`
)

var denial = regexp.MustCompile(deniedUser + `(?:` + deniedResource + `)?`)

// DenialIn returns the first denial in a text; ok is false if it has none.
func DenialIn(text string) (d Denial, ok bool) {
	m := denial.FindStringSubmatch(text)
	if m == nil {
		return Denial{}, false
	}
	return Denial{User: m[1], Verb: m[2], Resource: m[3], Group: m[4], IsEverywhere: m[5] != "", Namespace: m[6]}, true
}

// DenialOf returns the denial with which a server answered; ok is false if it denied no right. The
// text of an *Error has it in other words.
func DenialOf(err error) (d Denial, ok bool) {
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(err) || !errors.As(err, &status) {
		return Denial{}, false
	}
	return DenialIn(status.Status().Message)
}

// ownDenial matches a denial at the beginning of an answer, where only the authorizer puts it.
var ownDenial = regexp.MustCompile(`^(?:[^\s:]+(?: "[^"]*")? is )?forbidden: ` + deniedUser)

// IsRightMissing reports whether an API server denies a request because the user lacks the right.
// Admission denies objects with the same reason, in its own words.
func IsRightMissing(err error) bool {
	var status apierrors.APIStatus
	return apierrors.IsForbidden(err) && errors.As(err, &status) && ownDenial.MatchString(status.Status().Message)
}

// ownForbidden matches how an API server forbids something: with the resource or the webhook in front. The
// 403 of a proxy has another text.
var ownForbidden = regexp.MustCompile(`^admission webhook "|\bforbidden: `)

// IsRejection reports whether an API server rejects a request for good: no proxy answered instead of it, it
// accepts the credentials, and nothing that it needs for its decision failed.
func IsRejection(err error) bool {
	var status apierrors.APIStatus
	switch {
	case !errors.As(err, &status), apierrors.IsUnexpectedServerError(err), apierrors.IsUnauthorized(err), apierrors.IsMethodNotSupported(err):
		return false
	case apierrors.IsForbidden(err):
		return ownForbidden.MatchString(status.Status().Message)
	}
	return !IsConnection(err) && !IsUnclear(err) && !IsUnserved(err)
}

// refusal matches a denial with the request in front.
var refusal = regexp.MustCompile(`(?:\b(?:list|get|watch) [^\s:]+(?: "[^"]*")?: )?[^\s:]+(?: "[^"]*")? is forbidden: ` + deniedUser + deniedResource)

// IsDryRunUnsupported reports whether a webhook does not support dry runs, which says nothing about
// the real request (apiserver: pkg/admission/plugin/webhook/errors).
func IsDryRunUnsupported(err error) bool {
	return apierrors.IsBadRequest(err) && strings.Contains(err.Error(), "does not support dry run")
}

// failedWebhook matches how an API server says that a webhook gave no answer (apiserver:
// pkg/admission/plugin/webhook/errors).
var failedWebhook = regexp.MustCompile(`failed calling webhook "([^"]+)": (?:failed to call webhook: )?(.*)`)

// FailedWebhook returns the webhook without whose answer an API server accepts no object, and why
// it gave none; "" if the error has another cause. The object itself may be valid.
func FailedWebhook(err error) (webhook, cause string) {
	m := failedWebhook.FindStringSubmatch(strings.TrimSuffix(Objection(err), "."))
	if m == nil {
		return "", ""
	}
	return m[1], m[2]
}

// ResourceName returns a resource as kubectl names it. A subresource stays behind the group: "pods/log",
// "jobs.batch/status".
func ResourceName(r schema.GroupResource) string {
	resource, subresource, _ := strings.Cut(r.Resource, "/")
	name := schema.GroupResource{Group: r.Group, Resource: resource}.String()
	if subresource != "" {
		name += "/" + subresource
	}
	return name
}

// ShortRefusals shortens what API servers say about missing rights, wherever it is in a text: "dev may not
// list jobs.batch in namespace ml".
func ShortRefusals(text string) string {
	return refusal.ReplaceAllStringFunc(text, func(whole string) string {
		d, _ := DenialIn(whole)
		short := d.User + " may not " + d.Verb + " " + ResourceName(schema.GroupResource{Group: d.Group, Resource: d.Resource})
		switch {
		case d.Namespace != "":
			short += " in namespace " + d.Namespace
		// API servers deny "at the cluster scope" cluster-scoped resources, and others in all namespaces.
		case d.IsEverywhere && d.Verb != "get" && !delegation.IsClusterScoped(d.Resource):
			short += " in all namespaces"
		}
		return short
	})
}

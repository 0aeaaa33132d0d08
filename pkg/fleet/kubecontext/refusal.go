package kubecontext

import (
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// refusal matches how an API server says that a user lacks a right, with the request in front
// (k8s.io/apiserver/pkg/endpoints/handlers/responsewriters, ForbiddenMessage).
var refusal = regexp.MustCompile(`(?:\b(?:list|get|watch) [^\s:]+(?: "[^"]*")?: )?[^\s:]+(?: "[^"]*")? is forbidden: ` +
	`User "([^"]*)" cannot ([a-z]+) resource "([^"]*)" in API group "([^"]*)"(?: (at the cluster scope)| in the namespace "([^"]*)")?`)

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

// ShortRefusals shortens what API servers say about missing rights, wherever it is in a text: "dev may not
// list jobs.batch in namespace ml".
func ShortRefusals(text string) string {
	return refusal.ReplaceAllStringFunc(text, func(whole string) string {
		m := refusal.FindStringSubmatch(whole)
		user, verb, resource, group, isEverywhere, namespace := m[1], m[2], m[3], m[4], m[5] != "", m[6]
		// A subresource stays behind its resource: "pods/log", "jobs.batch/status".
		resource, sub, hasSub := strings.Cut(resource, "/")
		if group != "" {
			resource += "." + group
		}
		if hasSub {
			resource += "/" + sub
		}
		short := user + " may not " + verb + " " + resource
		switch {
		case namespace != "":
			short += " in namespace " + namespace
		case isEverywhere && verb != "get":
			short += " in all namespaces"
		}
		return short
	})
}

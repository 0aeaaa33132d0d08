package preflight

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

func TestRefused(t *testing.T) {
	pod, job, onHost := &unstructured.Unstructured{}, &unstructured.Unstructured{}, &unstructured.Unstructured{}
	for o, kind := range map[*unstructured.Unstructured]string{pod: "Pod", job: "Job", onHost: "Pod"} {
		o.SetKind(kind)
		o.SetNamespace("ml")
		o.SetName("train")
	}
	container := []any{map[string]any{"name": "main"}}
	pod.Object["spec"] = map[string]any{"containers": container}
	onHost.Object["spec"] = map[string]any{"containers": container, "hostNetwork": true}
	forbidden := func(text string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "train-", errors.New(text))
	}
	for _, c := range []struct {
		name   string
		of     *unstructured.Unstructured
		err    error
		blocks bool
		object string
		// message and remedy are substrings.
		message, remedy string
	}{
		{
			"service account", pod, forbidden(`error looking up service account ml/robot: serviceaccount "robot" not found`),
			true, "ServiceAccount ml/robot", "does not exist", "kubectl --context 'a b' -n ml create serviceaccount robot",
		},
		{
			"the service account that every namespace gets", pod, forbidden(`error looking up service account ml/default: serviceaccount "default" not found`),
			true, "ServiceAccount ml/default", "does not exist yet", "try again in a moment",
		},
		{"priority class", pod, forbidden("no PriorityClass with name high was found"), true, "PriorityClass high", "does not exist", ""},
		{"runtime class", pod, forbidden(`pod rejected: RuntimeClass "gvisor" not found`), true, "RuntimeClass gvisor", "does not exist", ""},
		{
			"quota that is used up", pod, forbidden("exceeded quota: team, requested: pods=1,requests.cpu=2, used: pods=9,requests.cpu=19, limited: pods=9,requests.cpu=20"),
			false, "ResourceQuota ml/team", "the Pods wait", "describe resourcequota team",
		},
		{
			"quota that is too small", pod, forbidden("exceeded quota: team, requested: requests.nvidia.com/gpu=8, used: requests.nvidia.com/gpu=0, limited: requests.nvidia.com/gpu=4"),
			true, "ResourceQuota ml/team", "requested requests.nvidia.com/gpu=8, used requests.nvidia.com/gpu=0, limited to requests.nvidia.com/gpu=4", "describe resourcequota team",
		},
		{
			"quota of Jobs that is used up", job, forbidden("exceeded quota: team, requested: count/jobs.batch=1, used: count/jobs.batch=4, limited: count/jobs.batch=4"),
			true, "ResourceQuota ml/team", "is exhausted", "describe resourcequota team",
		},
		{
			"quota that wants limits", pod, forbidden("failed quota: team: must specify limits.cpu for: main; limits.memory for: main"),
			true, "ResourceQuota ml/team", "must specify limits.cpu for: main; limits.memory for: main", "describe resourcequota team",
		},
		{"quota that is not counted yet", pod, forbidden("status unknown for quota: team, resources: cpu"), false, "ResourceQuota ml/team", "cannot be checked", ""},
		{
			"pod security", pod, forbidden(`violates PodSecurity "restricted:latest": runAsNonRoot != true (pod or container "main" must set securityContext.runAsNonRoot=true)`),
			true, "Namespace ml", "level restricted:latest: runAsNonRoot != true", "allow Pods of level baseline there: `kubectl --context 'a b' label --overwrite namespace ml pod-security.kubernetes.io/enforce=baseline`",
		},
		{
			"pod security, and Pods that only the widest level allows", onHost, forbidden(`violates PodSecurity "baseline:v1.30": host namespaces (hostNetwork=true)`),
			true, "Namespace ml", "level baseline:v1.30: host namespaces", "or ask the administrator of the namespace to allow such Pods",
		},
		{
			"pod security, and a Pod that a webhook changed", pod, forbidden(`violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)`),
			true, "Namespace ml", "level baseline:latest: host namespaces", "or ask the administrator of the namespace to allow such Pods",
		},
		{
			"a proxy's 502", pod, apierrors.NewGenericServerResponse(http.StatusBadGateway, "POST", schema.GroupResource{Resource: "pods"}, "", "bad gateway", 0, true),
			true, "the Pods", `the API server cannot try the Pods: an error on the server ("bad gateway") has prevented the request from succeeding`, "try again",
		},
		{
			"a webhook that refuses with code 500", job, &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusInternalServerError, Message: `admission webhook "policy.example.com" denied the request: no team label`}},
			true, "", "the admission webhook policy.example.com refuses the Job: no team label", "change the Job so that the webhook accepts it",
		},
		{
			"limit range", pod, forbidden("[minimum cpu usage per Container is 100m, but request is 10m, maximum memory usage per Pod is 1Gi, but limit is 2Gi]"),
			true, "the Pods", "a LimitRange rejects the Pods: minimum cpu usage per Container is 100m, but request is 10m, maximum memory", "describe limitranges",
		},
		{
			"webhook", pod, apierrors.NewBadRequest(`admission webhook "policy.example.com" denied the request: no team label`),
			true, "the Pods", "the admission webhook policy.example.com refuses the Pods: no team label", "",
		},
		{
			"webhook without dry run", job, apierrors.NewBadRequest(`admission webhook "old.example.com" does not support dry run`),
			false, "", "cannot be tried: admission webhook", "",
		},
		{
			"webhook that does not answer", pod, apierrors.NewInternalError(errors.New(`failed calling webhook "policy.example.com": connection refused`)),
			true, "the Pods", "the API server cannot try the Pods: webhook policy.example.com fails: connection refused",
			"try again, or check that webhook policy.example.com runs: `kubectl --context 'a b' get validatingwebhookconfigurations",
		},
		{
			"Kueue's webhook that does not answer", job, apierrors.NewInternalError(errors.New(`failed calling webhook "mjob.kb.io": failed to call webhook: Post "https://kueue/mutate": EOF`)),
			true, "", `the API server cannot try the Job: Kueue fails: Post "https://kueue/mutate": EOF`, "check that Kueue runs: `kubectl --context 'a b' get deployments,pods -A",
		},
		{
			"policy", job, apierrors.NewInvalid(schema.GroupKind{Kind: "Job"}, "train", field.ErrorList{field.Invalid(field.NewPath("spec", "backoffLimit"), -1, "must not be negative")}),
			true, "", "the API server rejects the Job: spec.backoffLimit: Invalid value: -1: must not be negative", "",
		},
		{"unknown text", pod, forbidden("it is Friday"), true, "the Pods", "the API server rejects the Pods: it is Friday", ""},
		{
			"namespace is ending", job, forbidden("unable to create new content in namespace ml because it is being terminated"),
			true, "Namespace ml", "is being deleted", "wait --for=delete namespace ml",
		},
		{
			"no namespace", job, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ml"),
			true, "Namespace ml", "does not exist", "kubectl --context 'a b' create namespace ml",
		},
		{"timeout", pod, context.DeadlineExceeded, false, "the Pods", "cannot be checked: context deadline exceeded", ""},
		{
			"no connection", job, &url.Error{Op: "Post", URL: "https://server", Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}},
			false, "", "cannot be checked: dial: connection refused", "",
		},
		{"too busy", job, apierrors.NewTooManyRequestsError("later"), false, "", "later", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := Probe{Cluster: &fleet.Cluster{Context: "a b"}}.Refused(c.of, c.err)
			assert.Equal(t, len(found), 1)
			p := found[0]
			assert.Equal(t, p.Blocking, c.blocks, "%+v", p)
			assert.Equal(t, p.Object.String(), c.object, "%+v", p)
			assert.Equal(t, p.Context, "a b")
			assert.Assert(t, strings.Contains(p.Message, c.message) && strings.Contains(string(p.Remedy), c.remedy), "%+v", p)
		})
	}
}

func TestUnknownFields(t *testing.T) {
	strict := apierrors.NewBadRequest(`Job in version "v1" cannot be handled as a Job: strict decoding error: unknown field "spec.managedBy", duplicate field "spec.template.spec.containers[0].image"`)
	assert.DeepEqual(t, unknownFields(strict), []string{"spec.managedBy", "spec.template.spec.containers[0].image"})
	assert.Assert(t, unknownFields(nil) == nil)
	assert.Assert(t, unknownFields(apierrors.NewBadRequest(`unknown field "a"`)) == nil)
}

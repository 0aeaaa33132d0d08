package doctor

import (
	"errors"
	"net/http"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/probe"
)

func objectOf(kind string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}}
	o.SetNamespace("ml")
	o.SetName("jobs-managedby-probe-x")
	return o
}

// TestAddTrial checks that only a refusal makes a worker unusable, and that nothing suggests to remove a worker
// that may run Jobs.
func TestAddTrial(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	forbidden := func(text string) error { return apierrors.NewForbidden(pods, "x", errors.New(text)) }
	// Webhooks answer without details (controller-runtime: pkg/webhook/admission, Denied).
	webhook := func(text string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
			Message: `admission webhook "policy.example" denied the request: ` + text,
		}}
	}
	hangs := apierrors.NewInternalError(errors.New(`failed calling webhook "policy.example": failed to call webhook: context deadline exceeded`))
	quota := "exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0"
	for name, tt := range map[string]struct {
		mirror, pod     error
		verdict         inspect.Verdict
		message, remedy string
	}{
		"accepted": {nil, nil, inspect.Fits, "", ""},
		"a webhook that hangs": {
			hangs, nil, inspect.Unknown, "the API server cannot try the Job: webhook policy.example fails: context deadline exceeded",
			"try again, or check that webhook policy.example runs: `kubectl --context w1 get validatingwebhookconfigurations,mutatingwebhookconfigurations`",
		},
		"a webhook without dry runs": {
			nil, apierrors.NewBadRequest("admission webhook \"old.example\" does not support dry run"), inspect.Unknown,
			"the Pods cannot be tried: admission webhook \"old.example\" does not support dry run", "",
		},
		"a proxy's 404": {
			nil, apierrors.NewGenericServerResponse(http.StatusNotFound, "POST", pods, "", "page not found", 0, true), inspect.Unknown,
			"the Pods cannot be checked: the server could not find the requested resource (post pods)", "",
		},
		"a proxy's 502": {
			nil, apierrors.NewGenericServerResponse(http.StatusBadGateway, "POST", pods, "", "bad gateway", 0, true), inspect.Unknown,
			`the API server cannot try the Pods: an error on the server ("bad gateway") has prevented the request from succeeding (post pods)`, "try again",
		},
		"no right": {
			nil, apierrors.NewForbidden(pods, "", errors.New(`User "dev" cannot create resource "pods" in API group "" in the namespace "ml"`)), inspect.Unknown,
			"the Pods cannot be checked: you may not create pods there", "",
		},
		"no namespace": {
			apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ml"), nil, inspect.Never, "Namespace ml does not exist",
			"`kubectl --context w1 create namespace ml`",
		},
		"a policy": {
			nil, forbidden("it is Friday"), inspect.Never, "the API server rejects the Pods: it is Friday",
			"change the policy or webhook on w1 that rejects it",
		},
		"a webhook that refuses": {
			apierrors.NewBadRequest(`admission webhook "policy.example" denied the request: no team label`), nil, inspect.Never,
			"the admission webhook policy.example refuses the Job: no team label", "change the policy or webhook on w1 that rejects it",
		},
		"a webhook that forbids": {
			webhook("no team label"), nil, inspect.Never,
			"the admission webhook policy.example refuses the Job: no team label", "change the policy or webhook on w1 that rejects it",
		},
		"a webhook that quotes a right": {
			webhook(`User "dev" cannot create Jobs`), nil, inspect.Never,
			`the admission webhook policy.example refuses the Job: User "dev" cannot create Jobs`, "change the policy or webhook on w1 that rejects it",
		},
		"a proxy's 403": {
			nil, apierrors.NewGenericServerResponse(http.StatusForbidden, "POST", pods, "", "log in first", 0, true), inspect.Unknown,
			"the API server cannot try the Pods: log in first (post pods)", "try again",
		},
		"PodSecurity": {
			nil, forbidden(`violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)`), inspect.Never,
			"Namespace ml accepts only Pods of the PodSecurity level baseline:latest: host namespaces (hostNetwork=true)",
			"change the policy or webhook on w1 that rejects it",
		},
		"a LimitRange": {
			nil, forbidden("minimum cpu usage per Container is 100m, but request is 10m"), inspect.Never,
			"a LimitRange rejects the Pods: minimum cpu usage per Container is 100m, but request is 10m",
			"request amounts within its limits: `kubectl --context w1 -n ml describe limitranges`",
		},
		"a quota that is too small": {
			nil, forbidden(quota), inspect.Never, "ResourceQuota ml/none is exhausted: requested pods=1, used pods=0, limited to pods=0",
			"request less, or have the quota raised: `kubectl --context w1 -n ml describe resourcequota none`",
		},
		"a quota in use": {
			nil, forbidden("exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"), inspect.Waits,
			"ResourceQuota ml/q is exhausted: requested pods=1, used pods=1, limited to pods=1; the Pods wait until quota is free",
			"raise ResourceQuota q in namespace ml of w1, or free what it counts: `kubectl --context w1 -n ml describe resourcequota q`",
		},
		"a refusal after a question": {
			hangs, forbidden("it is Friday"), inspect.Never, "the API server rejects the Pods: it is Friday",
			"change the policy or webhook on w1 that rejects it",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := inspect.ProbeWorker{Context: "w1", Verdict: inspect.Fits}
			addTrial(&w, objections(&fleet.Cluster{Context: "w1"}, probe.Trial{
				Mirror: probe.Attempt{Object: objectOf("Job"), Err: tt.mirror}, Pod: probe.Attempt{Object: objectOf("Pod"), Err: tt.pod},
			}))
			assert.DeepEqual(t, w, inspect.ProbeWorker{Context: "w1", Verdict: tt.verdict, Message: tt.message, Remedy: tt.remedy})
		})
	}
}

// TestLeftoverNotes checks that a Job of an earlier probe that could not be removed is named, with the reason, and that a
// cluster without a part in the probe is named only for such a Job.
func TestLeftoverNotes(t *testing.T) {
	denied := apierrors.NewForbidden(schema.GroupResource{Group: "batch", Resource: "jobs"}, "x", errors.New(`User "dev" cannot delete resource "jobs" in API group "batch" in the namespace "ml"`))
	conflict := &apierrors.StatusError{ErrStatus: metav1.Status{Message: "the server is stopping", Code: http.StatusInternalServerError}}
	job := []*unstructured.Unstructured{objectOf("Job")}
	for name, tt := range map[string]struct {
		involved string
		found    probe.Leftovers
		err      error
		want     []string
	}{
		"nothing":               {"w1", probe.Leftovers{}, nil, nil},
		"removed":               {"w1", probe.Leftovers{Removed: job}, nil, []string{`note: context "w1": removed Job ml/jobs-managedby-probe-x, left behind by an earlier probe`}},
		"no right to read them": {"w1", probe.Leftovers{}, denied, nil},
		"no right to delete":    {"w1", probe.Leftovers{Remaining: job}, denied, []string{`note: context "w1": cannot remove Job ml/jobs-managedby-probe-x, left behind by an earlier probe: dev may not delete jobs.batch in namespace ml`}},
		"unread":                {"w1", probe.Leftovers{}, conflict, []string{`note: context "w1": cannot check for Jobs of earlier probes: the server is stopping`}},
		"unread elsewhere":      {"w2", probe.Leftovers{}, conflict, nil},
		"remaining elsewhere":   {"w2", probe.Leftovers{Remaining: job}, conflict, []string{`note: context "w1": cannot remove Job ml/jobs-managedby-probe-x, left behind by an earlier probe: the server is stopping`}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.DeepEqual(t, leftoverNotes("w1", []string{tt.involved}, tt.found, tt.err), tt.want)
		})
	}
}

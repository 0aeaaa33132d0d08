package kubecontext

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestShortRefusals(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`list localqueues.kueue.x-k8s.io: localqueues.kueue.x-k8s.io is forbidden: User "dev" cannot list resource "localqueues" in API group "kueue.x-k8s.io" in the namespace "ml"`, "dev may not list localqueues.kueue.x-k8s.io in namespace ml"},
		{`get jobs.batch "sweep": jobs.batch "sweep" is forbidden: User "dev" cannot get resource "jobs" in API group "batch" in the namespace "ml"`, "dev may not get jobs.batch in namespace ml"},
		{`queues could not be read: jobs.batch is forbidden: User "dev" cannot list resource "jobs" in API group "batch" at the cluster scope`, "queues could not be read: dev may not list jobs.batch in all namespaces"},
		{`namespaces "ml" is forbidden: User "dev" cannot get resource "namespaces" in API group "" at the cluster scope`, "dev may not get namespaces"},
		{`namespaces is forbidden: User "ann" cannot list resource "namespaces" in API group "" at the cluster scope`, "ann may not list namespaces"},
		{`clusterqueues.kueue.x-k8s.io is forbidden: User "ann" cannot list resource "clusterqueues" in API group "kueue.x-k8s.io" at the cluster scope`, "ann may not list clusterqueues.kueue.x-k8s.io"},
		{`pods "a" is forbidden: User "dev" cannot get resource "pods/log" in API group "" in the namespace "ml": RBAC: role.rbac.authorization.k8s.io "x" not found`, `dev may not get pods/log in namespace ml: RBAC: role.rbac.authorization.k8s.io "x" not found`},
		{`jobs.batch is forbidden: User "dev" cannot patch resource "jobs/status" in API group "batch"`, "dev may not patch jobs.batch/status"},
		{`jobs.batch "small" is forbidden: exceeded quota: q`, `jobs.batch "small" is forbidden: exceeded quota: q`},
	} {
		assert.Equal(t, ShortRefusals(tt.text), tt.want)
	}
}

// TestRolesToAskFor checks that a user who lacks a right in a namespace is not sent for a right in the
// cluster.
func TestRolesToAskFor(t *testing.T) {
	for scope, want := range map[string]string{
		` in the namespace "ml"`: " in namespace ml. Roles to ask for, with a RoleBinding in namespace ml: https://",
		" at the cluster scope":  " in all namespaces. Roles to ask for: https://",
	} {
		denial := &apierrors.StatusError{ErrStatus: metav1.Status{
			Reason: metav1.StatusReasonForbidden, Message: `localqueues.kueue.x-k8s.io is forbidden: User "dev" cannot list resource "localqueues" in API group "kueue.x-k8s.io"` + scope,
		}}
		message := InContext("prod", "list localqueues", denial).Message()
		assert.Assert(t, strings.HasPrefix(message, "dev may not list localqueues.kueue.x-k8s.io"+want), message)
	}
}

// TestDenialIn checks what is known of a right that a user lacks, in any text that quotes the API server.
func TestDenialIn(t *testing.T) {
	for text, want := range map[string]Denial{
		`pods "a" is forbidden: User "dev" cannot get resource "pods/log" in API group "" in the namespace "ml"`: {User: "dev", Verb: "get", Resource: "pods/log", Namespace: "ml"},
		`failed to watch: User "m" cannot watch resource "jobs" in API group "batch" at the cluster scope`:       {User: "m", Verb: "watch", Group: "batch", Resource: "jobs", IsEverywhere: true},
		`forbidden: User "u" cannot get path "/version"`:                                                         {User: "u", Verb: "get"},
		`jobs.batch "small" is forbidden: exceeded quota: q`:                                                     {},
	} {
		denied, ok := DenialIn(text)
		assert.Equal(t, denied, want, text)
		assert.Equal(t, ok, want != Denial{}, text)
	}
}

// TestIsRejection checks that only the API server itself rejects a request, and that only the authorizer
// says that a right is missing.
func TestIsRejection(t *testing.T) {
	jobs := schema.GroupResource{Group: "batch", Resource: "jobs"}
	forbidden := func(text string) error {
		return &Error{Err: &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: text}}}
	}
	noRight := errors.New(`User "dev" cannot create resource "jobs" in API group "batch" in the namespace "ml"`)
	for name, tt := range map[string]struct {
		err                         error
		isRejection, isRightMissing bool
	}{
		"no right":              {apierrors.NewForbidden(jobs, "", noRight), true, true},
		"no right to a name":    {apierrors.NewForbidden(jobs, "train", noRight), true, true},
		"no right to a path":    {forbidden(`forbidden: User "u" cannot get path "/version"`), true, true},
		"a quota":               {apierrors.NewForbidden(jobs, "", errors.New("exceeded quota: q")), true, false},
		"a policy about rights": {apierrors.NewForbidden(jobs, "train", errors.New(`policy denied request: User "dev" cannot create Jobs`)), true, false},
		"a webhook":             {forbidden(`admission webhook "p" denied the request: User "dev" cannot create Jobs`), true, false},
		"invalid":               {apierrors.NewInvalid(schema.GroupKind{}, "train", nil), true, false},
		"a bad request":         {apierrors.NewBadRequest("no"), true, false},
		"a broken webhook":      {apierrors.NewInternalError(errors.New("failed calling webhook")), false, false},
		"a busy server":         {apierrors.NewTooManyRequests("later", 1), false, false},
		"no credentials":        {apierrors.NewUnauthorized("expired"), false, false},
		"a proxy's page":        {apierrors.NewGenericServerResponse(http.StatusForbidden, "POST", jobs, "", "log in", 0, true), false, false},
		"a proxy's status":      {forbidden("read only"), false, false},
		"a read-only server":    {apierrors.NewMethodNotSupported(jobs, "create"), false, false},
		"a proxy's 404":         {apierrors.NewGenericServerResponse(http.StatusNotFound, "POST", jobs, "", "", 0, true), false, false},
		"no answer":             {io.ErrUnexpectedEOF, false, false},
		"no error":              {nil, false, false},
	} {
		assert.Equal(t, IsRejection(tt.err), tt.isRejection, name)
		assert.Equal(t, IsRightMissing(tt.err), tt.isRightMissing, name)
	}
}

// TestRefusedAndAnswered checks that a refusal is about the user, and that any Status is an answer.
func TestRefusedAndAnswered(t *testing.T) {
	resource := schema.GroupResource{Resource: "pods"}
	for name, tt := range map[string]struct {
		err                 error
		isRefused, isAnswer bool
	}{
		"no right":       {apierrors.NewForbidden(resource, "", nil), true, true},
		"no credentials": {&Error{Err: apierrors.NewUnauthorized("expired")}, true, true},
		"another answer": {apierrors.NewNotFound(resource, "a"), false, true},
		"no answer":      {io.ErrUnexpectedEOF, false, false},
		"no error":       {nil, false, false},
	} {
		assert.Equal(t, IsRefused(tt.err), tt.isRefused, name)
		assert.Equal(t, IsAnswer(tt.err), tt.isAnswer, name)
	}
}

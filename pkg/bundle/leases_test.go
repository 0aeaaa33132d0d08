package bundle_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

const (
	leasesPath = "/apis/coordination.k8s.io/v1/leases"
	ourJob     = "- {apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: default, uid: u}, spec: {managedBy: jobmanagedby.github.io/dispatch}}\n"
	ourLease   = `- apiVersion: coordination.k8s.io/v1
  kind: Lease
  metadata: {name: jobs-managedby-a, namespace: default, labels: {jobmanagedby.github.io/origin-uid: u}, annotations: {note: PASSWORD},
    managedFields: [{manager: m, time: "2026-01-31T11:59:50Z", fieldsV1: {"f:spec": {}}}]}
  spec: {holderIdentity: alice@laptop, leaseDurationSeconds: 15, renewTime: "2026-01-31T11:59:50.000000Z"}
`
	freeLease = `- apiVersion: coordination.k8s.io/v1
  kind: Lease
  metadata: {name: jobs-managedby-b, namespace: default, labels: {jobmanagedby.github.io/origin-uid: v}}
  spec: {holderIdentity: "", leaseDurationSeconds: 1}
`
	foreignLease = "- {apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: node-1, namespace: kube-node-lease}, spec: {holderIdentity: node-1}}\n"
)

// TestLeases checks that only Leases of dispatched Jobs are kept, if there are such Jobs.
func TestLeases(t *testing.T) {
	all := bundle.Options{AllNamespaces: true}
	take := func(t *testing.T, b *bundle.Bundle, o bundle.Options) (text string, back *bundle.Bundle) {
		t.Helper()
		dir, back := again(t, b, clusters(t, b, fleet.Options{AllNamespaces: true}), o)
		twice, _ := again(t, back, clusters(t, back, fleet.Options{AllNamespaces: true}), o)
		assert.DeepEqual(t, texts(t, dir), texts(t, twice))
		return texts(t, dir)["snapshot.yaml"] + "\n" + texts(t, dir)["a.yaml"], back
	}
	t.Run("kept", func(t *testing.T) {
		text, back := take(t, one(t, "", kubeSystem+ourJob+ourLease+freeLease+foreignLease), all)
		_, value := ask(t, back, http.MethodGet, leasesPath)
		assert.Equal(t, names(value), "default/jobs-managedby-a default/jobs-managedby-b")
		assert.Equal(t, strings.Count(text, "holderIdentity: 'alice@laptop'\n"), 1, text)
		assert.Equal(t, strings.Count(text, "renewTime: '2026-01-31T11:59:50.000000Z'\n"), 1, text)
		assert.Assert(t, !strings.Contains(text, "fieldsV1"), "%s", text)
		assert.Equal(t, strings.Count(text, "2026-01-31T11:59:50Z"), 1, "managedFields must keep manager and time")
	})
	t.Run("redacted", func(t *testing.T) {
		text, _ := take(t, one(t, "", kubeSystem+ourJob+ourLease+freeLease), bundle.Options{AllNamespaces: true, Redact: true})
		assert.Assert(t, !strings.Contains(text, "alice") && !strings.Contains(text, "PASSWORD"), "%s", text)
		assert.Equal(t, strings.Count(text, "holderIdentity: REDACTED\n"), 1)
		assert.Equal(t, strings.Count(text, "holderIdentity: ''\n"), 1, "an empty holder must stay empty")
	})
	t.Run("none", func(t *testing.T) {
		text, back := take(t, one(t, "  served: [coordination.k8s.io/v1]\n", kubeSystem+ourJob), all)
		code, value := ask(t, back, http.MethodGet, leasesPath)
		assert.Equal(t, code, http.StatusOK)
		assert.Equal(t, names(value), "")
		assert.Assert(t, strings.Contains(text, "- coordination.k8s.io/v1\n"), "%s", text)
	})
	t.Run("not requested", func(t *testing.T) {
		var asked []string
		b := one(t, "  served: [coordination.k8s.io/v1]\n", kubeSystem+foreignLease+`
- {apiVersion: batch/v1, kind: Job, metadata: {name: a, namespace: default}}
`)
		contexts := intercept(b, func(r *http.Request) error {
			asked = append(asked, r.URL.Path)
			return nil
		})
		_, back := again(t, b, fleet.Open(t.Context(), contexts, fleet.Options{AllNamespaces: true}), all)
		assert.Assert(t, !slices.ContainsFunc(asked, func(path string) bool { return strings.Contains(path, "leases") }), "%s", asked)
		code, _ := ask(t, back, http.MethodGet, leasesPath)
		assert.Equal(t, code, http.StatusNotFound, "Leases must be unknown")
	})
	t.Run("older snapshot", func(t *testing.T) {
		text, back := take(t, one(t, "", kubeSystem+ourJob), all)
		code, _ := ask(t, back, http.MethodGet, leasesPath)
		assert.Equal(t, code, http.StatusNotFound, "Leases must be unknown, not absent")
		assert.Assert(t, !strings.Contains(text, "coordination"), "%s", text)
	})
	t.Run("forbidden", func(t *testing.T) {
		fields := "  served: [coordination.k8s.io/v1]\n  unread: [{resource: leases.coordination.k8s.io, status: {code: 403, reason: Forbidden, message: no leases}}]\n"
		text, back := take(t, one(t, fields, kubeSystem+ourJob), all)
		code, _ := ask(t, back, http.MethodGet, leasesPath)
		assert.Equal(t, code, http.StatusForbidden)
		assert.Assert(t, strings.Contains(text, "resource: leases.coordination.k8s.io\n"), "%s", text)
	})
	t.Run("in the one namespace that needs them", func(t *testing.T) {
		var asked []string
		b := one(t, "", kubeSystem+ourJob+ourLease+"- {apiVersion: batch/v1, kind: Job, metadata: {name: c, namespace: other}}\n")
		contexts := intercept(b, func(r *http.Request) error {
			if strings.HasSuffix(r.URL.Path, "/leases") {
				asked = append(asked, r.URL.Path)
			}
			return nil
		})
		again(t, b, fleet.Open(t.Context(), contexts, fleet.Options{AllNamespaces: true}), all)
		assert.DeepEqual(t, asked, []string{"/apis/coordination.k8s.io/v1/namespaces/default/leases"})
	})
}

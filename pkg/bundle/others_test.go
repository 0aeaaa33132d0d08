package bundle_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// TestOthers checks that omitted contexts are recorded by name only if a MultiKueueCluster points
// to them, and that the existence of others is recorded.
func TestOthers(t *testing.T) {
	kubeconfig := base64.StdEncoding.EncodeToString([]byte("clusters: [{name: w, cluster: {server: 'https://w.example'}}]"))
	b := one(t, "  ca: ca-of-a\n", kubeSystem+`
- {apiVersion: kueue.x-k8s.io/v1beta1, kind: MultiKueueCluster, metadata: {name: c}, spec: {kubeConfig: {location: s}}}
- {apiVersion: v1, kind: Secret, metadata: {name: s, namespace: kueue-system}, data: {kubeconfig: `+kubeconfig+`}}
`)
	self := b.Contexts()[0].Address()
	alias := kubecontext.Address{Context: "a", Server: "https://alias.example"}
	worker := kubecontext.Address{Context: "w", Server: "https://w.example:443/", CA: "ca-of-w"}
	stranger := kubecontext.Address{Context: "private", Server: "https://private.example", CA: "ca-of-p"}
	for _, tt := range []struct{ known, want []kubecontext.Address }{
		{known: []kubecontext.Address{self}},
		{known: []kubecontext.Address{self, alias, alias}, want: []kubecontext.Address{alias}},
		{known: []kubecontext.Address{self, worker}, want: []kubecontext.Address{worker, {}}},
		{known: []kubecontext.Address{self, stranger}, want: []kubecontext.Address{{}}},
		{known: []kubecontext.Address{self, {Context: "broken"}}, want: []kubecontext.Address{{}}},
	} {
		dir, back := again(t, b, clusters(t, b, fleet.Options{}), bundle.Options{Known: tt.known})
		assert.DeepEqual(t, back.Others(), tt.want)
		for _, text := range texts(t, dir) {
			assert.Assert(t, !strings.Contains(text, "private"))
		}
	}
}

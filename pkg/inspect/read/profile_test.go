package read_test

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// TestClusterProfile checks that the status of a ClusterProfile gives the server of a
// MultiKueueCluster.
func TestClusterProfile(t *testing.T) {
	const profile = "- {apiVersion: multicluster.x-k8s.io/v1alpha1, kind: ClusterProfile, metadata: {name: west, namespace: kueue-system}, status: %s}\n"
	const cluster = "- {apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueCluster, metadata: {name: west}, spec: {clusterSource: {clusterProfileRef: {name: west}}}}\n"
	at := func(provider, server string) string {
		return fmt.Sprintf("{name: %s, cluster: {server: %q, certificate-authority-data: Q0E=}}", provider, server)
	}
	for name, tt := range map[string]struct{ items, server string }{
		"there is none":          {"", ""},
		"one provider":           {fmt.Sprintf(profile, "{accessProviders: ["+at("oidc", "https://west:6443")+"]}"), "https://west:6443"},
		"by its older name":      {fmt.Sprintf(profile, "{credentialProviders: ["+at("oidc", "https://west:6443")+"]}"), "https://west:6443"},
		"two with one server":    {fmt.Sprintf(profile, "{accessProviders: ["+at("a", "https://west:6443")+", "+at("b", "https://west:6443/")+"]}"), "https://west:6443"},
		"two that disagree":      {fmt.Sprintf(profile, "{accessProviders: ["+at("a", "https://west:6443")+", "+at("b", "https://east:6443")+"]}"), ""},
		"nobody has reported it": {fmt.Sprintf(profile, "{}"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := recordedFleet(t, "", cluster+tt.items)
			v := read.Read(t.Context(), r.Fleet, read.Want{Capacity: true, Now: time.Now})
			f := v.Facts("hub")
			assert.Assert(t, f.Kueue != nil)
			assert.Equal(t, f.Kueue.Addresses["west"].Server, tt.server)
			assert.Equal(t, f.Kueue.Addresses["west"].CA != "", tt.server != "")
		})
	}
}

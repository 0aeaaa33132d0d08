package read_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// TestKubeconfigSecret checks that the Secret comes from Kueue's default namespace, otherwise is the
// only one of that name with a kubeconfig.
func TestKubeconfigSecret(t *testing.T) {
	secret := func(namespace, kubeconfig string) string {
		data := ""
		if kubeconfig != "" {
			data = fmt.Sprintf(", data: {kubeconfig: %q}", base64.StdEncoding.EncodeToString([]byte(kubeconfig)))
		}
		return fmt.Sprintf("- {apiVersion: v1, kind: Secret, metadata: {name: west, namespace: %s}%s}\n", namespace, data)
	}
	for _, tt := range []struct{ name, items, want string }{
		{"there is none", "", ""},
		{"where Kueue is by default", secret("other", "second") + secret("kueue-system", "first"), "first"},
		{"where Kueue is elsewhere", secret("other", "second") + secret("third", ""), "second"},
		{"two may be meant", secret("other", "second") + secret("third", "third"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := recordedFleet(t, "", tt.items)
			found, kubeconfig, err := read.KubeconfigSecret(t.Context(), r.Clusters()[0], "west")
			assert.NilError(t, err)
			assert.Equal(t, string(kubeconfig), tt.want)
			assert.Equal(t, found != nil, tt.want != "")
		})
	}
}

// TestKueueHome checks that commands name the namespace of Kueue, which has the Secrets of
// MultiKueueClusters.
func TestKueueHome(t *testing.T) {
	const cluster = "- {apiVersion: kueue.x-k8s.io/v1beta2, kind: MultiKueueCluster, metadata: {name: west}, spec: {clusterSource: {kubeConfig: {location: west, locationType: Secret}}}}\n"
	const secret = "- {apiVersion: v1, kind: Secret, metadata: {name: west, namespace: %s}, data: {kubeconfig: eDog}}\n"
	for namespace, items := range map[string]string{"kueue-system": "", "queues": fmt.Sprintf(secret, "queues")} {
		r := recordedFleet(t, "", cluster+items)
		v := read.Read(t.Context(), r.Fleet, read.Want{Capacity: true, Now: time.Now})
		home := v.Facts("hub").KueueHome()
		assert.Equal(t, home.ShowLogs("hub").Shell(), "kubectl --context hub -n "+namespace+" logs deployment/kueue-controller-manager")
		assert.Assert(t, strings.Contains(home.WriteSecret("hub", "west", "west.kubeconfig").Shell(), " -n "+namespace+" "))
	}
}

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

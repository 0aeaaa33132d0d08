package read_test

import (
	"encoding/base64"
	"fmt"
	"testing"

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

package preflight_test

import (
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/preflight"
)

// TestNeededBy checks that objects count once, and only if the Pods do not start without them.
func TestNeededBy(t *testing.T) {
	job := &unstructured.Unstructured{}
	assert.NilError(t, yaml.Unmarshal([]byte(`
apiVersion: batch/v1
kind: Job
spec:
  template:
    spec:
      serviceAccountName: robot
      imagePullSecrets: [{name: pull}]
      volumes:
      - {name: data, persistentVolumeClaim: {claimName: data}}
      - {name: a, configMap: {name: settings}}
      - {name: b, configMap: {name: extras, optional: true}}
      containers:
      - {name: main, envFrom: [{secretRef: {name: token}}, {configMapRef: {name: settings}}]}
`), job))
	var names []string
	for _, n := range preflight.NeededBy(delegation.Job(), job) {
		names = append(names, n.String()+" "+n.Resource().Resource)
	}
	assert.DeepEqual(t, names, []string{
		"ConfigMap settings configmaps", "Secret token secrets", "ServiceAccount robot serviceaccounts", "PersistentVolumeClaim data persistentvolumeclaims",
	})
}

package podfit_test

import (
	"testing"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	security "k8s.io/pod-security-admission/api"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// TestLowestLevel checks that Pods get no wider PodSecurity level than they need.
func TestLowestLevel(t *testing.T) {
	const (
		plain      = `{containers: [{name: c}]}`
		host       = `{hostNetwork: true, containers: [{name: c}]}`
		restricted = `{securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}},
 containers: [{name: c, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}}]}`
	)
	for _, tt := range []struct {
		pods []string
		want security.Level
	}{
		{[]string{restricted}, security.LevelRestricted},
		{[]string{plain}, security.LevelBaseline},
		{[]string{restricted, plain}, security.LevelBaseline},
		{[]string{plain, host}, security.LevelPrivileged},
	} {
		var all []*corev1.PodTemplateSpec
		for _, text := range tt.pods {
			pods := &corev1.PodTemplateSpec{}
			assert.NilError(t, yaml.Unmarshal([]byte(text), &pods.Spec))
			all = append(all, pods)
		}
		assert.Equal(t, podfit.LowestLevel(security.LatestVersion(), all...), tt.want, "%v", tt.pods)
	}
	assert.Equal(t, podfit.EnforceLabel(security.LevelBaseline), "pod-security.kubernetes.io/enforce=baseline")
}

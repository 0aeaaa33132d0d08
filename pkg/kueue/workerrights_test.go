package kueue

import (
	"testing"

	"gotest.tools/v3/assert"
)

func TestFrameworkResource(t *testing.T) {
	for name, want := range map[string]string{
		"batch/job": "jobs.batch", "pod": "pods.", "statefulset": "statefulsets.apps", "jobset.x-k8s.io/jobset": "jobsets.jobset.x-k8s.io",
		"PipelineRun.v1.tekton.dev": "pipelineruns.tekton.dev", "deployment": "", "unknown": "",
		"ray.io/raycluster": "rayclusters.ray.io", "workload.codeflare.dev/appwrapper": "appwrappers.workload.codeflare.dev",
	} {
		group, resource, ok := frameworkResource(name)
		got := ""
		if ok {
			got = resource + "." + group
		}
		assert.Equal(t, got, want, name)
	}
	grants := WorkerGrants([]string{"batch/job", "deployment"})
	assert.Equal(t, len(grants), 4)
	assert.Equal(t, grants[3].Resource, "jobs/status")
}

package kueue_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestIsLike checks that Workloads are equal if Kueue schedules them alike, whatever their Pods do.
func TestIsLike(t *testing.T) {
	workload := func(pod string) *kueue.Workload {
		var w kueue.Workload
		assert.NilError(t, yaml.Unmarshal(fmt.Appendf(nil, "{spec: {podSets: [{name: main, count: 1, template: {spec: %s}}]}}", pod), &w))
		return &w
	}
	one := workload("{containers: [{name: a, image: one, resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}}}]}")
	for pod, isLike := range map[string]bool{
		"{containers: [{name: b, image: two, args: [x], resources: {requests: {nvidia.com/gpu: 1}}}], volumes: [{name: v}], serviceAccountName: s}": true,
		"{containers: [{name: a, resources: {limits: {nvidia.com/gpu: 1}}}]}":                                                                       true,
		"{containers: [{name: a, resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2}}}]}":                                        true,
		"{containers: [{name: a, resources: {requests: {nvidia.com/gpu: 1}, limits: {cpu: 2}}}]}":                                                   false,
		"{containers: [{name: a, resources: {limits: {nvidia.com/gpu: 2}}}]}":                                                                       false,
		"{containers: [{name: a, resources: {requests: {nvidia.com/gpu: 2}}}]}":                                                                     false,
		"{containers: [{name: a, resources: {requests: {nvidia.com/gpu: 1}}}], nodeSelector: {zone: a}}":                                            false,
		"{containers: [{name: a, resources: {requests: {nvidia.com/gpu: 1}}}], initContainers: [{name: a}]}":                                        false,
	} {
		assert.Equal(t, one.IsLike(workload(pod)), isLike, pod)
	}
}

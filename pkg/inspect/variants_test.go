package inspect

import (
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestWhoseWorkloads checks that the label job-uid does not always name the Job of a Workload.
func TestWhoseWorkloads(t *testing.T) {
	owned := func(apiVersion, kind string, controls bool) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "o", UID: "uid-of-owner", Controller: &controls}}
	}
	for name, tt := range map[string]struct {
		owners []metav1.OwnerReference
		label  string
		want   string
	}{
		"a Job's":                              {owned("batch/v1", "Job", true), "labelled", "labelled"},
		"a Job's, of before there was a label": {owned("batch/v1", "Job", true), "", "uid-of-owner"},
		"whose owner is gone":                  {nil, "labelled", "labelled"},
		"a variant of another Workload":        {owned("kueue.x-k8s.io/v1beta2", "Workload", true), "labelled", ""},
		"another API's Workload is no parent":  {owned("scheduling.k8s.io/v1beta1", "Workload", true), "labelled", "labelled"},
		"a pod's, with its Deployment's uid":   {owned("v1", "Pod", true), "labelled", "uid-of-owner"},
		"a group of pods'":                     {owned("v1", "Pod", false), "labelled", ""},
		"nobody's":                             {nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "w", OwnerReferences: tt.owners, Labels: map[string]string{}}}
			if tt.label != "" {
				w.Labels[delegation.JobUIDLabel] = tt.label
			}
			assert.Equal(t, jobUID(w), tt.want)
		})
	}
}

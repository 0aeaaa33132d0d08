package bundle_test

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// TestNotRecorded checks that a resource that a snapshot lacks is recognized by the cause of the error,
// not by its words.
func TestNotRecorded(t *testing.T) {
	hub := clusters(t, one(t, "", objects), fleet.Options{}).Clusters()[0]
	cohorts := schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "cohorts"}
	err := fleet.EachObject(t.Context(), hub, cohorts, "", metav1.ListOptions{}, func(map[string]any) {})
	missing, isSnapshot := kubecontext.NotRecorded(kubecontext.InContext("hub", "list cohorts", err))
	assert.Assert(t, isSnapshot, "%v", err)
	assert.Equal(t, missing, "cohorts.kueue.x-k8s.io")
	_, isSnapshot = kubecontext.NotRecorded(errors.New("the snapshot lacks cohorts.kueue.x-k8s.io; record it again"))
	assert.Assert(t, !isSnapshot)
}

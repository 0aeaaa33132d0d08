package view_test

import (
	"slices"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// TestConnectionCodes checks that the list has the code of every fault of a MultiKueueCluster, and no
// other: doctor and trace decide by it what a connection is.
func TestConnectionCodes(t *testing.T) {
	var found []string
	for _, c := range []metav1.Condition{
		{Reason: "BadKubeConfig"},
		{Reason: "InsecureKubeConfig"},
		{Reason: "BadClusterProfile"},
		{Reason: "ClientConnectionFailed", Message: "Unauthorized"},
		{Reason: "ClientConnectionFailed", Message: "dial tcp: connection refused"},
		{Reason: "ClientConnectionFailed", Message: `no matches for kind "RayJob" in version "ray.io/v1"`},
		{Reason: "ClientConnectionFailed", Message: `workloads.kueue.x-k8s.io is forbidden`},
		{Reason: "ClientConnectionFailed", Message: `no matches for kind "Workload" in version "kueue.x-k8s.io/v1beta2"`},
	} {
		found = append(found, view.ClusterFault(&c))
	}
	slices.Sort(found)
	assert.DeepEqual(t, found, view.ConnectionCodes())
}

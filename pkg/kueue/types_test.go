package kueue_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestChecks checks that both forms count, and that reading them changes
// neither.
func TestChecks(t *testing.T) {
	flat := append(make([]string, 0, 2), "flat")
	q := &kueue.ClusterQueue{Spec: kueue.ClusterQueueSpec{AdmissionChecks: flat}}
	q.Spec.Strategy = &struct {
		AdmissionChecks []struct {
			Name      string   `json:"name"`
			OnFlavors []string `json:"onFlavors,omitempty"`
		} `json:"admissionChecks,omitempty"`
	}{AdmissionChecks: []struct {
		Name      string   `json:"name"`
		OnFlavors []string `json:"onFlavors,omitempty"`
	}{{Name: "of a strategy"}}}
	assert.DeepEqual(t, q.Checks(), []string{"flat", "of a strategy"})
	assert.DeepEqual(t, flat[:2], []string{"flat", ""})
}

package kueue_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestFieldErrorsAreSentences checks that texts of the API are quoted as sentences, and other texts as
// they are.
func TestFieldErrorsAreSentences(t *testing.T) {
	const container = `spec.podSets[0].template.spec.containers[0]: Invalid value: ["cpu"]: requests must not exceed its limits`
	for message, want := range map[string]struct {
		reason kueue.WaitReason
		text   string
	}{
		"resources validation failed: " + container: {kueue.ReasonMisconfigured, "invalid resource requests: container 1 requests more cpu than its limit"},
		"resources validation failed: [" + container + `, spec.podSets[1].template.spec.initContainers[1]: Invalid value: ["cpu","memory"]: requests must not exceed its limits]`: {
			kueue.ReasonMisconfigured, "invalid resource requests: container 1 requests more cpu than its limit; init container 2 of podset 2 requests more cpu, memory than its limit",
		},
		`resources didn't satisfy LimitRange constraints: spec.podSets[0].template.spec: Invalid value: ["memory"]: requests must not be above the limitRange max`: {
			kueue.ReasonMisconfigured, "invalid resource requests: each Pod requests more memory than the LimitRange allows",
		},
		"resources didn't satisfy LimitRange constraints: above max": {kueue.ReasonMisconfigured, "invalid resource requests: above max"},
		"deviceClassName: Not found":                                 {kueue.ReasonDevicesUnresolved, "Kueue cannot count its devices: deviceClassName does not exist"},
		`spec.podSets[0].template.spec.resourceClaims[0].resourceClaimTemplateName: Not found: "gpu"`: {
			kueue.ReasonDevicesUnresolved, `Kueue cannot count its devices: spec.resourceClaims[0].resourceClaimTemplateName "gpu" does not exist`,
		},
		"spec.devices.requests[0]: Invalid value: null: Exactly must be set if FirstAvailable is nil": {
			kueue.ReasonInadmissible, "Kueue cannot queue it: spec.devices.requests[0] is invalid: Exactly must be set if FirstAvailable is nil",
		},
		"spec.podSets[0].template: Internal error: failed to list ResourceSlices: timeout": {
			kueue.ReasonInadmissible, "Kueue cannot queue it: spec.podSets[0].template failed: failed to list ResourceSlices: timeout",
		},
		"Job is on hold": {kueue.ReasonOnHold, "its own controller holds it"},
		"Workload requires preemption, but it's gated": {kueue.ReasonAdmissionGated, "waits for permission to preempt others"},
		"DRA resource claims not supported":            {kueue.ReasonDevicesUnresolved, "Kueue cannot count its devices: DRA resource claims not supported"},
	} {
		wait := kueue.Wait{Reason: want.reason, Message: message}
		assert.Check(t, wait.Text() == want.text, "%s: %s", message, wait.Text())
	}
}

package kueue

import (
	"testing"

	"gotest.tools/v3/assert"
)

// TestLacks: the messages are Kueue's own, of 0.9 to 0.20 (reference: capacity.md 5).
func TestLacks(t *testing.T) {
	for message, want := range map[string][]Lack{
		"": nil,
		"Workload no longer fits after processing another workload": nil,
		"couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, request > maximum capacity (2 > 1)": {
			{Kind: TooMuch, Resource: "cpu", Flavor: "f", Asked: "2", Most: "1"},
		},
		"couldn't assign flavors to pod set main: insufficient quota for cpu in flavor on-demand, previously considered podsets requests (1500m) + current podset request (4) > maximum capacity (2), untolerated taint {spot true NoSchedule <nil>} in flavor spot": {
			{Kind: TooMuch, Resource: "cpu", Flavor: "on-demand", Before: "1500m", Asked: "4", Most: "2"},
			{Kind: Untolerated, Flavor: "spot", Taint: "spot=true:NoSchedule"},
		},
		"insufficient unused quota for nvidia.com/gpu in flavor a100, 4 more needed": {
			{Kind: MoreNeeded, Resource: "nvidia.com/gpu", Flavor: "a100", More: "4"},
		},
		"flavor arm doesn't match node affinity, resource gpu unavailable in ClusterQueue, flavor gone not found": {
			{Kind: NoSuchLabel, Flavor: "arm"}, {Kind: NoSuchResource, Resource: "gpu"}, {Kind: NoSuchFlavor, Flavor: "gone"},
		},
		`topology "racks" allows to fit only 2 out of 4 pod(s); Flavor "a100" does not support TopologyAwareScheduling`: {
			{Kind: NoTopology, Flavor: "a100"}, {Kind: NoPlaceNear, Topology: "racks", Fit: "2", Pods: "4"},
		},
		`topology "racks" doesn't allow to fit any of 4 pod(s)`: {{Kind: NoPlaceNear, Topology: "racks", Fit: "0", Pods: "4"}},
	} {
		assert.DeepEqual(t, Lacks(message), want)
	}
	assert.Assert(t, (&Lack{Before: "1500m"}).AfterOthers())
	assert.Assert(t, !(&Lack{Before: "0"}).AfterOthers() && !(&Lack{}).AfterOthers())
}

package kueue

import (
	"testing"

	"gotest.tools/v3/assert"
)

// TestLacks checks the messages of Kueue 0.9 to 0.20
// (docs/reference/scheduling.md#messages).
func TestLacks(t *testing.T) {
	for message, want := range map[string][]Lack{
		"": nil,
		"Workload no longer fits after processing another workload": nil,
		"couldn't assign flavors to pod set main: insufficient quota for cpu in flavor f, request > maximum capacity (2 > 1)": {
			{Reason: ReasonOverLimit, Resource: "cpu", Flavor: "f", Requested: "2", Limit: "1"},
		},
		"couldn't assign flavors to pod set main: insufficient quota for cpu in flavor on-demand, previously considered podsets requests (1500m) + current podset request (4) > maximum capacity (2), untolerated taint {spot true NoSchedule <nil>} in flavor spot": {
			{Reason: ReasonOverLimit, Resource: "cpu", Flavor: "on-demand", Before: "1500m", Requested: "4", Limit: "2"},
			{Reason: ReasonTaint, Flavor: "spot", Taint: "spot=true:NoSchedule"},
		},
		"insufficient unused quota for nvidia.com/gpu in flavor a100, 4 more needed": {
			{Reason: ReasonQuotaInUse, Resource: "nvidia.com/gpu", Flavor: "a100", Missing: "4"},
		},
		"couldn't assign flavors to pod set leader: insufficient unused quota for cpu in flavor default, 1 more needed; couldn't assign flavors to pod set workers: insufficient unused quota for cpu in flavor default, 3 more needed": {
			{Reason: ReasonQuotaInUse, Resource: "cpu", Flavor: "default", Missing: "3"},
		},
		"couldn't assign flavors to pod set leader: insufficient quota for cpu in flavor default, previously considered podsets requests (0) + current podset request (1) > maximum capacity (0); couldn't assign flavors to pod set workers: insufficient quota for cpu in flavor default, previously considered podsets requests (1) + current podset request (2) > maximum capacity (0)": {
			{Reason: ReasonOverLimit, Resource: "cpu", Flavor: "default", Before: "1", Requested: "2", Limit: "0"},
		},
		"flavor arm doesn't match node affinity, resource gpu unavailable in ClusterQueue, flavor gone not found": {
			{Reason: ReasonFlavorLabels, Flavor: "arm"}, {Reason: ReasonResourceNotCovered, Resource: "gpu"}, {Reason: ReasonFlavorMissing, Flavor: "gone"},
		},
		`topology "racks" allows to fit only 2 out of 4 pod(s); Flavor "a100" does not support TopologyAwareScheduling`: {
			{Reason: ReasonNoTopology, Flavor: "a100"}, {Reason: ReasonNoTopologyDomain, Topology: "racks", Fit: "2", Pods: "4"},
		},
		`topology "racks" doesn't allow to fit any of 4 pod(s)`:                                          {{Reason: ReasonNoTopologyDomain, Topology: "racks", Fit: "0", Pods: "4"}},
		`topology "racks" allows to fit only 1 out of 2 slice(s). Total nodes: 3; excluded: affinity: 1`: {{Reason: ReasonNoTopologyDomain, Topology: "racks", Fit: "1", Pods: "2"}},
		`topology "racks" doesn't allow to fit; 1/2 slice(s) fit on level rack`:                          {{Reason: ReasonNoTopologyDomain, Topology: "racks"}},
		"no topology domains at level: cloud.com/rack":                                                   {{Reason: ReasonNoTopologyDomain, Level: "cloud.com/rack"}},
		`Flavor "a" supports only TopologyAwareScheduling, Flavor "b" does not contain the requested level`: {
			{Reason: ReasonTopologyRequired, Flavor: "a"}, {Reason: ReasonNoTopologyLevel, Flavor: "b"},
		},
	} {
		assert.DeepEqual(t, Lacks(message), want)
	}
}

// TestLack checks the wording, and the amounts that are computed from others.
func TestLack(t *testing.T) {
	for _, tt := range []struct {
		lack                   Lack
		message, total, excess string
	}{
		{
			Lack{Reason: ReasonOverLimit, Resource: "nvidia.com/gpu", Flavor: "a100", Requested: "8", Before: "0", Limit: "6"},
			"needs 8 nvidia.com/gpu, limit 6 (flavor a100)", "8", "2",
		},
		{
			Lack{Reason: ReasonOverLimit, Resource: "cpu", Flavor: "f", ClusterQueue: "q", Requested: "4", Before: "1500m", Limit: "5"},
			"needs 4 cpu besides 1500m for its other Pods, limit 5 (flavor f, ClusterQueue q)", "5500m", "500m",
		},
		{
			Lack{Reason: ReasonQuotaInUse, Resource: "nvidia.com/gpu", Flavor: "a100", Requested: "4", Free: "1"},
			"needs 4 nvidia.com/gpu, 1 free (flavor a100)", "4", "3",
		},
		{Lack{Reason: ReasonQuotaInUse, Resource: "cpu", Flavor: "f", Missing: "3"}, "needs 3 more cpu (flavor f)", "", "3"},
		{Lack{Reason: ReasonOverLimit, Resource: "cpu", Requested: "4", Limit: "<unlimited>"}, "needs 4 cpu, limit <unlimited>", "4", ""},
		{Lack{Reason: ReasonTaint, Taint: "x=y:NoSchedule", Flavor: "a100"}, "does not tolerate taint x=y:NoSchedule of flavor a100", "", ""},
		{Lack{Reason: ReasonFlavorLabels, Flavor: "a100"}, "flavor a100 does not match its node selector or affinity", "", ""},
		{Lack{Reason: ReasonFlavorLabels, Flavor: "a100", NodeSelector: "gpu=h100"}, "flavor a100 does not match its node selector (gpu=h100) or affinity", "", ""},
		{Lack{Reason: ReasonFlavorLabels, Flavor: "a100", NodeSelector: "gpu=h100", NodeLabels: "gpu=a100"}, "flavor a100 (gpu=a100) does not match its node selector gpu=h100", "", ""},
		{Lack{Reason: ReasonResourceNotCovered, Resource: "foo"}, "its ClusterQueue has no quota for foo", "", ""},
		{Lack{Reason: ReasonResourceNotCovered, Resource: "foo", ClusterQueue: "q"}, "ClusterQueue q has no quota for foo", "", ""},
		{Lack{Reason: ReasonFlavorMissing, Flavor: "f"}, "flavor f does not exist", "", ""},
		{Lack{Reason: ReasonNoTopology, Flavor: "f"}, "flavor f has no topology, which its Pods request", "", ""},
		{Lack{Reason: ReasonNoTopologyLevel, Flavor: "f"}, "requests a topology level that flavor f lacks", "", ""},
		{Lack{Reason: ReasonTopologyRequired, Flavor: "f"}, "requests no topology (flavor f requires one)", "", ""},
		{Lack{Reason: ReasonNoTopologyDomain, Topology: "t", Fit: "0", Pods: "4"}, "none of its 4 Pods fits in a domain of topology t", "", ""},
		{Lack{Reason: ReasonNoTopologyDomain, Topology: "t", Fit: "1", Pods: "4"}, "only 1 of 4 Pods fits in a domain of topology t", "", ""},
		{Lack{Reason: ReasonNoTopologyDomain, Topology: "t", Fit: "2", Pods: "4"}, "only 2 of 4 Pods fit in one domain of topology t", "", ""},
		{Lack{Reason: ReasonNoTopologyDomain, Topology: "t"}, "topology t does not fit its Pods", "", ""},
		{Lack{Reason: ReasonNoTopologyDomain, Level: "rack"}, "no topology domain exists at level rack", "", ""},
	} {
		assert.Equal(t, tt.lack.Message(), tt.message)
		assert.Equal(t, tt.lack.Total(), tt.total)
		assert.Equal(t, tt.lack.Excess(), tt.excess)
	}
	for limit, want := range map[string]bool{"1": false, "2": true, "<unlimited>": true} {
		l := Lack{Before: "1", Requested: "2", Limit: limit}
		assert.Equal(t, l.mayFitAlone(), want, limit)
	}
	assert.Assert(t, !(&Lack{Before: "0", Requested: "2", Limit: "2"}).mayFitAlone())
	assert.Assert(t, (&Lack{Before: "1500m"}).sharesQuota())
	assert.Assert(t, !(&Lack{Before: "0"}).sharesQuota() && !(&Lack{}).sharesQuota())
}

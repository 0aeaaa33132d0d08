package rules_test

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// TestReportOfUnreadClusters checks that MultiKueueClusters which may not be read are not called
// absent.
func TestReportOfUnreadClusters(t *testing.T) {
	for reason, gap := range map[string]error{
		"no context reaches a cluster with MultiKueueClusters": nil,
		"MultiKueueClusters could not be read":                 errors.New("forbidden"),
	} {
		f := &inspect.Facts{Context: "hub", Kueue: &inspect.KueueFacts{}, Setup: &inspect.Setup{}, Gaps: map[inspect.Part]error{}}
		f.AddGap(inspect.PartClusters, gap)
		report := rules.Report(inspect.NewInventory(time.Time{}, []*inspect.Facts{f}, nil), rules.Options{})
		last := report.Unchecked[len(report.Unchecked)-1]
		assert.Equal(t, last.What+": "+last.Reason, "MultiKueue: "+reason)
	}
}

package read

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestRetention checks the retention in Kueue's configuration, and errors for other content.
func TestRetention(t *testing.T) {
	const head = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
	for text, want := range map[string]inspect.Retention{
		head: {Known: true},
		head + "objectRetentionPolicies: {workloads: {afterFinished: 168h}}\n":               {Known: true, For: new(168 * time.Hour)},
		head + "objectRetentionPolicies: {workloads: {afterDeactivatedByKueue: 168h}}\n":     {Known: true},
		head + "objectRetentionPolicies: {workloads: {afterFinished: 0s}}\nintegrations: {}": {Known: true, For: new(time.Duration)},
	} {
		got, err := retentionIn(text)
		assert.NilError(t, err, text)
		assert.DeepEqual(t, got, want)
	}
	for _, text := range []string{"", "kind: Other", head + "objectRetentionPolicies: {workloads: {afterFinished: soon}}", "{"} {
		got, err := retentionIn(text)
		assert.Assert(t, err != nil && !got.Known, text)
	}
}

package read

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
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
		config, err := kueue.ParseConfiguration(text)
		assert.NilError(t, err, text)
		assert.DeepEqual(t, retentionIn(config), want)
	}
	for _, text := range []string{"", "kind: Other", head + "objectRetentionPolicies: {workloads: {afterFinished: soon}}", "{"} {
		_, err := kueue.ParseConfiguration(text)
		assert.Assert(t, err != nil, text)
	}
}

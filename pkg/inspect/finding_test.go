package inspect_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestFindingSays checks that a message names its object once, and not at all next to the object.
func TestFindingSays(t *testing.T) {
	job := inspect.Finding{Kind: "Job", Namespace: "ml", Name: "train"}
	queue := inspect.Finding{Kind: "LocalQueue", Namespace: "ml", Name: "gpu", Jobs: []inspect.Ref{{Namespace: "ml", Name: "sweep"}}}
	for _, tt := range []struct {
		finding                            inspect.Finding
		text, message, predicate, byClause string
	}{
		{job, "no queue label", "Job ml/train: no queue label", "no queue label", "no queue label"},
		{job, "it has no queue label", "Job ml/train has no queue label", "has no queue label", "it has no queue label"},
		{job, "its origin ml/train is gone", "Job ml/train: its origin ml/train is gone", "its origin ml/train is gone", "its origin ml/train is gone"},
		{job, "Job ml/train runs twice", "Job ml/train runs twice", "runs twice", "it runs twice"},
		{job, "Kueue ignores Job ml/train", "Kueue ignores Job ml/train", "Kueue ignores Job ml/train", "Kueue ignores Job ml/train"},
		{job, "waits behind ml/train-2", "Job ml/train: waits behind ml/train-2", "waits behind ml/train-2", "waits behind ml/train-2"},
		{job, "waits behind xml/train", "Job ml/train: waits behind xml/train", "waits behind xml/train", "waits behind xml/train"},
		{job, "someone stopped ml/train.", "someone stopped ml/train.", "someone stopped ml/train.", "someone stopped ml/train."},
		{queue, "full", "LocalQueue ml/gpu: full", "full", "full"},
		{queue, "ml/sweep waits", "ml/sweep waits", "ml/sweep waits", "ml/sweep waits"},
		{inspect.Finding{Kind: "MultiKueueCluster", Name: "paris"}, "no Secret", "MultiKueueCluster paris: no Secret", "no Secret", "no Secret"},
		{inspect.Finding{}, "nothing has a name", "nothing has a name", "nothing has a name", "nothing has a name"},
	} {
		f := tt.finding
		f.Say(tt.text)
		assert.Equal(t, f.Message, tt.message)
		assert.Equal(t, f.Predicate(), tt.predicate)
		assert.Equal(t, f.Clause(), tt.byClause)
	}
}

package answer

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestSeveralShortResources checks that the answer names all resources that a Job lacks on a cluster: a
// change of one alone does not help.
func TestSeveralShortResources(t *testing.T) {
	p := overLimit("w1", "paris", "10")
	p.Short = []inspect.ResourceRoom{{Resource: "nvidia.com/gpu", Asked: "8", Free: "1", Most: "4"}, {Resource: "cpu", Asked: "30", Free: "3", Most: "26"}}
	q := Question{Trace: &inspect.Trace{}}
	assert.Equal(t, q.never([]inspect.Placement{p}).Message, "Needs 8 nvidia.com/gpu and 30 cpu; the limits are 4 and 26 (w1).")
	other := overLimit("w2", "tokyo", "6")
	assert.Equal(t, q.never([]inspect.Placement{p, other}).Message, "Fits on no cluster. w1: needs 8 nvidia.com/gpu and 30 cpu, limits 4 and 26; 1 more reason.")
	assert.Equal(t, p.Why(), "over the limits of nvidia.com/gpu and cpu")
	p.Verdict, p.Reason = inspect.Waits, inspect.QuotaInUse
	assert.Equal(t, q.later([]inspect.Placement{p}).Message, "Needs 8 nvidia.com/gpu and 30 cpu; 1 and 3 free (w1).")
}

// TestHolderOfOneShortResource checks that the quota of a Job that does not run is not enough if several resources are
// short: who holds the others is unknown.
func TestHolderOfOneShortResource(t *testing.T) {
	p := overLimit("w1", "paris", "10")
	p.Verdict, p.Reason, p.Free = inspect.Waits, inspect.QuotaInUse, "1"
	holder := func(name string, isAdmitted bool) inspect.Holder {
		return inspect.Holder{Kind: "Job", Namespace: "ml", Name: name, Resource: "nvidia.com/gpu", Amount: "7", Admitted: isAdmitted, Since: &metav1.Time{}}
	}
	p.Holders = []inspect.Holder{holder("idle", false), holder("busy", true)}
	texts := func() (texts []string) {
		q := Question{Inventory: &inspect.Inventory{Now: time.Unix(6000, 0)}, Trace: &inspect.Trace{}}
		for _, f := range q.holderFixes(&p) {
			texts = append(texts, f.Text)
		}
		return texts
	}
	const wait = "wait for ml/busy on w1 to finish"
	assert.DeepEqual(t, texts(), []string{"find out why ml/idle holds 7 nvidia.com/gpu without running", wait})
	p.Short = []inspect.ResourceRoom{{Resource: "nvidia.com/gpu", Asked: "8", Free: "1"}, {Resource: "cpu", Asked: "30", Free: "3"}}
	assert.DeepEqual(t, texts(), []string{wait, "find out why ml/idle holds 7 nvidia.com/gpu of the missing 7 nvidia.com/gpu and 27 cpu without running"})
}

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
	assert.Equal(t, q.never([]inspect.Placement{p, other}).Message, "Fits on no cluster. w1: needs 8 nvidia.com/gpu and 30 cpu, limits 4 and 26; 1 more on w2.")
	p.IsBorrowing = true
	assert.Equal(t, q.never([]inspect.Placement{p}).Message, "Needs 8 nvidia.com/gpu and 30 cpu; the limits are 4 and 26, borrowing included (w1).")
	other.IsBorrowing = true
	assert.Equal(t, q.never([]inspect.Placement{other}).Message, "Needs 8 nvidia.com/gpu; the limit is 6, borrowing included (w2, flavor a100).")
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

// doubt is a judgment that only says whether a message of Kueue has been outdated for a while.
type doubt struct {
	Judgment
	lasts bool
}

func (d doubt) Lasts(inspect.Finding) bool { return d.lasts }

// TestOutdatedFinding checks that quota that Kueue does not use makes the finding about one Job a warning. One about
// several Jobs, or one that another reading has not confirmed, gets no more severe.
func TestOutdatedFinding(t *testing.T) {
	p := *inspect.NewPlacement("hub")
	p.Verdict, p.Reason = inspect.Unknown, inspect.SaidByKueue
	p.Conditions = []inspect.PlacementCondition{{Name: inspect.ConditionQuota, State: inspect.Yes}}
	origin := &inspect.Job{Context: "hub", Kind: "Job", Namespace: "ml", Name: "a"}
	own, other := inspect.RefOf(origin), inspect.RefOf(&inspect.Job{Context: "hub", Kind: "Job", Namespace: "ml", Name: "b"})
	const message = "Jobs wait for quota in ClusterQueue q; ml/a: needs 1 more cpu"
	for name, tt := range map[string]struct {
		jobs          []inspect.Ref
		severity      inspect.Severity
		want          inspect.Severity
		lasts         bool
		isStillAsSaid bool
	}{
		"one waits":                    {[]inspect.Ref{own}, inspect.Info, inspect.Warning, true, false},
		"one waits since this reading": {[]inspect.Ref{own}, inspect.Info, inspect.Info, false, true},
		"one exceeds in this reading":  {[]inspect.Ref{own}, inspect.Error, inspect.Warning, false, true},
		"several wait":                 {[]inspect.Ref{own, other}, inspect.Info, inspect.Info, true, true},
		"several exceed":               {[]inspect.Ref{own, other}, inspect.Error, inspect.Warning, true, true},
	} {
		q := Question{Pair: inspect.Pair{Origin: origin}, Trace: &inspect.Trace{
			State: inspect.StateWaiting, Message: "By the quotas read it fits now.", Placements: []inspect.Placement{p},
		}}
		f := inspect.Finding{Code: "JM019", Severity: tt.severity, Message: message, Jobs: tt.jobs}
		q.addOutdated(&f, doubt{lasts: tt.lasts})
		assert.Equal(t, f.Severity, tt.want, name)
		assert.Equal(t, f.Message == message, tt.isStillAsSaid, "%s: %s", name, f.Message)
	}
}

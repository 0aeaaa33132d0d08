package answer

import (
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestFixForJobsOfCronJobs checks that the fix of a finding about several Jobs names the templates of all, whichever is
// the first, and leaves the fix of its first Job as it is.
func TestFixForJobsOfCronJobs(t *testing.T) {
	for name, tt := range map[string]struct {
		owners [2]string
		want   string
	}{
		"both":       {[2]string{"nightly", "weekly"}, "request less in spec.jobTemplate of CronJob ml/nightly and spec.jobTemplate of CronJob ml/weekly, then delete ml/a, ml/b"},
		"the first":  {[2]string{"nightly", ""}, "request less, then make the same change in spec.jobTemplate of CronJob ml/nightly, delete ml/a, ml/b, and create the others again"},
		"the second": {[2]string{"", "weekly"}, "request less, then make the same change in spec.jobTemplate of CronJob ml/weekly, delete ml/a, ml/b, and create the others again"},
		"none":       {[2]string{}, "request less, then delete ml/a, ml/b, and create them again"},
	} {
		a := adviser{pairs: map[inspect.Ref]inspect.Pair{}}
		f := inspect.Finding{Kind: "ClusterQueue", Name: "q", Message: "ClusterQueue q has no quota"}
		for i, owner := range tt.owners {
			j := &inspect.Job{Context: "hub", Kind: "Job", Namespace: "ml", Name: []string{"a", "b"}[i]}
			if owner != "" {
				j.Controller = &metav1.OwnerReference{APIVersion: "batch/v1", Kind: "CronJob", Name: owner}
			}
			f.Jobs = append(f.Jobs, inspect.RefOf(j))
			a.pairs[inspect.RefOf(j)] = inspect.Pair{Origin: j}
		}
		template, _ := a.pairs[f.Jobs[0]].Origin.Template()
		own := command.Fix{Text: "request less", Command: []string{}}.Again("Job ml/a", template)
		f.Fixes = []command.Fix{own}
		a.createAllAgain(&f)
		assert.Equal(t, f.Fixes[0].Text, tt.want, name)
		assert.Equal(t, f.Remedy, tt.want, name)
	}
}

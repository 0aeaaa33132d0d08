package inspect

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// row returns a Job with a UID, which a controller wrote now.
func row(name, uid string, status delegation.Status) *Job {
	j := job("hub", "ml", name, delegation.BuiltIn, status)
	j.APIVersion, j.Kind, j.UID, j.SpecWrittenAt = "batch/v1", "Job", uid, &metav1.Time{}
	return &j
}

// rowTexts returns changes as text.
func rowTexts(changes []RowChange) (texts []string) {
	for _, c := range changes {
		texts = append(texts, string(c.Type)+" "+c.Job.Name+" "+c.Job.UID+" "+string(c.Job.Status))
	}
	return texts
}

// TestRows checks that exactly the differences of two lists are reported.
func TestRows(t *testing.T) {
	var r Rows
	a, b, c := row("a", "1", delegation.Pending), row("b", "2", delegation.Pending), row("c", "3", delegation.Pending)
	assert.DeepEqual(t, rowTexts(r.Add([]*Job{a})), []string{"ADDED a 1 Pending"})
	assert.DeepEqual(t, rowTexts(r.Update([]*Job{a, b, c}, nil)), []string{"ADDED b 2 Pending", "ADDED c 3 Pending"})
	assert.DeepEqual(t, rowTexts(r.Update([]*Job{a, b, c}, nil)), []string(nil))

	again := row("a", "1", delegation.Pending)
	again.Generation, again.StatusWrittenAt, again.Since = 7, &metav1.Time{}, &metav1.Time{}
	again.StatusWriters, again.SpecWriters, again.ClusterUID = []string{"kueue"}, []SpecWriter{{At: &metav1.Time{}}}, "hub"
	// A write that changes nothing visible is no news.
	assert.DeepEqual(t, rowTexts(r.Update([]*Job{again, b, c}, nil)), []string(nil))
	visible := row("a", "1", delegation.Pending)
	visible.Active = 1
	assert.DeepEqual(t, rowTexts(r.Update([]*Job{visible, b, c}, nil)), []string{"MODIFIED a 1 Pending"})
	labeled := *visible
	labeled.SpecWrittenAt, labeled.Labels = &metav1.Time{}, map[string]string{"team": "vision"}
	assert.DeepEqual(t, rowTexts(r.Update([]*Job{&labeled, b, c}, nil)), []string{"MODIFIED a 1 Pending"})
	visible = &labeled

	// A Workload shows that a Job is claimed, and a mirror appears, without a change of the Job.
	claimed, mirrored := *b, *c
	claimed.Status = delegation.Suspended
	mirrored.Mirrors = []Ref{{Context: "paris"}}
	assert.DeepEqual(t, rowTexts(r.Update([]*Job{visible, &claimed, &mirrored}, nil)), []string{"MODIFIED b 2 Suspended", "MODIFIED c 3 Pending"})

	// One Job is created again, one no longer matches a filter, and one is deleted.
	hidden := mirrored
	hidden.Status, hidden.Mirrors = delegation.Complete, nil
	changes := r.Update([]*Job{row("a", "4", delegation.Pending)}, []*Job{&hidden, row("z", "9", delegation.Pending)})
	assert.DeepEqual(t, rowTexts(changes), []string{"DELETED a 1 Pending", "DELETED b 2 Suspended", "DELETED c 3 Complete", "ADDED a 4 Pending"})
	assert.DeepEqual(t, changes[2].Job.Mirrors, mirrored.Mirrors)
}

// TestOutages checks that each outage is reported once, and its end.
func TestOutages(t *testing.T) {
	var o Outages
	update := func(errs ...ContextError) (texts []string) {
		lost, regained := o.Update(errs)
		for _, e := range lost {
			texts = append(texts, "lost "+e.Context+" "+string(e.Part))
		}
		for _, name := range regained {
			texts = append(texts, "regained "+name)
		}
		return texts
	}
	west, workloads := ContextError{Context: "west"}, ContextError{Context: "east", Part: PartWorkloads}
	jobs, all := ContextError{Context: "east", Part: "jobs"}, ContextError{Context: "east"}
	assert.DeepEqual(t, update(west, workloads), []string{"lost west ", "lost east workloads"})
	assert.DeepEqual(t, update(west, workloads), []string(nil))
	assert.DeepEqual(t, update(jobs), []string{"lost east jobs", "regained west"})
	assert.DeepEqual(t, update(all), []string{"lost east "})
	// The part was lost all the time.
	assert.DeepEqual(t, update(jobs), []string(nil))
	assert.DeepEqual(t, update(workloads, jobs), []string{"lost east workloads"})
	assert.DeepEqual(t, update(), []string{"regained east"})
}

// TestKeepUnread checks that Jobs stay listed while they cannot be read, and only those.
func TestKeepUnread(t *testing.T) {
	down := &kubecontext.Error{Context: "hub", Err: errors.New("down")}
	jobSet := func(name string) Job {
		j := job("hub", "ml", name, delegation.BuiltIn, delegation.Running)
		j.APIVersion, j.Kind, j.UID = "jobset.x-k8s.io/v1alpha2", "JobSet", name
		return j
	}
	sets := PartOf(func() delegation.Kind { j := jobSet(""); return j.Row() }())
	for name, tt := range map[string]struct {
		err     error
		partial []Gap
		kinds   []delegation.Kind
		// dev are Jobs of another context.
		dev  []*Job
		want []string
	}{
		"all was read":                {nil, nil, nil, nil, []string{"hub/ml/new"}},
		"no answer":                   {down, nil, nil, nil, []string{"hub/ml/hidden", "hub/ml/new", "hub/ml/old", "hub/ml/set"}},
		"another context has one":     {down, nil, nil, []*Job{row("old", "old", delegation.Running)}, []string{"hub/ml/hidden", "hub/ml/new", "hub/ml/set", "dev/ml/old"}},
		"one kind cannot be read":     {nil, []Gap{{sets, down}}, []delegation.Kind{delegation.Job()}, nil, []string{"hub/ml/new", "hub/ml/set"}},
		"some kinds are unknown":      {nil, []Gap{{PartKinds, down}}, []delegation.Kind{delegation.Job()}, nil, []string{"hub/ml/new", "hub/ml/set"}},
		"Workloads cannot be read":    {nil, []Gap{{PartWorkloads, down}}, []delegation.Kind{delegation.Job()}, nil, []string{"hub/ml/new"}},
		"the kind was read after all": {nil, []Gap{{PartKinds, down}}, []delegation.Kind{delegation.Job(), func() delegation.Kind { j := jobSet(""); return j.Row() }()}, nil, []string{"hub/ml/new"}},
	} {
		t.Run(name, func(t *testing.T) {
			last, now, dev := &Tally{Context: "hub"}, &Tally{Context: "hub", Err: tt.err, Kinds: tt.kinds, partial: tt.partial}, &Tally{Context: "dev"}
			last.Add(*row("old", "old", delegation.Running))
			last.Add(jobSet("set"))
			last.Hide(*row("hidden", "hidden", delegation.Running))
			now.Add(*row("new", "new", delegation.Running))
			for _, j := range tt.dev {
				j.Context = "dev"
				dev.Add(*j)
			}
			tallies := []*Tally{now, dev}
			KeepUnread(tallies, []*Tally{last})
			var got []string
			hidden := HiddenJobs(tallies)
			for _, j := range append(hidden, MergeTallies(tallies).All()...) {
				got = append(got, j.Context+"/"+j.Namespace+"/"+j.Name)
			}
			assert.DeepEqual(t, got, tt.want)
		})
	}
}

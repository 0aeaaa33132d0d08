package inspect

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

func job(context, namespace, name string, owner delegation.Owner, status delegation.Status) Job {
	return Job{Context: context, Namespace: namespace, Name: name, ManagedBy: owner, Status: status}
}

// layout summarizes a list as text: the owners, each with its Jobs.
func layout(l *OwnerList) (rows []string) {
	for _, g := range l.Items {
		rows = append(rows, "# "+string(g.ManagedBy))
		for _, j := range g.Jobs {
			rows = append(rows, j.Context+"/"+j.Namespace+"/"+j.Name)
		}
	}
	return rows
}

func TestMerge(t *testing.T) {
	tally := func(countOnly bool, jobs ...Job) *Tally {
		t := &Tally{CountOnly: countOnly}
		for _, j := range jobs {
			t.Add(j)
		}
		return t
	}
	west := []Job{
		job("west", "b", "2", "z.io/a", delegation.Running),
		job("west", "b", "1", "z.io/a", delegation.Failed),
		job("west", "a", "9", "z.io/a", delegation.Running),
		job("west", "a", "1", delegation.BuiltIn, delegation.Complete),
	}
	east := []Job{
		job("east", "a", "1", "a.io/z", delegation.Unclaimed),
		job("east", "a", "0", "z.io/a", delegation.Running),
	}
	down := &kubecontext.Error{Context: "down", Doing: "list", Err: errors.New("no")}
	partly := &kubecontext.Error{Context: "east", Doing: "list", Err: errors.New("half")}
	tallies := func(countOnly bool) []*Tally {
		first, last := tally(countOnly, west...), tally(countOnly, east...)
		first.Context = "west"
		last.Context, last.Err = "east", partly
		return []*Tally{first, {Context: "down", Err: down}, last}
	}
	list := MergeTallies(tallies(false))
	assert.DeepEqual(t, layout(list), []string{
		"# a.io/z", "east/a/1",
		// Contexts in the fleet's order, then Jobs by name.
		"# z.io/a", "west/a/9", "west/b/1", "west/b/2", "east/a/0",
		"# built-in", "west/a/1",
	})
	assert.DeepEqual(t, list.Items[1].Counts, map[delegation.Status]int{delegation.Running: 3, delegation.Failed: 1})
	assert.Equal(t, list.Items[1].Total(), 4)
	assert.Assert(t, list.Items[2].BuiltIn && !list.Items[1].BuiltIn)
	assert.DeepEqual(t, list.Errors, []ContextError{
		{Context: "down", Code: kubecontext.CodeError, Message: "cannot list: no", Cause: "cannot list: no"},
		{Context: "east", Code: kubecontext.CodeError, Message: "cannot list: half", Cause: "cannot list: half"},
	})

	counted := MergeTallies(tallies(true))
	assert.DeepEqual(t, layout(counted), []string{"# a.io/z", "# z.io/a", "# built-in"})
	for i := range counted.Items {
		assert.DeepEqual(t, counted.Items[i].Counts, list.Items[i].Counts)
		assert.Assert(t, counted.Items[i].Jobs != nil, "JSON has a list, not null")
	}
}

func TestFilter(t *testing.T) {
	foreign := job("c", "n", "a", "kueue.x-k8s.io/multikueue", delegation.Running)
	builtIn := job("c", "n", "b", delegation.BuiltIn, delegation.Failed)
	builtIn.KindRow = new(delegation.Job())
	for _, tt := range []struct {
		delegated        bool
		managedBy        string
		statuses         []string
		foreign, builtIn bool
	}{
		{foreign: true, builtIn: true},
		{delegated: true, foreign: true},
		{managedBy: "kueue.x-k8s.io/*", foreign: true},
		{managedBy: "*kueue", foreign: true},
		{managedBy: "built-in", builtIn: true},
		{managedBy: "kubernetes.io/job-controller", builtIn: true},
		{managedBy: "kueue"},
		{statuses: []string{"failed"}, builtIn: true},
		{statuses: []string{"FAILED", "Running"}, foreign: true, builtIn: true},
		{statuses: []string{"Failed"}, delegated: true},
	} {
		f, err := NewFilter(tt.delegated, tt.managedBy, tt.statuses)
		assert.NilError(t, err)
		assert.Equal(t, f.Matches(&foreign), tt.foreign, "%+v", tt)
		assert.Equal(t, f.Matches(&builtIn), tt.builtIn, "%+v", tt)
	}
	_, err := NewFilter(false, "[", nil)
	assert.ErrorContains(t, err, `owner pattern "["`)
	_, err = NewFilter(false, "", []string{"Ready"})
	assert.ErrorContains(t, err, `unknown status "Ready"; choose one of Terminating, Complete,`)
}

// TestFoldChildren checks that folding a mirror also removes its parts, down to the last
// generation.
func TestFoldChildren(t *testing.T) {
	child := func(name, of, kind, apiVersion string) Job {
		j := job("paris", "ml", name, delegation.BuiltIn, delegation.Running)
		j.UID, j.Controller = name, &metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: of, UID: types.UID(of)}
		return j
	}
	const jobSet = "jobset.x-k8s.io/v1alpha2"
	origin := job("home", "ml", "train", delegation.MultiKueue, delegation.Running)
	mirror := job("paris", "ml", "train", delegation.BuiltIn, delegation.Running)
	mirror.UID = "mirror"
	origin.Mirrors = []Ref{RefOf(&mirror)}
	local := job("paris", "ml", "local", delegation.BuiltIn, delegation.Running)
	local.UID = "local"
	t1, t2 := &Tally{Context: "home"}, &Tally{Context: "paris"}
	t1.Add(origin)
	for _, j := range []Job{
		mirror, child("train-set", "mirror", "TrainJob", "trainer.kubeflow.org/v1alpha1"), child("train-node-0", "train-set", "JobSet", jobSet),
		local, child("local-0", "local", "JobSet", jobSet),
	} {
		t2.Add(j)
	}
	list := MergeTallies([]*Tally{t1, t2})
	list.Fold()
	assert.DeepEqual(t, layout(list), []string{"# " + string(delegation.MultiKueue), "home/ml/train", "# built-in", "paris/ml/local", "paris/ml/local-0"})
	assert.Equal(t, list.Items[1].Counts[delegation.Running], 2)
}

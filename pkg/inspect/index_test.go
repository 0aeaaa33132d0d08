package inspect

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestFactsInOrder checks that an inventory does not depend on the order of objects from a server
// or the cache of a watch, and that its input is not modified.
func TestFactsInOrder(t *testing.T) {
	job, other := object("m", "ns", "a"), object("m", "ns", "b")
	early, late := &Event{ID: "a", UID: "x", Warning: true, Message: "early", Time: at(0).Time}, &Event{UID: "x", Warning: true, Message: "late", Time: at(0).Add(time.Second)}
	same := &Event{ID: "b", UID: "x", Warning: true, Message: "early too", Time: at(0).Time}
	workload := func(name string) *kueue.Workload {
		return &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
	}
	one, two := workload("one"), workload("two")
	given := &Facts{
		Context: "m", Jobs: []*Job{other, job}, Pods: []*Pod{{Name: "b"}, {Name: "a"}}, Events: []*Event{late, same, early},
		Kueue: &KueueFacts{Workloads: []*kueue.Workload{two, one}},
	}
	jobs, workloads, kept := given.Jobs, given.Kueue.Workloads, given.Kueue
	f := NewInventory(at(0).Time, []*Facts{given}, nil).Clusters[0]
	assert.Assert(t, f.Jobs[0] == job && f.Pods[0].Name == "a" && f.Kueue.Workloads[0] == one)
	assert.Assert(t, f.Events[0] == early && f.Events[1] == same && f.Events[2] == late)
	assert.Assert(t, jobs[0] == other && workloads[0] == two && kept.Workloads[0] == two)
}

// TestGapsInOrder checks that the reported reason does not depend on the order of errors.
func TestGapsInOrder(t *testing.T) {
	one, other := errors.New("get a: no"), errors.New("list a: no")
	for _, order := range [][]error{{one, other}, {other, one}, {other, nil, one, other}} {
		f, c := &Facts{Gaps: map[Part]error{}}, &Capacity{Gaps: map[Part]error{}}
		for _, err := range order {
			f.AddGap(PartPods, err)
			if err != nil {
				c.AddGap(PartPods, err)
			}
		}
		assert.Equal(t, f.Gaps[PartPods], one)
		assert.Assert(t, errors.Is(c.Gaps[PartPods], one))
	}
}

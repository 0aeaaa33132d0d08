package inspect

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// TestSetMirrorsOfFinished checks that the mirror of a finished dispatched Job is unknown if it may
// be in a context that was not read.
func TestSetMirrorsOfFinished(t *testing.T) {
	named := &delegation.Marks{Mirror: delegation.Place{ClusterUID: "w", Namespace: "ml", Name: "train", UID: "u"}}
	for name, tt := range map[string]struct {
		marks               *delegation.Marks
		isComplete, isKnown bool
	}{
		"it names a mirror":                   {marks: named},
		"it names one, and that is gone":      {marks: named, isComplete: true, isKnown: true},
		"it names none":                       {isKnown: true},
		"what it names is no object by a uid": {marks: &delegation.Marks{BadMirror: "x"}, isKnown: true},
	} {
		t.Run(name, func(t *testing.T) {
			j := &Job{Namespace: "ml", Name: "train", UID: "o", ManagedBy: delegation.Dispatch, Status: delegation.Complete, Marks: tt.marks}
			SetMirrors(PairUp([]*Job{j}), []*Job{j}, func(string) bool { return tt.isComplete })
			assert.Equal(t, j.Mirrors != nil, tt.isKnown)
		})
	}
}

// TestSilentObjectsAreAsTheirParts checks that a TrainJob without a status has that of its JobSet
// or Pods, and an unknown one if these show nothing.
func TestSilentObjectsAreAsTheirParts(t *testing.T) {
	created := metav1.NewTime(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	train, _ := delegation.KindNamed("trainjob")
	set, _ := delegation.KindNamed("jobset")
	part := func(uid string, status delegation.Status) []*Job {
		return []*Job{{KindRow: &set, Namespace: "ns", Name: "train", UID: "part", Status: status, Controller: &metav1.OwnerReference{UID: types.UID(uid)}}}
	}
	pod := func(label string, phase corev1.PodPhase, at metav1.Time) []*Pod {
		return []*Pod{{Namespace: "ns", UID: "pod", OfKinds: map[string]string{train.PodLabel: label}, Phase: phase, CreationTimestamp: at}}
	}
	for _, tt := range []struct {
		name  string
		parts []*Job
		pods  []*Pod
		want  delegation.Status
	}{
		{name: "nothing", want: delegation.Unknown},
		{name: "a JobSet that runs", parts: part("its", delegation.Running), want: delegation.Running},
		{name: "a JobSet that waits", parts: part("its", delegation.Pending), want: delegation.Pending},
		{name: "a JobSet that is over, which the TrainJob will say", parts: part("its", delegation.Complete), want: delegation.Unknown},
		{name: "somebody else's JobSet", parts: part("other", delegation.Running), want: delegation.Unknown},
		{name: "a pod that runs", pods: pod("train", corev1.PodRunning, created), want: delegation.Running},
		{name: "a pod that waits", pods: pod("train", corev1.PodPending, created), want: delegation.Unknown},
		{name: "a pod of an older one", pods: pod("train", corev1.PodRunning, metav1.NewTime(created.Add(-time.Hour))), want: delegation.Unknown},
		{name: "a pod of another", pods: pod("other", corev1.PodRunning, created), want: delegation.Unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			j := &Job{KindRow: &train, Namespace: "ns", Name: "train", UID: "its", Status: delegation.Unknown, CreationTimestamp: created}
			NewInventory(created.Time, []*Facts{{Context: "worker", Jobs: append(tt.parts, j), Pods: tt.pods}}, nil)
			assert.Equal(t, j.Status, tt.want)
		})
	}
}

// TestSetMirrorsOfUnmarked checks that the mirror of a Job whose owner marks none is unknown once the owner has picked
// the Job up, even if all contexts were read: it may have another name, and may have been deleted.
func TestSetMirrorsOfUnmarked(t *testing.T) {
	for status, isKnown := range map[delegation.Status]bool{
		delegation.Unclaimed: true, delegation.Pending: false, delegation.Suspended: false, delegation.Running: false, delegation.Complete: false, delegation.Failed: false,
	} {
		j := &Job{Namespace: "ml", Name: "train", UID: "o", ManagedBy: "acme.io/runner", Status: status}
		SetMirrors(PairUp([]*Job{j}), []*Job{j}, func(string) bool { return true })
		assert.Equal(t, j.Mirrors != nil, isKnown, status)
		assert.Equal(t, j.NoMirrors() != nil, isKnown, status)
	}
}

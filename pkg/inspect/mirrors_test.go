package inspect

import (
	"testing"

	"gotest.tools/v3/assert"

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

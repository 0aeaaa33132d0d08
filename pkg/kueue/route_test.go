package kueue_test

import (
	"errors"
	"testing"

	"gotest.tools/v3/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// TestRoute checks that the path to MultiKueue distinguishes missing objects from unread ones.
func TestRoute(t *testing.T) {
	forbidden := errors.New("forbidden")
	queues := map[string][]string{"own": nil, "other": {"budget"}, "far": {"hidden", "budget", "mk"}, "hidden": {"budget", "hidden"}, "broken": {"gone"}}
	lookup := kueue.Lookup{
		LocalQueue: func(namespace, name string) (*kueue.LocalQueue, error) {
			switch name {
			case "none":
				return nil, nil
			case "secret":
				return nil, forbidden
			}
			local := &kueue.LocalQueue{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			local.Spec.ClusterQueue = name
			return local, nil
		},
		ClusterQueue: func(name string) (*kueue.ClusterQueue, error) {
			if name == "unreadable" {
				return nil, forbidden
			}
			checks, ok := queues[name]
			if !ok {
				return nil, nil
			}
			return &kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: kueue.ClusterQueueSpec{AdmissionChecks: checks}}, nil
		},
		Check: func(name string) (*kueue.AdmissionCheck, error) {
			check := &kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: name}}
			switch name {
			case "gone":
				return nil, nil
			case "hidden":
				return nil, forbidden
			case "mk":
				check.Spec.ControllerName = kueue.ControllerName
			}
			return check, nil
		},
	}
	const isFound, isMissing, isUnread = "found", "missing", "unread"
	for name, want := range map[string][3]string{
		"none":       {isMissing, isUnread},
		"secret":     {isUnread, isUnread},
		"lost":       {isFound, isMissing},
		"unreadable": {isFound, isUnread},
		"own":        {isFound, isFound, isMissing},
		"other":      {isFound, isFound, isMissing},
		"far":        {isFound, isFound, isFound},
		"hidden":     {isFound, isFound, isUnread},
		"broken":     {isFound, isFound, isUnread},
	} {
		route := lookup.Route("ml", name)
		got := [3]string{stateOf(route.Local), stateOf(route.Cluster)}
		if q := route.Cluster.Object; q != nil {
			got[2] = stateOf(lookup.MultiKueue(q))
		}
		assert.Equal(t, got, want, name)
	}
}

func stateOf[T any](f kueue.Found[T]) string {
	switch {
	case f.IsMissing():
		return "missing"
	case f.Object == nil:
		return "unread"
	}
	return "found"
}

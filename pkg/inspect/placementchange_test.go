package inspect_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// TestOnClusters checks that a change for several clusters says where the Job starts after it, and only if that is known.
func TestOnClusters(t *testing.T) {
	t.Parallel()
	const later, first = " when other Jobs end (2 cpu free now)", " once it is first in its queue"
	place := func(name string, isManager, starts bool, after string) inspect.ChangePlace {
		return inspect.ChangePlace{Context: name, IsManager: isManager, Starts: starts, After: after}
	}
	hub, full := place("hub", true, false, ""), place("hub", true, false, later)
	now, waits, behind, unknown := place("w1", false, true, ""), place("w2", false, false, later), place("w3", false, false, first), place("w4", false, false, "")
	for want, places := range map[string][]inspect.ChangePlace{
		"w1, where it fits now":          {now},
		"w2" + later:                     {waits},
		"w4":                             {unknown},
		"w1 and w2 (now on w1)":          {now, waits},
		"w1 and w4 (now on w1)":          {now, unknown},
		"w2" + later + " and w3" + first: {waits, behind},
		"w2" + later + " and w4":         {waits, unknown},
		"w2 and w2" + later:              {waits, waits},
		"hub":                            {hub},
		"hub and w1, where it fits now":  {hub, now},
		"hub and w1" + later:             {full, now},
		"hub and w4":                     {hub, unknown},
	} {
		assert.Check(t, inspect.OnClusters(places) == want, "%s: %s", want, inspect.OnClusters(places))
	}
}

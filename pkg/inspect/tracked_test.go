package inspect

import (
	"errors"
	"testing"
	"time"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// TestTracked checks that a Job counts as deleted only if every cluster that had it was read
// without it.
func TestTracked(t *testing.T) {
	origin := object("home", "ml", "train", managedBy(delegation.MultiKueue))
	mirror := object("west", "ml", "train", mirrorOf("train", origin.UID))
	recreated := object("home", "ml", "train", managedBy(delegation.MultiKueue), uid("another"))
	type jobs = []*Job
	read := func(home, west jobs, unread ...string) *Inventory {
		facts := []*Facts{{Context: "home", ClusterUID: "home-uid", Jobs: home}, {Context: "west", ClusterUID: "west-uid", Jobs: west}}
		for _, f := range facts {
			f.Gaps = map[Part]error{}
			for _, name := range unread {
				switch name {
				case f.Context:
					f.Err, f.Jobs = errors.New("connection refused"), nil
				case f.Context + " jobs":
					f.Gaps[PartJobs], f.Jobs = errors.New("forbidden"), nil
				}
			}
		}
		return NewInventory(time.Now(), facts, nil)
	}
	for _, tt := range []struct {
		name     string
		readings []*Inventory
		has      bool
		unread   []string
	}{
		{"unchanged", []*Inventory{read(jobs{origin}, jobs{mirror})}, true, nil},
		{"no mirror any more", []*Inventory{read(jobs{origin}, nil)}, true, nil},
		{"deleted", []*Inventory{read(nil, nil)}, false, nil},
		{"deleted, and its worker does not answer", []*Inventory{read(nil, nil, "west")}, false, []string{"west"}},
		{"no answer at all", []*Inventory{read(nil, nil, "home", "west")}, false, []string{"home", "west"}},
		{"its Jobs may not be read any more", []*Inventory{read(nil, nil, "home jobs")}, false, []string{"home"}},
		{"seen by its mirror only", []*Inventory{read(nil, jobs{mirror}, "home")}, true, []string{"home"}},
		{"finished while its origin is unread", []*Inventory{read(nil, jobs{mirror}, "home"), read(nil, nil, "home")}, false, []string{"home"}},
		{"back", []*Inventory{read(nil, jobs{mirror}, "home"), read(nil, nil, "home"), read(jobs{origin}, nil)}, true, nil},
		{"recreated", []*Inventory{read(nil, nil), read(jobs{recreated}, nil)}, false, nil},
		{"gone from a worker that is lost later", []*Inventory{read(jobs{origin}, nil), read(nil, nil, "west")}, false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tracked := &Tracked{}
			first := read(jobs{origin}, jobs{mirror})
			tracked.See(first, first.Subjects()...)
			has := false
			for _, v := range tt.readings {
				has = false
				for _, p := range v.Subjects() {
					if tracked.Has(p) {
						has = true
						tracked.See(v, p)
					}
				}
			}
			assert.Equal(t, has, tt.has)
			assert.DeepEqual(t, tracked.UnreadIn(tt.readings[len(tt.readings)-1]), tt.unread)
		})
	}
}

package logs_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/bundle"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/logs"
)

const recordings = "../../test/recordings"

// describe returns a short description of a placement.
func describe(p logs.Placement) string {
	var at []string
	for _, j := range p.Jobs {
		at = append(at, j.Context)
	}
	return fmt.Sprintf("reads: %s; ended: %s; why not: %s\n", strings.Join(at, " and "), p.End, p.Why)
}

// TestPlacesOfRecordings records where the Pods of Jobs in real MultiKueue fleets are, healthy or
// not.
func TestPlacesOfRecordings(t *testing.T) {
	entries, err := os.ReadDir(recordings)
	assert.NilError(t, err)
	var text strings.Builder
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		b, err := bundle.Open(filepath.Join(recordings, e.Name()))
		assert.NilError(t, err)
		contexts := b.Contexts()
		var addresses []kubecontext.Address
		for _, c := range contexts {
			addresses = append(addresses, c.Address())
		}
		f := fleet.Open(t.Context(), contexts, fleet.Options{})
		// Of several Jobs, select the one that waits.
		name := cmp.Or(map[string]string{
			"preempted-on-worker": "low1", "two-flavors": "too-big-untolerated", "cohort-borrowing": "waits",
			"burst-1": "b-28", "burst-3": "b-92", "strict-fifo-head-blocks": "behind",
			"manager-cannot-record-the-worker": "d15-a", "workers-only-user": "p1-0", "mirror-without-multikueue-label": "a03-label",
			"priority-class-unread": "pc", "many-edits-one-timed-out": "a18-wlm", "many-quota-faults": "d19",
			"dispatch-origin-in-multikueue-queue": "p1-201", "jobsets": "d15-a",
		}[e.Name()], "train")
		v := read.Read(t.Context(), f, read.Want{Named: &read.Wanted{Name: name, Namespace: contexts[0].Namespace}, Addresses: addresses, Now: b.TakenAt})
		fmt.Fprintf(&text, "%s\n", e.Name())
		p, err := logs.Choose(v, name)
		assert.NilError(t, err)
		text.WriteString("  " + describe(p))
	}
	golden.Assert(t, text.String(), "places.txt")
}

// member returns an object of a fleet.
func member(at string, owner delegation.Owner, status delegation.Status, change ...func(*inspect.Job)) *inspect.Job {
	j := &inspect.Job{
		Context: at, ClusterUID: "cluster-" + at, APIVersion: "batch/v1", Kind: "Job", Namespace: "ml", Name: "train",
		UID: "train-on-" + at, ManagedBy: owner, Status: status, CreationTimestamp: metav1.NewTime(epoch),
	}
	for _, c := range change {
		c(j)
	}
	return j
}

// mirrorOf returns a mirror that dispatch has created.
func mirrorOf(origin *inspect.Job, at string, status delegation.Status) *inspect.Job {
	return member(at, delegation.BuiltIn, status, func(j *inspect.Job) {
		j.Marks = &delegation.Marks{OriginUID: origin.UID, Origin: delegation.Place{ClusterUID: origin.ClusterUID, Namespace: "ml", Name: "train"}}
	})
}

// podOf returns a Pod of an object.
func podOf(j *inspect.Job) *inspect.Pod {
	return &inspect.Pod{Namespace: "ml", Name: "pod", UID: "pod-of-" + j.UID, JobUID: j.UID}
}

// fleetOf returns an inventory of objects, those in withPods with a Pod each. The contexts in
// unread could not be read.
func fleetOf(jobs, withPods []*inspect.Job, unread ...string) *inspect.Inventory {
	facts := map[string]*inspect.Facts{}
	var clusters []*inspect.Facts
	at := func(name string) *inspect.Facts {
		if facts[name] == nil {
			facts[name] = &inspect.Facts{Context: name, ClusterUID: "cluster-" + name}
			clusters = append(clusters, facts[name])
		}
		return facts[name]
	}
	for _, j := range jobs {
		at(j.Context).Jobs = append(at(j.Context).Jobs, j)
	}
	for _, j := range withPods {
		at(j.Context).Pods = append(at(j.Context).Pods, podOf(j))
	}
	for _, name := range unread {
		*at(name) = inspect.Facts{Context: name, Err: &kubecontext.Error{Context: name, Err: &kubecontext.TimeoutError{After: time.Second}}}
	}
	return inspect.NewInventory(epoch, clusters, nil)
}

func TestPlace(t *testing.T) {
	origin := member("home", delegation.Dispatch, delegation.Running)
	ended := member("home", delegation.Dispatch, delegation.Complete)
	moved := member("home", delegation.MultiKueue, delegation.Failed)
	alone := member("home", delegation.BuiltIn, delegation.Running)
	old := mirrorOf(origin, "west", delegation.Running)
	old.Marks.OriginUID = "an older one"
	west, east := mirrorOf(origin, "west", delegation.Running), mirrorOf(origin, "east", delegation.Running)
	done := mirrorOf(ended, "west", delegation.Complete)
	foreign := member("home", "example.com/runner", delegation.Running)
	template := member("home", delegation.MultiKueue, delegation.Pending, func(j *inspect.Job) { j.Kind = "CronJob" })
	type jobs = []*inspect.Job
	for _, tt := range []struct {
		name       string
		v          *inspect.Inventory
		reads      string
		end        string
		why        string
		isHopeless bool
	}{
		{name: "on a worker", v: fleetOf(jobs{origin, west}, nil), reads: "west", why: "0/1 completions"},
		{name: "on two", v: fleetOf(jobs{origin, west, east}, nil), reads: "east and west", why: "unfinished mirrors on east and west"},
		{name: "on none", v: fleetOf(jobs{origin}, nil), why: "no mirror found on home"},
		{name: "an older one on a worker", v: fleetOf(jobs{origin, old}, jobs{old}), why: "no mirror found on home or west"},
		{name: "worker context only", v: fleetOf(jobs{old}, nil), reads: "west", why: "it is a mirror on west. Its origin is unknown: no manager was read"},
		{name: "ended, with pods", v: fleetOf(jobs{ended, done}, jobs{done}), reads: "west", end: "Complete on west", why: "it has ended (Complete on west); its Pods on west are gone, and so are their logs"},
		{name: "ended, without pods", v: fleetOf(jobs{ended, done}, nil), end: "Complete on west", why: "it has ended (Complete on west); its Pods on west are gone, and so are their logs", isHopeless: true},
		{name: "ended, and its mirror is gone", v: fleetOf(jobs{ended}, nil), end: "Complete", why: "it has ended (Complete); its mirror is gone, and so are its logs", isHopeless: true},
		{name: "ended under MultiKueue", v: fleetOf(jobs{moved}, nil, "west"), end: "Failed", why: "it has ended (Failed); MultiKueue deletes a mirror as soon as it finishes, with its logs", isHopeless: true},
		{name: "ended, with an unread context", v: fleetOf(jobs{ended}, nil, "west"), end: "Complete", why: "it has ended (Complete); no mirror found; not read: west", isHopeless: true},
		{name: "not delegated", v: fleetOf(jobs{alone}, nil), reads: "home", why: "the built-in Job controller runs it on home"},
		{name: "another owner, on its own cluster", v: fleetOf(jobs{foreign}, jobs{foreign}), reads: "home", why: "location unknown: example.com/runner does not mark its mirrors"},
		{name: "a template", v: fleetOf(jobs{template}, nil), why: "it is a template: name one of the objects that it created", isHopeless: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := logs.Choose(tt.v, "train")
			assert.NilError(t, err)
			var reads []string
			for _, j := range p.Jobs {
				reads = append(reads, j.Context)
			}
			assert.Equal(t, strings.Join(reads, " and "), tt.reads)
			assert.Equal(t, p.End, tt.end)
			assert.Equal(t, p.Why, tt.why)
			assert.Equal(t, p.IsHopeless(), tt.isHopeless)
		})
	}
}

// TestChoose checks that of several Jobs with one name, the running one is selected.
func TestChoose(t *testing.T) {
	west, east := member("west", delegation.BuiltIn, delegation.Running), member("east", delegation.BuiltIn, delegation.Complete)
	p, err := logs.Choose(fleetOf([]*inspect.Job{west, east}, []*inspect.Job{east}), "train")
	assert.NilError(t, err)
	assert.Equal(t, p.Jobs[0], west)
	east.Status = delegation.Running
	_, err = logs.Choose(fleetOf([]*inspect.Job{west, east}, nil), "train")
	assert.Error(t, err, "train names several unrelated Jobs: namespace ml in context \"west\", namespace ml in context \"east\". Choose one with --context")
}

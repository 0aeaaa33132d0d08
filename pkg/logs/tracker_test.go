package logs_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/logs"
)

// trackedFleet is a fleet whose Jobs change while they are tracked.
type trackedFleet struct {
	*following
	changed chan struct{}

	mu   sync.Mutex
	view *inspect.Inventory
}

// changeTo changes the fleet, and triggers a look.
func (w *trackedFleet) changeTo(v *inspect.Inventory) {
	w.mu.Lock()
	w.view = v
	w.mu.Unlock()
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *trackedFleet) look(context.Context) *inspect.Inventory {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.view
}

// track begins to track the Job of a fleet.
func track(t *testing.T, v *inspect.Inventory, clusters ...*cluster) *trackedFleet {
	t.Helper()
	w := &trackedFleet{following: &following{call: newCall(t, all()), done: make(chan error, 1)}, changed: make(chan struct{}, 1), view: v}
	at, err := logs.Choose(v, "train")
	assert.NilError(t, err)
	tracker := &logs.Tracker{
		Reader: w.reader, ReadFleet: w.look, Changed: w.changed, Home: "home",
		Client: func(name string) (kubernetes.Interface, error) {
			for _, c := range clusters {
				if c.name == name {
					return c.client, nil
				}
			}
			t.Errorf("no cluster has the context %s", name)
			return nil, context.Canceled
		},
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go func() {
		_, err := tracker.Run(ctx, v, at)
		w.done <- err
	}()
	return w
}

// on returns a cluster with a Pod that runs a mirror.
func on(t *testing.T, mirror *inspect.Job) *cluster {
	t.Helper()
	c := newCluster(t)
	c.name = mirror.Context
	c.newPod("train-on-"+c.name, ofOtherJob)
	c.update("train-on-"+c.name, func(p *corev1.Pod) { p.OwnerReferences[0].UID = types.UID(mirror.UID) })
	c.run("train-on-"+c.name, "main")
	c.write("train-on-"+c.name, "main", "hello from "+c.name+"\n")
	return c
}

// TestJobMoves checks a Job that waits, runs on one cluster and then on another, and ends.
func TestJobMoves(t *testing.T) {
	origin := member("home", delegation.Dispatch, delegation.Running)
	inWest, inEast := mirrorOf(origin, "west", delegation.Running), mirrorOf(origin, "east", delegation.Running)
	west, east := on(t, inWest), on(t, inEast)
	type jobs = []*inspect.Job
	w := track(t, fleetOf(jobs{origin}, nil), west, east)
	w.awaitNote("note: waiting for Pods: no mirror found on home")
	w.changeTo(fleetOf(jobs{origin, inWest}, jobs{inWest}))
	w.await("train-on-west/main", "hello from west\n")
	// A cluster that does not answer for a moment may still run it.
	w.changeTo(fleetOf(jobs{origin}, nil, "west"))
	west.write("train-on-west", "main", "still there\n")
	w.await("train-on-west/main", "hello from west\nstill there\n")
	// The mirror is gone, and another one is created elsewhere.
	elsewhere := member("west", "x", delegation.Pending, otherName)
	w.changeTo(fleetOf(jobs{origin, inEast, elsewhere}, jobs{inEast}))
	w.await("train-on-east/main", "hello from east\n")
	west.write("train-on-west", "main", "goodbye\n")
	w.await("train-on-west/main", "hello from west\nstill there\ngoodbye\n")
	west.remove("train-on-west")
	ended := *inEast
	ended.Status = delegation.Failed
	east.write("train-on-east", "main", "failed\n")
	east.succeed("train-on-east")
	w.changeTo(fleetOf(jobs{origin, &ended, elsewhere}, jobs{&ended}))
	assert.NilError(t, w.wait())
	w.await("train-on-east/main", "hello from east\nfailed\n")
	assert.DeepEqual(t, w.notes, []string{
		"note: waiting for Pods: no mirror found on home",
		"note: reading the Pods of job ml/train on west; its origin is on home",
		"note: reading the Pods of job ml/train on east; its origin is on home",
		"note: job ml/train has ended: Failed on east",
	})
}

// TestJobRunsTwice checks that both are read.
func TestJobRunsTwice(t *testing.T) {
	origin := member("home", delegation.Dispatch, delegation.Running)
	inWest, inEast := mirrorOf(origin, "west", delegation.Running), mirrorOf(origin, "east", delegation.Running)
	west, east := on(t, inWest), on(t, inEast)
	type jobs = []*inspect.Job
	w := track(t, fleetOf(jobs{origin, inWest, inEast}, jobs{inWest, inEast}), west, east)
	w.await("train-on-west/main", "hello from west\n")
	w.await("train-on-east/main", "hello from east\n")
	west.remove("train-on-west")
	east.remove("train-on-east")
	// MultiKueue deletes mirrors before anyone sees their end.
	ended := *origin
	ended.Status = delegation.Complete
	w.changeTo(fleetOf(jobs{&ended}, nil, "nowhere"))
	w.changeTo(fleetOf(jobs{&ended, member("west", "x", "Pending", otherName), member("east", "x", "Pending", otherName)}, nil))
	assert.NilError(t, w.wait())
	assert.Equal(t, w.notes[len(w.notes)-1], "note: job ml/train has ended: Complete")
}

// TestJobWithoutAnAnswer checks that a Job is not gone while its origin's cluster does not answer,
// even if its mirror is.
func TestJobWithoutAnAnswer(t *testing.T) {
	origin := member("home", delegation.Dispatch, delegation.Running)
	inWest := mirrorOf(origin, "west", delegation.Running)
	west := on(t, inWest)
	type jobs = []*inspect.Job
	w := track(t, fleetOf(jobs{origin, inWest}, jobs{inWest}), west)
	w.await("train-on-west/main", "hello from west\n")
	elsewhere := member("west", "x", delegation.Pending, otherName)
	w.changeTo(fleetOf(jobs{inWest}, jobs{inWest}, "home"))
	west.write("train-on-west", "main", "still there\n")
	w.await("train-on-west/main", "hello from west\nstill there\n")
	west.remove("train-on-west")
	w.changeTo(fleetOf(jobs{elsewhere}, nil, "home"))
	w.awaitNote("note: waiting for Pods: cannot read home")
	ended := *origin
	ended.Status = delegation.Complete
	w.changeTo(fleetOf(jobs{&ended, elsewhere}, nil))
	assert.NilError(t, w.wait())
	assert.Equal(t, w.notes[len(w.notes)-1], "note: job ml/train has ended: Complete")
}

// TestClusterHasAnotherName checks that Pods are not read twice if another context stands for their
// cluster from one reading on, and that the tracking ends.
func TestClusterHasAnotherName(t *testing.T) {
	origin := member("home", delegation.Dispatch, delegation.Running)
	inWest := mirrorOf(origin, "west", delegation.Running)
	west := on(t, inWest)
	type jobs = []*inspect.Job
	w := track(t, fleetOf(jobs{origin, inWest}, jobs{inWest}), west)
	w.await("train-on-west/main", "hello from west\n")
	renamed := *inWest
	renamed.Context = "west-admin"
	w.changeTo(fleetOf(jobs{origin, &renamed}, jobs{&renamed}))
	west.write("train-on-west", "main", "once\n")
	w.await("train-on-west/main", "hello from west\nonce\n")
	west.succeed("train-on-west")
	ended := renamed
	ended.Status = delegation.Complete
	w.changeTo(fleetOf(jobs{origin, &ended}, jobs{&ended}))
	assert.NilError(t, w.wait())
}

func otherName(j *inspect.Job) { j.Name, j.UID = "another", "another-on-"+j.Context }

// TestJobIsDeleted checks that deleting the Job ends the tracking, too.
func TestJobIsDeleted(t *testing.T) {
	alone := member("home", delegation.BuiltIn, delegation.Running)
	home := on(t, alone)
	w := track(t, fleetOf([]*inspect.Job{alone}, nil), home)
	w.awaitNote("note: no Pods so far: the built-in Job controller runs it on home")
	w.await("train-on-home/main", "hello from home\n")
	home.remove("train-on-home")
	w.changeTo(fleetOf([]*inspect.Job{member("home", "x", "Pending", otherName)}, nil))
	assert.NilError(t, w.wait())
	assert.Equal(t, w.notes[len(w.notes)-1], "note: job ml/train was deleted")
}

// TestFleetIsReadPeriodically checks that the Tracker looks again even if no change is reported.
func TestFleetIsReadPeriodically(t *testing.T) {
	origin := member("home", delegation.Dispatch, delegation.Running)
	w := track(t, fleetOf([]*inspect.Job{origin}, nil))
	w.awaitNote("waiting for Pods")
	ended := *origin
	ended.Status = delegation.Complete
	w.mu.Lock()
	w.view = fleetOf([]*inspect.Job{&ended}, nil)
	w.mu.Unlock()
	w.step(2 * time.Second)
	assert.NilError(t, w.wait())
}

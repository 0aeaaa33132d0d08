package logs

import (
	"context"
	"sync"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
)

// outline is what of an object decides where logs are read.
type outline struct {
	uid        string
	isFinished bool
	podValue   string
}

func outlineOf(j *inspect.Job) outline {
	return outline{uid: j.UID, isFinished: j.Status.IsFinished(), podValue: j.PodLabelValue()}
}

// Watch tells on the channel when it is worth to look where a Job runs again: when
// objects of its name come, go or end on any of the clusters. known are those that
// were seen. The channel is not closed; nothing is sent any more once ctx is over.
// Call wait after that.
func Watch(ctx context.Context, clusters []*fleet.Cluster, q read.Query, known []*inspect.Job) (changed <-chan struct{}, wait func()) {
	outlines := map[inspect.Ref]outline{}
	for _, j := range known {
		outlines[place(j)] = outlineOf(j)
	}
	changes, tell := make(chan inspect.Change), make(chan struct{}, 1)
	var wg sync.WaitGroup
	for _, c := range clusters {
		wg.Go(func() { read.Watch(ctx, c, q, 0, changes) })
	}
	wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case change := <-changes:
				if !isNews(outlines, change) {
					continue
				}
				select {
				case tell <- struct{}{}:
				default:
					// It was told, and nobody has looked yet.
				}
			}
		}
	})
	return tell, wg.Wait
}

// isNews says whether a change is worth a look, and keeps outlines up to date.
func isNews(outlines map[inspect.Ref]outline, change inspect.Change) bool {
	key := place(&change.Job)
	switch change.Type {
	case inspect.Deleted:
		delete(outlines, key)
		return true
	case inspect.Found:
		return true
	case inspect.Added, inspect.Modified:
		now := outlineOf(&change.Job)
		was, isKnown := outlines[key]
		outlines[key] = now
		return !isKnown || was != now
	default:
		return false
	}
}

func place(j *inspect.Job) inspect.Ref {
	return inspect.Ref{Context: j.Context, Namespace: j.Namespace, Name: j.Name}
}

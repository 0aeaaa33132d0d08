package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

const (
	// checkInterval is the interval of reads that check whether objects are gone. For the few
	// seconds that this takes, they cost less than a watch.
	checkInterval = 250 * time.Millisecond
	// mirrorGracePeriod is how long MultiKueue may take to delete a mirror after its origin is gone.
	// After that, the Remover deletes the mirror.
	mirrorGracePeriod = 15 * time.Second
)

// Remover removes a Job, and waits until its mirrors and Workloads are gone.
type Remover struct {
	Clock clock.WithTicker
	// Manager is the cluster of the Job. Workers are all clusters that may have a mirror.
	Manager *fleet.Cluster
	Workers []*fleet.Cluster
	// Namespace, Name and UID are those of the Job. The UID is empty if the server's answer to
	// its creation was lost.
	Namespace, Name, UID string
	// KueueVersion returns the version of Kueue's API on a cluster, "" if it serves none.
	KueueVersion func(context.Context, *fleet.Cluster) (string, error)
}

// Leftover is an object that could not be removed, or could not be proven to be gone.
type Leftover struct {
	Cluster    *fleet.Cluster
	Kind, Name string
	// Resource is the resource in kubectl's notation.
	Resource string
	// Err is the reason.
	Err error
	// IsSeen is whether the object existed when it was last read.
	IsSeen bool
}

// errStillExists means that an object still exists without a known reason.
var errStillExists = errors.New("still exists")

// Removal is the result of a Remover.
type Removal struct {
	// Left are the remaining objects, in the order of the clusters.
	Left []Leftover
	// Unseen are the contexts where the user has no right to check.
	Unseen []string
	// IsProven is whether the Job is certainly gone. Otherwise its cluster, which nothing identifies,
	// only reports that.
	IsProven bool
	// Unproven are the contexts of workers that nothing identifies, and that only report mirror and
	// Workloads gone.
	Unproven []string
}

// Identify reads the UID of a namespace from clusters whose kube-system is not readable, so that they can
// prove to a Remover that objects are gone. Nothing identifies a cluster that does not answer.
func Identify(ctx context.Context, clusters []*fleet.Cluster, namespace string) {
	var group sync.WaitGroup
	for _, c := range clusters {
		group.Go(func() { _ = c.Identify(ctx, namespace) })
	}
	group.Wait()
}

// Run removes the objects until ctx is done.
func (r *Remover) Run(ctx context.Context) (done Removal) {
	one, isProven := r.removeOrigin(ctx)
	if one != nil {
		// When the origin is removed later, MultiKueue removes the rest.
		return Removal{Left: []Leftover{*one}}
	}
	done.IsProven = isProven
	clusters := append([]*fleet.Cluster{r.Manager}, r.Workers...)
	found := make([]remains, len(clusters))
	start := r.Clock.Now()
	var group sync.WaitGroup
	for i, c := range clusters {
		group.Go(func() { found[i] = r.awaitGone(ctx, c, start) })
	}
	group.Wait()
	for i, c := range clusters {
		done.Left = append(done.Left, found[i].left...)
		switch {
		case found[i].hasNoRight:
			done.Unseen = append(done.Unseen, c.Context)
		case found[i].isUnproven && c != r.Manager:
			done.Unproven = append(done.Unproven, c.Context)
		}
	}
	return done
}

// removeOrigin removes the origin, and returns it if it remains. isProven is whether it is certainly
// gone.
func (r *Remover) removeOrigin(ctx context.Context) (left *Leftover, isProven bool) {
	left = &Leftover{Cluster: r.Manager, Kind: "Job", Name: r.Name, Resource: "job"}
	for {
		isGone, isProven, err := r.tryRemoval(ctx)
		if isGone {
			return nil, isProven
		}
		if err != nil && (ctx.Err() == nil || left.Err == nil) {
			// The error of the last complete attempt is the reason.
			left.Err = err
		}
		left.IsSeen = err == nil
		if apierrors.IsForbidden(err) || !r.pause(ctx) {
			if left.Err == nil {
				left.Err = errStillExists
			}
			return left, false
		}
	}
}

// tryRemoval deletes the origin, and reports whether it was gone before. Nothing proves that if nothing
// identifies its cluster.
func (r *Remover) tryRemoval(ctx context.Context) (isGone, isProven bool, err error) {
	jobs, isDeleted := delegation.Job().Resource, false
	if r.UID == "" {
		o, err := r.Manager.Get(ctx, jobs, r.Namespace, r.Name)
		switch {
		case err != nil:
			return false, false, err
		case o != nil && !isProbeJob(o):
			return true, true, nil
		case o != nil:
			r.UID = string(o.GetUID())
		}
	}
	if r.UID == "" {
		err = r.Manager.ProveAbsent(ctx, jobs, r.Namespace, r.Name)
	} else {
		// The probe has created the Job, so it is ours at any version.
		isDeleted, err = r.Manager.Remove(ctx, jobs, r.Namespace, r.Name, r.UID)
	}
	if kubecontext.IsUnidentified(err) {
		return true, false, nil
	}
	return err == nil && !isDeleted, err == nil && !isDeleted, err
}

// object is an object that has to be gone.
type object struct {
	kind, resource, name string
	gvr                  schema.GroupVersionResource
}

// remains are what a cluster has of a probe.
type remains struct {
	left []Leftover
	// hasNoRight is whether the user has no right to check that. isUnproven is whether nothing identifies
	// the cluster that reports an object gone.
	hasNoRight, isUnproven bool
}

// awaitGone waits until a cluster has neither a mirror nor a Workload.
func (r *Remover) awaitGone(ctx context.Context, c *fleet.Cluster, start time.Time) (found remains) {
	objects, err := r.objectsOn(ctx, c)
	if err != nil {
		found.left = append(found.left, Leftover{Cluster: c, Kind: "Workload", Name: r.workloads()[0], Resource: "workloads.kueue.x-k8s.io", Err: err})
	}
	var last []Leftover
	for {
		var open []Leftover
		for _, o := range objects {
			one := r.remainingObject(ctx, c, o, start)
			switch err := errOf(one); {
			case apierrors.IsForbidden(err):
				found.hasNoRight = true
			case kubecontext.IsUnidentified(err):
				found.isUnproven = true
			case one != nil:
				open = append(open, *one)
			}
		}
		if len(open) == 0 || last == nil || ctx.Err() == nil {
			// The errors of the last complete attempt are the reasons.
			last = open
		}
		if len(open) == 0 || !r.pause(ctx) {
			found.left = append(found.left, last...)
			return found
		}
	}
}

func errOf(l *Leftover) error {
	if l == nil {
		return nil
	}
	return l.Err
}

// objectsOn returns the objects that have to be gone on a cluster.
func (r *Remover) objectsOn(ctx context.Context, c *fleet.Cluster) ([]object, error) {
	var objects []object
	if c != r.Manager {
		objects = append(objects, object{kind: "Job", resource: "job", name: r.Name, gvr: delegation.Job().Resource})
	}
	version, err := r.KueueVersion(ctx, c)
	if version == "" || r.UID == "" {
		return objects, err
	}
	workloads := schema.GroupVersionResource{Group: delegation.KueueGroup, Version: version, Resource: "workloads"}
	for _, name := range r.workloads() {
		objects = append(objects, object{kind: "Workload", resource: workloads.GroupResource().String(), name: name, gvr: workloads})
	}
	return objects, nil
}

// workloads returns the possible names of the Workload. The Job is not elastic, so it has only one.
func (r *Remover) workloads() []string {
	return delegation.Job().WorkloadNames(r.Name, r.UID, "")
}

// remainingObject returns an object that is not proven to be gone, or nil. It deletes a mirror that
// MultiKueue has not deleted in time.
func (r *Remover) remainingObject(ctx context.Context, c *fleet.Cluster, o object, start time.Time) *Leftover {
	left := &Leftover{Cluster: c, Kind: o.kind, Name: o.name, Resource: o.resource}
	found, err := c.Get(ctx, o.gvr, r.Namespace, o.name)
	if err == nil && found == nil {
		err = c.ProveAbsent(ctx, o.gvr, r.Namespace, o.name)
		if err == nil {
			return nil
		}
	}
	if err != nil {
		left.Err = err
		return left
	}
	left.IsSeen, left.Err = true, errStillExists
	if finalizers := found.GetFinalizers(); found.GetDeletionTimestamp() != nil && len(finalizers) > 0 {
		left.Err = fmt.Errorf("its deletion waits for the finalizers %s", slices.Sorted(slices.Values(finalizers)))
	}
	if o.kind != "Job" || !isProbeJob(found) || r.Clock.Since(start) < mirrorGracePeriod {
		return left
	}
	if _, err := c.RemoveIf(ctx, o.gvr, found, isProbeJob); err != nil {
		left.Err = err
	}
	return left
}

// pause waits for a moment. It returns false if ctx is done.
func (r *Remover) pause(ctx context.Context) bool {
	timer := r.Clock.NewTimer(checkInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C():
		return true
	}
}

package rules

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// jobOf is the Job that a Workload was made for on its own cluster, nil if it is
// not there.
func (v *View) jobOf(f *inspect.Facts, w *kueue.Workload) *inspect.Job {
	uid := w.Labels[delegation.JobUIDLabel]
	if owner := metav1.GetControllerOf(w); owner != nil {
		uid = cmp.Or(string(owner.UID), uid)
	}
	return v.jobOfUID(f, uid)
}

// ownPods are the pods that an object controls, itself or through what it has made.
// A label alone tells whose a pod is only where it names the object's kind: others
// are shared by kinds.
func (v *View) ownPods(f *inspect.Facts, j *inspect.Job) []*inspect.Pod {
	pods, _ := v.Pods(f, j)
	return slices.DeleteFunc(slices.Clone(pods), func(p *inspect.Pod) bool {
		return p.CreationTimestamp.Before(&j.CreationTimestamp) || !v.isOf(f, p, j)
	})
}

// isOf follows those that control a pod up to an object.
func (v *View) isOf(f *inspect.Facts, p *inspect.Pod, j *inspect.Job) bool {
	const deep = 8
	for uid, n := p.JobUID, 0; n < deep; n++ {
		if uid == j.UID {
			return true
		}
		owner := v.jobOfUID(f, uid)
		if owner == nil {
			return isNamedByLabel(j.Row())
		}
		if owner.Controller == nil {
			return false
		}
		uid = string(owner.Controller.UID)
	}
	return false
}

// isNamedByLabel says whether the label of a kind's pods names the kind, and so has
// the name of one object of it as its value.
func isNamedByLabel(row delegation.Kind) bool {
	return len(row.PodValue) == 0 && strings.Contains(strings.ToLower(row.PodLabel), row.Name)
}

// returned is a mirror whose origin is there, and is delegated no more.
type returned struct {
	origin, mirror *inspect.Job
	// proof quotes what says that the one is the other's.
	proof string
}

// returned are the mirrors that run on while their origins are not delegated any
// more. That takes a kind whose managedBy can be changed.
func (v *View) returned() []returned {
	var found []returned
	for _, m := range v.Orphans() {
		if row := m.Row(); !isLiveJob(m) || row.IsUnmanaged() || row.Change == delegation.Never {
			continue
		}
		for _, f := range v.Clusters() {
			if f.Context == m.Context {
				continue
			}
			if r := v.returnedFrom(f, m); r != nil {
				found = append(found, *r)
				break
			}
		}
	}
	return found
}

// returnedFrom finds the origin of a mirror on a cluster, where it is not delegated;
// nil if there is none.
func (v *View) returnedFrom(f *inspect.Facts, mirror *inspect.Job) *returned {
	origin := v.jobNamed(f, mirror, mirror.Namespace, mirror.Name)
	if mirror.Marks.OriginUID != "" {
		origin = v.jobOfUID(f, mirror.Marks.OriginUID)
	}
	if origin == nil || !origin.ManagedBy.IsBuiltIn() || !origin.IsOpen() || origin.IsMirror() {
		return nil
	}
	proof := v.proofOf(f, origin, mirror)
	if proof == "" {
		return nil
	}
	return &returned{origin, mirror, proof}
}

// proofOf quotes what says that a mirror was made for this very object, "" if
// nothing does.
func (v *View) proofOf(f *inspect.Facts, origin, mirror *inspect.Job) string {
	prebuilt := mirror.Prebuilt()
	var w *kueue.Workload
	if prebuilt != "" {
		w, _ = v.Workload(f, mirror.Namespace, prebuilt)
	}
	names := origin.Row().WorkloadNames(origin.Name, origin.UID, "")
	switch {
	case mirror.Marks.OriginUID == origin.UID:
		return markOf(mirror)
	case w != nil && isFor(w, origin), slices.Contains(names, prebuilt):
		return mirror.Context + ": annotation " + delegation.PrebuiltWorkload + " of " + named(Of(mirror)) + " is " + prebuilt +
			", which is a Workload of uid " + origin.UID
	}
	return ""
}

package kinds

import (
	"slices"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// ownPods returns the Pods that an object controls, directly or through its
// parts. A label alone identifies a Pod's object only if the label names the
// kind, because kinds share other labels.
func ownPods(v *view.View, f *inspect.Facts, j *inspect.Job) []*inspect.Pod {
	pods, _ := v.Pods(f, j)
	return slices.DeleteFunc(slices.Clone(pods), func(p *inspect.Pod) bool {
		return p.CreationTimestamp.Before(&j.CreationTimestamp) || !isPodOf(v, f, p, j)
	})
}

// isPodOf reports whether an object controls a Pod, directly or through other
// objects.
func isPodOf(v *view.View, f *inspect.Facts, p *inspect.Pod, j *inspect.Job) bool {
	const deep = 8
	for uid, n := p.JobUID, 0; n < deep; n++ {
		if uid == j.UID {
			return true
		}
		owner := v.JobByUID(f, uid)
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

// isNamedByLabel reports whether the label of a kind's Pods names the kind,
// so that its value is the name of an object of that kind.
func isNamedByLabel(row delegation.Kind) bool {
	return len(row.PodValue) == 0 && strings.Contains(strings.ToLower(row.PodLabel), row.Name)
}

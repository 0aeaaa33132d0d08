package plumbing

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
)

// firstStatus is how long a controller may take to write the first status of a new object. Kueue connects to a
// worker before it does.
const firstStatus = time.Minute

// isYoung reports whether an object of a manager is so new that its controller has had no time to write its status.
func isYoung(v *view.View, f *inspect.Facts, created metav1.Time) bool {
	return v.Age(f.Context, created.Time) < firstStatus
}

// ageOf returns the age of an object of a manager in words.
func ageOf(v *view.View, f *inspect.Facts, created metav1.Time) string {
	return duration.HumanDuration(max(0, v.Age(f.Context, created.Time)))
}

// areConnecting reports whether clusters are unusable only because their manager still connects to them.
func (u *unusable) areConnecting(v *view.View, f *inspect.Facts) bool {
	for _, c := range u.inactive {
		if meta.FindStatusCondition(c.Status.Conditions, kueue.Active) != nil || !isYoung(v, f, c.CreationTimestamp) {
			return false
		}
	}
	return len(u.missing) == 0 && len(u.inactive) > 0
}

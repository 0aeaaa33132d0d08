package inspect

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// askParts sets the status of objects whose controller does not write it while they run. It takes
// it from the objects that they control, or from their Pods.
func (f *Facts) askParts() {
	silent := map[string]*Job{}
	for _, j := range f.Jobs {
		if j.Status == delegation.Unknown && j.Row().Indicators.ChildKind != "" {
			silent[j.UID] = j
		}
	}
	if len(silent) == 0 {
		return
	}
	for _, part := range f.Jobs {
		if part.Controller == nil || part.DeletedAt != nil {
			continue
		}
		if j := silent[string(part.Controller.UID)]; j != nil && isUnderWay(part.Status) {
			j.Status, j.Since = part.Status, part.Since
		}
	}
	for _, j := range silent {
		for _, p := range f.PodsOf(j) {
			if p.Phase == corev1.PodRunning && !p.CreationTimestamp.Before(&j.CreationTimestamp) && j.Status != delegation.Running {
				j.Status, j.Since = delegation.Running, nil
			}
		}
	}
}

// isUnderWay says whether an object with this status was picked up and has not ended.
func isUnderWay(s delegation.Status) bool {
	return s == delegation.Running || s == delegation.Pending || s == delegation.Suspended
}

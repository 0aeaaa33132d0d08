package inspect

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// askParts tells the state of objects whose controller does not write it while they run,
// by what it has made of them, as far as that was read.
func (f *Facts) askParts() {
	silent := map[string]*Job{}
	for _, j := range f.Jobs {
		if j.Status == delegation.Unknown && j.Row().Reading.Silent != "" {
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

// isUnderWay says whether what has that status was taken up, and goes on.
func isUnderWay(s delegation.Status) bool {
	return s == delegation.Running || s == delegation.Pending || s == delegation.Suspended
}

package logs

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Running returns the running Pods of a target, in the order of display. Of their specs, it keeps
// only the names of containers.
func (t Target) Running(ctx context.Context) ([]*corev1.Pod, error) {
	if !t.hasPods() {
		return nil, nil
	}
	pods, err := t.list(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(pods, func(p *corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil }), nil
}

// PodNamed returns the running Pod with a name, or the first one for "".
func (t Target) PodNamed(name string, running []*corev1.Pod) (*corev1.Pod, error) {
	if name == "" {
		return running[0], nil
	}
	names := make([]string, len(running))
	for i, p := range running {
		names[i] = p.Name
		if p.Name == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("context %q: Pod %q is not a running Pod of %s. Running: %s", t.Job.Context, name, t, strings.Join(names, ", "))
}

package placement

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	security "k8s.io/pod-security-admission/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// keepPodSecurity decides that Pods never start in a namespace whose PodSecurity level refuses them. The
// API server checks the Pods, not the Job (kubernetes: KEP-2579). Levels and exemptions in the
// configuration of the API server are unknown.
func (s *site) keepPodSecurity() {
	if s.role.isGiven || s.Verdict == inspect.Never || s.capacity == nil {
		return
	}
	namespace := s.capacity.Namespaces[s.request.Namespace]
	if namespace == nil {
		return
	}
	anything := security.LevelVersion{Level: security.LevelPrivileged, Version: security.LatestVersion()}
	// The API server, too, takes an invalid level for the strictest one.
	level, _ := security.PolicyToEvaluate(namespace.Labels, security.Policy{Enforce: anything, Audit: anything, Warn: anything})
	for i := range s.request.PodSets {
		why, err := podfit.Violations(level.Enforce, &s.request.PodSets[i].Template)
		if err != nil {
			s.Message += fmt.Sprintf("; the PodSecurity level of namespace %s was not checked: %s", namespace.Name, err)
			return
		}
		if why != "" {
			s.decide(inspect.Never, inspect.PodsRefused, "namespace %s refuses the Pods (PodSecurity level %s): %s", namespace.Name, level.Enforce.Level, why)
			s.Changes = []inspect.PlacementChange{s.again(inspect.PlacementChange{Message: "set these fields in the Pod template"}), s.allowPods(namespace.Name, level.Enforce.Version)}
			return
		}
	}
}

// allowPods returns the change of a namespace that lets it take the Pods. It prints no command that
// switches PodSecurity off.
func (s *site) allowPods(namespace string, version security.Version) inspect.PlacementChange {
	var all []*corev1.PodTemplateSpec
	for i := range s.request.PodSets {
		all = append(all, &s.request.PodSets[i].Template)
	}
	level := podfit.LowestLevel(version, all...)
	if level == security.LevelPrivileged {
		return inspect.PlacementChange{Message: fmt.Sprintf("ask the administrator of namespace %s on %s to allow such Pods", namespace, s.Context)}
	}
	return inspect.PlacementChange{
		Message: fmt.Sprintf("allow Pods of PodSecurity level %s in namespace %s on %s", level, namespace, s.Context),
		Command: command.Kubectl(s.Context, "", "label", "--overwrite", "namespace", namespace, podfit.EnforceLabel(level)).Shell(),
	}
}

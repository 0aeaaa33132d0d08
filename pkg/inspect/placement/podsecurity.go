package placement

import (
	"fmt"

	security "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// keepPodSecurity decides that Pods never start in a namespace whose PodSecurity level refuses them. The
// API server checks the Pods, not the Job (kubernetes: KEP-2579). Levels and exemptions in the
// configuration of the API server are unknown.
func (s *site) keepPodSecurity() {
	if s.request.isGiven || s.Verdict == inspect.Never || s.capacity == nil {
		return
	}
	namespace := s.capacity.Namespaces[s.request.Namespace]
	if namespace == nil {
		return
	}
	anything := security.LevelVersion{Level: security.LevelPrivileged, Version: security.LatestVersion()}
	// The API server, too, takes an invalid level for the strictest one.
	level, _ := security.PolicyToEvaluate(namespace.Labels, security.Policy{Enforce: anything, Audit: anything, Warn: anything})
	if level.Enforce.Level == security.LevelPrivileged {
		return
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		s.Message += fmt.Sprintf("; the PodSecurity level of namespace %s was not checked: %s", namespace.Name, err)
		return
	}
	for i := range s.request.PodSets {
		template := &s.request.PodSets[i].Template
		found := policy.AggregateCheckResults(evaluator.EvaluatePod(level.Enforce, &template.ObjectMeta, &template.Spec))
		if found.Allowed {
			continue
		}
		s.decide(inspect.Never, inspect.PodsRefused, "namespace %s refuses the Pods (PodSecurity level %s): %s", namespace.Name, level.Enforce.Level, found.ForbiddenDetail())
		s.Changes = []inspect.PlacementChange{
			{Message: "set these fields in the Pod template"},
			{
				Message: fmt.Sprintf("allow such Pods in namespace %s on %s", namespace.Name, s.Context),
				Command: command.Kubectl(s.Context, "", "label", "--overwrite", "namespace", namespace.Name, security.EnforceLevelLabel+"=privileged").Shell(),
			},
		}
		return
	}
}

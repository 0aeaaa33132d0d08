package podfit

import (
	corev1 "k8s.io/api/core/v1"
	security "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// Violations returns what a PodSecurity level forbids about Pods, "" if it allows them. It checks Pods
// as the API server does, which does not check a Job by its template (kubernetes: KEP-2579).
func Violations(level security.LevelVersion, pods *corev1.PodTemplateSpec) (string, error) {
	if level.Level == security.LevelPrivileged {
		return "", nil
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return "", err
	}
	found := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &pods.ObjectMeta, &pods.Spec))
	if found.Allowed {
		return "", nil
	}
	return found.ForbiddenDetail(), nil
}

// LowestLevel returns the strictest PodSecurity level that allows all of the Pods.
func LowestLevel(version security.Version, all ...*corev1.PodTemplateSpec) security.Level {
	for _, level := range []security.Level{security.LevelRestricted, security.LevelBaseline} {
		if allows(security.LevelVersion{Level: level, Version: version}, all) {
			return level
		}
	}
	return security.LevelPrivileged
}

// allows reports whether a PodSecurity level is known to allow all of the Pods.
func allows(level security.LevelVersion, all []*corev1.PodTemplateSpec) bool {
	for _, pods := range all {
		if why, err := Violations(level, pods); why != "" || err != nil {
			return false
		}
	}
	return true
}

// EnforceLabel returns the label of a namespace that enforces a PodSecurity level, as "key=value".
func EnforceLabel(level security.Level) string {
	return security.EnforceLevelLabel + "=" + string(level)
}

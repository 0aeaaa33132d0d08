package refusal

import (
	"regexp"
	"slices"
	"strings"

	security "k8s.io/pod-security-admission/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// allowPods returns the fix for a Pod that the PodSecurity level of its namespace refuses. The fix never
// switches PodSecurity off. enforced is the level with its version, such as "restricted:latest".
func (t *Target) allowPods(enforced, violations string) command.Prose {
	level := t.lowestLevel(enforced, violations)
	name, _, _ := strings.Cut(enforced, ":")
	// The server judges the Pod that webhooks have changed. If the level allows the Pod without these
	// changes, the label is already set.
	if level == security.LevelPrivileged || security.CompareLevels(level, security.Level(name)) >= 0 {
		return command.Say("ask the administrator of the namespace to allow such Pods")
	}
	return command.Say("allow Pods of level %s there: %s", string(level), t.kubectl("", "label", "--overwrite", "namespace", t.Namespace, podfit.EnforceLabel(level)))
}

// lowestLevel returns the strictest PodSecurity level that allows the Pod: by its template or, if that is
// unknown, by what the server says about it. It is the widest level if that does not show.
func (t *Target) lowestLevel(enforced, violations string) security.Level {
	name, text, _ := strings.Cut(enforced, ":")
	if t.Pod == nil {
		if security.Level(name) == security.LevelRestricted && areOnlyRestricted(violations) {
			return security.LevelBaseline
		}
		return security.LevelPrivileged
	}
	version, err := security.ParseVersion(text)
	if err != nil {
		version = security.LatestVersion()
	}
	return podfit.LowestLevel(version, t.Pod)
}

// baselineViolation matches violations of the level baseline.
var baselineViolation = regexp.MustCompile(`must not include|"Unconfined"|"hostPath"`)

// parentheses matches a text in parentheses.
var parentheses = regexp.MustCompile(`\([^()]*(?:\([^()]*\)[^()]*)*\)`)

// areOnlyRestricted reports whether the level baseline allows what the level restricted forbids. The server
// lists all violations of restricted, and those of baseline among them (pod-security-admission: policy).
func areOnlyRestricted(violations string) bool {
	if baselineViolation.MatchString(violations) {
		// Added capabilities, and a profile and volumes that baseline forbids, too.
		return false
	}
	reasons := parentheses.ReplaceAllString(violations, "")
	for reason := range strings.SplitSeq(reasons, ",") {
		if !slices.Contains([]string{
			"allowPrivilegeEscalation != false", "unrestricted capabilities", "restricted volume types", "runAsNonRoot != true", "runAsUser=0", "seccompProfile",
		}, strings.TrimSpace(reason)) {
			return false
		}
	}
	return true
}

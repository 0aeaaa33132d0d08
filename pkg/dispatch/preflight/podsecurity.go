package preflight

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	security "k8s.io/pod-security-admission/api"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/podfit"
)

// allowPods returns the fix for a Pod that the PodSecurity level of its namespace refuses. The fix never
// switches PodSecurity off. enforced is the level with its version, such as "restricted:latest".
func (p Probe) allowPods(o *unstructured.Unstructured, enforced string) command.Prose {
	level := lowestLevel(o, enforced)
	name, _, _ := strings.Cut(enforced, ":")
	// The server judges the Pod that webhooks have changed. If the level allows the Pod without these
	// changes, the label is already set.
	if level == security.LevelPrivileged || security.CompareLevels(level, security.Level(name)) >= 0 {
		return command.Say("ask the administrator of the namespace to allow such Pods")
	}
	return command.Say("allow Pods of level %s there: %s", string(level),
		p.Kubectl("", "label", "--overwrite", "namespace", o.GetNamespace(), podfit.EnforceLabel(level)))
}

// lowestLevel returns the strictest PodSecurity level that allows a Pod, the widest if it is invalid.
func lowestLevel(o *unstructured.Unstructured, enforced string) security.Level {
	pod := &corev1.Pod{}
	if o.GetKind() != "Pod" || runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, pod) != nil {
		return security.LevelPrivileged
	}
	_, text, _ := strings.Cut(enforced, ":")
	version, err := security.ParseVersion(text)
	if err != nil {
		version = security.LatestVersion()
	}
	return podfit.LowestLevel(version, &corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec})
}

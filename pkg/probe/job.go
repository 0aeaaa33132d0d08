// Package probe writes what doctor --probe needs: a tiny Job, and its removal from every cluster. It
// judges nothing.
package probe

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

const (
	// Label is on every Job of a probe and on its Pods; the value is the name of the Job. MultiKueue
	// copies labels and annotations to mirrors, so mirrors are recognized by it too.
	Label = "jobmanagedby.github.io/probe"
	// SecondsAnnotation is the number of seconds after which the probe that created a Job has
	// certainly ended, so that the next probe may remove the Job.
	SecondsAnnotation = "jobmanagedby.github.io/probe-seconds"
	// prefix begins the name of every probe.
	prefix = "jobs-managedby-probe-"
	// DefaultImage is tiny, has no shell, runs as any user, and never ends.
	DefaultImage = "registry.k8s.io/pause:3.10"
	// ttl is how long a finished Job remains if no probe removes it.
	ttl = time.Minute
)

// Job describes the Job to submit.
type Job struct {
	Namespace, Queue string
	// Suffix makes the name unique.
	Suffix string
	Image  string
	// Requests are quantities by resource.
	Requests map[string]string
	// Lifetime is the time after which the probe has certainly ended. Kubernetes ends a Job that
	// still runs then.
	Lifetime time.Duration
}

// Name is the name of the Job.
func (j *Job) Name() string { return prefix + j.Suffix }

// Origin returns the Job to submit. It meets the PodSecurity standard "restricted".
func (j *Job) Origin() *unstructured.Unstructured {
	requests := map[string]any{}
	for name, quantity := range j.Requests {
		requests[name] = quantity
	}
	seconds := int64(j.Lifetime / time.Second)
	container := map[string]any{
		"name": "probe", "image": j.Image,
		"securityContext": map[string]any{"allowPrivilegeEscalation": false, "capabilities": map[string]any{"drop": []any{"ALL"}}},
	}
	if len(requests) > 0 {
		container["resources"] = map[string]any{"requests": requests, "limits": maps.Clone(requests)}
	}
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch/v1", "kind": "Job",
		"metadata": map[string]any{
			"name": j.Name(), "namespace": j.Namespace,
			"labels":      map[string]any{delegation.QueueNameLabel: j.Queue, Label: j.Name()},
			"annotations": map[string]any{SecondsAnnotation: strconv.FormatInt(seconds, 10)},
		},
		"spec": map[string]any{
			"managedBy": string(delegation.MultiKueue), "suspend": true,
			"parallelism": int64(1), "completions": int64(1), "backoffLimit": int64(0),
			"activeDeadlineSeconds": seconds, "ttlSecondsAfterFinished": int64(ttl / time.Second),
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{Label: j.Name()}},
				"spec": map[string]any{
					"restartPolicy": "Never", "automountServiceAccountToken": false, "enableServiceLinks": false,
					"terminationGracePeriodSeconds": int64(1),
					"securityContext": map[string]any{
						"runAsNonRoot": true, "seccompProfile": map[string]any{"type": "RuntimeDefault"},
					},
					"containers": []any{container},
				},
			},
		},
	}}
	return o
}

// mirror returns the Job as a worker gets it, without the marks that only MultiKueue may write.
func mirror(origin *unstructured.Unstructured) *unstructured.Unstructured {
	m := origin.DeepCopy()
	unstructured.RemoveNestedField(m.Object, "spec", "managedBy")
	return m
}

// podOf returns a Pod of a Job.
func podOf(job *unstructured.Unstructured) *unstructured.Unstructured {
	template, _, _ := unstructured.NestedMap(job.Object, "spec", "template")
	pod := &unstructured.Unstructured{Object: template}
	pod.SetAPIVersion("v1")
	pod.SetKind("Pod")
	pod.SetNamespace(job.GetNamespace())
	pod.SetName(job.GetName() + "-0")
	return pod
}

// isProbeJob reports whether an object is the Job of a probe, or a mirror of one.
func isProbeJob(o *unstructured.Unstructured) bool {
	return o.GetKind() == "Job" && strings.HasPrefix(o.GetName(), prefix) && o.GetLabels()[Label] == o.GetName() && lifetimeOf(o) > 0
}

// lifetimeOf returns the value of SecondsAnnotation; 0 if there is none.
func lifetimeOf(o *unstructured.Unstructured) time.Duration {
	seconds, err := strconv.Atoi(o.GetAnnotations()[SecondsAnnotation])
	if err != nil || seconds < 0 {
		return 0
	}
	return delegation.Seconds(int64(seconds))
}

// isLeftover reports whether the probe that created a Job has certainly ended, by the clock of the
// Job's cluster.
func isLeftover(o *unstructured.Unstructured, now time.Time) bool {
	return isProbeJob(o) && now.Sub(o.GetCreationTimestamp().Time) > lifetimeOf(o)
}

// Describe returns the kind and the name of a Job.
func Describe(o *unstructured.Unstructured) string {
	return fmt.Sprintf("Job %s/%s", o.GetNamespace(), o.GetName())
}

// Attempt is a dry run that creates an object. Err is the objection of the server, nil if it has none.
type Attempt struct {
	Object *unstructured.Unstructured
	Err    error
}

// Trial is the mirror of a Job on a worker, and a Pod of it.
type Trial struct{ Mirror, Pod Attempt }

// Try creates the mirror of a Job and a Pod of it on a worker, in dry runs, so that the
// namespace, quotas, webhooks and PodSecurity of the worker are checked.
func Try(ctx context.Context, c *fleet.Cluster, origin *unstructured.Unstructured) Trial {
	m := mirror(origin)
	t := Trial{Mirror: Attempt{Object: m}, Pod: Attempt{Object: podOf(m)}}
	_, t.Mirror.Err = c.Create(ctx, delegation.Job().Resource, m, "", metav1.DryRunAll)
	_, t.Pod.Err = c.Create(ctx, corev1.SchemeGroupVersion.WithResource("pods"), t.Pod.Object, "", metav1.DryRunAll)
	return t
}

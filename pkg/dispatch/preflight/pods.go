package preflight

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/dependency"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// trial is what came of having a server create a pod in a dry run.
type trial struct {
	problems []Problem
	// pod is what the server would have stored, after its admission plugins have
	// changed it; nil if it would not.
	pod *unstructured.Unstructured
}

// pods has the server try one of the mirror's pods of each template, and then looks
// at what that does not: who pulls the images, how it is scheduled.
func (c *check) pods(ctx context.Context, of *pods) []Problem {
	if !c.kind.IsJob() && !of.IsWhole() {
		return nil
	}
	template := c.podOf(of)
	result := c.tryPod(ctx, of, template)
	admitted := result.pod
	if admitted == nil {
		admitted = template
	}
	pod := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(admitted.Object, pod); err != nil {
		return result.problems
	}
	return slices.Concat(result.problems, together(ctx,
		func(ctx context.Context) []Problem { return c.accountPulls(ctx, of, pod) },
		func(ctx context.Context) []Problem { return c.nodesFor(ctx, pod) },
		func(ctx context.Context) []Problem { return c.priority(ctx, of) },
	))
}

// tryPod has a server create a pod in a dry run, which runs all of its admission
// plugins; for a Job it runs only those that look at Jobs. What they miss is put
// aside, so that one answer does not hide the next.
func (c *check) tryPod(ctx context.Context, of *pods, template *unstructured.Unstructured) trial {
	if may, err := c.worker.may(ctx, c.namespace(), "create", podsResource()); err == nil && !may {
		found := together(ctx,
			func(ctx context.Context) []Problem { return c.account(ctx, of) },
			func(ctx context.Context) []Problem { return c.priorityClass(ctx, of) },
			func(ctx context.Context) []Problem { return c.runtimeClass(ctx, of) },
		)
		return trial{problems: append(found, Problem{
			Context: c.worker.Context, Object: "the pods",
			Message: fmt.Sprintf("cannot be checked against quota, PodSecurity and webhooks: you may not create pods in namespace %s", c.namespace()),
		})}
	}
	// Pods that differ by their Job alone are tried once.
	body, err := json.Marshal(map[string]any{"spec": template.Object["spec"], "annotations": template.GetAnnotations(), "labels": otherLabels(template)})
	if err != nil {
		return trial{}
	}
	question := fmt.Sprintf("pod in %s %x", c.namespace(), sha256.Sum256(body))
	result, err := recall(ctx, c.worker, question, func(ctx context.Context) (trial, error) { return c.tryUntilClear(ctx, template.DeepCopy()) })
	if err != nil {
		return trial{problems: []Problem{c.worker.unchecked("the pods", c.namespace(), err)}}
	}
	return result
}

// tryUntilClear tries a pod until the server takes it, or has something against it
// that cannot be put aside.
func (c *check) tryUntilClear(ctx context.Context, pod *unstructured.Unstructured) (trial, error) {
	var result trial
	for {
		admitted, err := c.admit(ctx, pod)
		if err == nil {
			result.pod = admitted
			return result, nil
		}
		if kubecontext.IsConnection(err) {
			return result, err
		}
		for _, p := range c.worker.refused(pod, err) {
			result.problems = append(result.problems, c.withRemedy(ctx, p))
			if !putAside(pod, p.Object) {
				return result, nil
			}
		}
	}
}

// A namespace has its default ServiceAccount a moment after it was made. How long that is
// waited for, and how often it is asked for meanwhile.
const (
	accountWait  = 3 * time.Second
	accountRetry = 100 * time.Millisecond
)

// admit has the server do everything to create a pod, but store it.
func (c *check) admit(ctx context.Context, pod *unstructured.Unstructured) (admitted *unstructured.Unstructured, err error) {
	resource := corev1.SchemeGroupVersion.WithResource("pods")
	// It is asked at least once, for as long as ctx lets it: a slow server may take longer
	// than the wait. What is told is its last answer.
	_ = wait.PollUntilContextTimeout(ctx, accountRetry, accountWait, true, func(context.Context) (bool, error) {
		admitted, err = c.worker.Create(ctx, resource, pod, metav1.FieldValidationIgnore, metav1.DryRunAll)
		return err == nil || !lacksDefaultAccount(c.worker.refused(pod, err), c.namespace()), nil
	})
	if err == nil && admitted == nil {
		err = context.Cause(ctx)
	}
	return admitted, err
}

// lacksDefaultAccount is whether a pod was refused for want of the ServiceAccount that
// every namespace gets.
func lacksDefaultAccount(problems []Problem, namespace string) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Object == named("ServiceAccount", namespace, defaultAccount) })
}

// putAside takes off a pod what a server does not find, and says whether there was
// anything to take off.
func putAside(pod *unstructured.Unstructured, missing string) bool {
	kind, name, _ := strings.Cut(missing, " ")
	fields := map[string][]string{
		"ServiceAccount": {"serviceAccountName", "serviceAccount"},
		"PriorityClass":  {"priorityClassName", "priority", "preemptionPolicy"},
		"RuntimeClass":   {"runtimeClassName", "overhead"},
	}[kind]
	if len(fields) == 0 || strings.HasSuffix(name, "/default") {
		return false
	}
	had, _, _ := unstructured.NestedString(pod.Object, "spec", fields[0])
	for _, field := range fields {
		unstructured.RemoveNestedField(pod.Object, "spec", field)
	}
	return had != ""
}

// podOf is a pod as the Job controller makes them of a Job (kubernetes:
// pkg/controller/controller_utils.go, GetPodFromTemplate), and those of other kinds
// in much the same way. The mirror's uid is not known yet.
func (c *check) podOf(of *pods) *unstructured.Unstructured {
	template := runtime.DeepCopyJSON(of.Object)
	spec, _ := template["spec"].(map[string]any)
	c.addClaims(spec)
	pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": spec}}
	pod.SetGenerateName(c.mirror.GetName() + "-")
	pod.SetNamespace(c.namespace())
	labels, _, _ := unstructured.NestedStringMap(template, "metadata", "labels")
	if labels == nil {
		labels = map[string]string{}
	}
	if c.kind.IsJob() {
		labels[jobNameLabel], labels["job-name"] = c.mirror.GetName(), c.mirror.GetName()
	}
	pod.SetLabels(labels)
	annotations, _, _ := unstructured.NestedStringMap(template, "metadata", "annotations")
	pod.SetAnnotations(annotations)
	pod.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: c.mirror.GetAPIVersion(), Kind: c.kind.Kind, Name: c.mirror.GetName(),
		UID: types.UID("00000000-0000-0000-0000-000000000000"), Controller: new(true),
	}})
	return pod
}

// addClaims adds the volumes of claims that the kind's controller makes, as it does
// itself: to pods that mount one by its name.
func (c *check) addClaims(pod map[string]any) {
	for _, claim := range c.claimTemplates() {
		name, _ := content.In(claim, "metadata", "name").(string)
		named := func(v map[string]any) bool { return v["name"] == name }
		mounts := append(content.ObjectsAt(pod, "containers", "volumeMounts"), content.ObjectsAt(pod, "initContainers", "volumeMounts")...)
		volumes, _ := pod["volumes"].([]any)
		if name == "" || !slices.ContainsFunc(mounts, named) || slices.ContainsFunc(content.Objects(volumes), named) {
			continue
		}
		pod["volumes"] = append(volumes, map[string]any{
			"name": name, "persistentVolumeClaim": map[string]any{"claimName": name + "-" + c.mirror.GetName()},
		})
	}
}

// otherLabels are those that do not name the Job.
func otherLabels(pod *unstructured.Unstructured) map[string]string {
	labels := pod.GetLabels()
	delete(labels, jobNameLabel)
	delete(labels, "job-name")
	return labels
}

// accountPulls looks at the image pull Secrets that the ServiceAccount has put on
// the pod, which has none of its own then.
func (c *check) accountPulls(ctx context.Context, of *pods, pod *corev1.Pod) []Problem {
	if len(of.spec.ImagePullSecrets) > 0 {
		return nil
	}
	var found []Problem
	for _, secret := range pod.Spec.ImagePullSecrets {
		if wrong := c.worker.noName(dependency.Secret, c.namespace(), secret.Name, "ServiceAccount "+pod.Spec.ServiceAccountName); wrong != nil {
			wrong[0].Blocking = false
			found = append(found, wrong...)
			continue
		}
		there, err := c.worker.data(ctx, dependency.Secret, c.namespace(), secret.Name)
		if err != nil || there.exists {
			continue
		}
		found = append(found, Problem{
			Context: c.worker.Context, Object: named(dependency.Secret, c.namespace(), secret.Name),
			Message: fmt.Sprintf("does not exist, but ServiceAccount %s pulls images with it", pod.Spec.ServiceAccountName),
			Remedy:  command.Say("create it there: %s", c.worker.Kubectl(c.namespace(), "create").With(creation(reference{kind: dependency.Secret, name: secret.Name, soft: true})...)),
		})
	}
	return found
}

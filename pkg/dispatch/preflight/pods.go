package preflight

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
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
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/refusal"
)

// dryRun is the result of creating a Pod in a dry run.
type dryRun struct {
	problems []Problem
	// pod is the Pod as the server would store it, after admission; nil if the server refuses it.
	pod *unstructured.Unstructured
}

// pods tries a Pod of one template, and then checks what the API server does not: image pull
// Secrets, nodes and priority.
func (c *check) pods(ctx context.Context, of *pods) []Problem {
	if !c.kind.IsJob() && !of.IsComplete() {
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
	return slices.Concat(result.problems, runConcurrently(ctx,
		func(ctx context.Context) []Problem { return c.accountPulls(ctx, of, pod) },
		func(ctx context.Context) []Problem { return c.nodesFor(ctx, pod) },
		func(ctx context.Context) []Problem { return c.priority(ctx, of) },
	))
}

// tryPod creates a Pod in a dry run, which runs all admission plugins. A dry run of a Job runs
// only plugins for Jobs. References to missing objects are removed one by one, so that one error
// does not hide the next.
func (c *check) tryPod(ctx context.Context, of *pods, template *unstructured.Unstructured) dryRun {
	if may, err := c.worker.may(ctx, c.namespace(), "create", podsResource()); err == nil && !may {
		found := runConcurrently(ctx,
			func(ctx context.Context) []Problem { return c.account(ctx, of) },
			func(ctx context.Context) []Problem { return c.priorityClass(ctx, of) },
			func(ctx context.Context) []Problem { return c.runtimeClass(ctx, of) },
		)
		return dryRun{problems: append(found, Problem{
			Context: c.worker.Context, Object: thePods(),
			Message: fmt.Sprintf("cannot be checked against quota, PodSecurity and webhooks: you may not create Pods in namespace %s", c.namespace()),
		})}
	}
	// Pods that differ only by their Job are tried once.
	body, err := json.Marshal(map[string]any{"spec": template.Object["spec"], "annotations": template.GetAnnotations(), "labels": otherLabels(template)})
	if err != nil {
		return dryRun{}
	}
	question := fmt.Sprintf("pod in %s %x", c.namespace(), sha256.Sum256(body))
	result, err := recall(ctx, c.worker, question, func(ctx context.Context) (dryRun, error) { return c.tryUntilClear(ctx, template.DeepCopy()) })
	if err != nil {
		return dryRun{problems: []Problem{c.worker.unchecked(thePods(), c.namespace(), err)}}
	}
	return result
}

// tryUntilClear tries a Pod until the server accepts it, or refuses it for a reason that cannot
// be removed.
func (c *check) tryUntilClear(ctx context.Context, pod *unstructured.Unstructured) (dryRun, error) {
	var result dryRun
	for {
		admitted, err := c.admit(ctx, pod)
		if err == nil {
			result.pod = admitted
			return result, nil
		}
		if kubecontext.IsConnection(err) {
			return result, err
		}
		if lacksController(pod, err) {
			pod.SetOwnerReferences(nil)
			continue
		}
		for _, p := range c.worker.Refused(pod, err) {
			result.problems = append(result.problems, c.addRemedy(ctx, p))
			if !removeReference(pod, p.Object) {
				return result, nil
			}
		}
	}
}

// lacksController reports whether a webhook refuses a Pod because the controller that it names does
// not exist, since there is no mirror yet. Kueue's webhook does, if its integrations include pod,
// as by default (kueue: pkg/controller/jobframework, FindAncestorJobManagedByKueue).
func lacksController(pod *unstructured.Unstructured, err error) bool {
	controller := metav1.GetControllerOfNoCopy(pod)
	return controller != nil && strings.Contains(err.Error(), "denied the request") &&
		strings.Contains(err.Error(), strconv.Quote(controller.Name)+" not found")
}

// A new namespace gets its default ServiceAccount after a moment. accountWait limits the wait for
// it, and accountRetry is the delay between tries.
const (
	accountWait  = 3 * time.Second
	accountRetry = 100 * time.Millisecond
)

// admit creates a Pod in a dry run.
func (c *check) admit(ctx context.Context, pod *unstructured.Unstructured) (admitted *unstructured.Unstructured, err error) {
	resource := corev1.SchemeGroupVersion.WithResource("pods")
	// There is at least one try, limited only by ctx, because a slow server may take longer than
	// accountWait. The result is the last answer.
	_ = wait.PollUntilContextTimeout(ctx, accountRetry, accountWait, true, func(context.Context) (bool, error) {
		admitted, err = c.worker.Create(ctx, resource, pod, metav1.FieldValidationIgnore, metav1.DryRunAll)
		return err == nil || !lacksDefaultAccount(c.worker.Refused(pod, err), c.namespace()), nil
	})
	if err == nil && admitted == nil {
		err = context.Cause(ctx)
	}
	return admitted, err
}

// lacksDefaultAccount reports whether a Pod was refused because the namespace has no default
// ServiceAccount yet.
func lacksDefaultAccount(problems []Problem, namespace string) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Object == named("ServiceAccount", namespace, refusal.DefaultAccount) })
}

// removeReference removes the reference to a missing object from a Pod, and reports whether there
// was one.
func removeReference(pod *unstructured.Unstructured, missing Object) bool {
	fields := map[string][]string{
		"ServiceAccount": {"serviceAccountName", "serviceAccount"},
		"PriorityClass":  {"priorityClassName", "priority", "preemptionPolicy"},
		"RuntimeClass":   {"runtimeClassName", "overhead"},
	}[missing.Kind]
	if len(fields) == 0 || missing == named("ServiceAccount", pod.GetNamespace(), refusal.DefaultAccount) {
		return false
	}
	had, _, _ := unstructured.NestedString(pod.Object, "spec", fields[0])
	for _, field := range fields {
		unstructured.RemoveNestedField(pod.Object, "spec", field)
	}
	return had != ""
}

// podOf returns a Pod as the Job controller creates it (kubernetes:
// pkg/controller/controller_utils.go, GetPodFromTemplate). Controllers of other kinds do nearly
// the same. The mirror's UID is not known yet.
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

// addClaims adds the volumes of claims that the kind's controller creates. Like that controller,
// it adds them to Pods that mount them by name.
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

// otherLabels returns the labels that do not name the Job.
func otherLabels(pod *unstructured.Unstructured) map[string]string {
	labels := pod.GetLabels()
	delete(labels, jobNameLabel)
	delete(labels, "job-name")
	return labels
}

// accountPulls checks the image pull Secrets that the ServiceAccount adds to a Pod without its
// own.
func (c *check) accountPulls(ctx context.Context, of *pods, pod *corev1.Pod) []Problem {
	if len(of.spec.ImagePullSecrets) > 0 {
		return nil
	}
	var found []Problem
	for _, secret := range pod.Spec.ImagePullSecrets {
		if wrong := c.worker.invalidName(dependency.Secret, c.namespace(), secret.Name, "ServiceAccount "+pod.Spec.ServiceAccountName); wrong != nil {
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

package plan_test

import (
	"fmt"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// asStored returns a Job as the API server of Kubernetes 1.36 stores it: with a UID, defaults
// (pkg/apis/batch/v1/defaults.go, pkg/apis/core/v1/defaults.go), canonical quantities, and the
// generated selector and labels (pkg/registry/batch/job/strategy.go).
func asStored(t *testing.T, sent *unstructured.Unstructured, uid string) *unstructured.Unstructured {
	t.Helper()
	job := sent.DeepCopy()
	set := func(value any, path ...string) {
		assert.NilError(t, unstructured.SetNestedField(job.Object, value, path...))
	}
	set(uid, "metadata", "uid")
	set("4711", "metadata", "resourceVersion")
	set(int64(1), "metadata", "generation")
	set("2026-03-01T09:00:02Z", "metadata", "creationTimestamp")
	set([]any{map[string]any{"manager": "kubectl", "operation": "Update"}}, "metadata", "managedFields")
	set(map[string]any{}, "status")

	spec, _ := job.Object["spec"].(map[string]any)
	if spec["completions"] == nil && spec["parallelism"] == nil {
		spec["completions"] = int64(1)
	}
	isManual := spec["manualSelector"] == true
	fillIn(spec, map[string]any{
		"parallelism": int64(1), "backoffLimit": int64(6), "completionMode": "NonIndexed", "suspend": false,
		"podReplacementPolicy": "TerminatingOrFailed", "manualSelector": false,
	})
	if !isManual {
		labels, _, _ := unstructured.NestedStringMap(job.Object, "spec", "template", "metadata", "labels")
		if labels == nil {
			labels = map[string]string{}
		}
		for key, value := range map[string]string{
			"job-name": job.GetName(), "batch.kubernetes.io/job-name": job.GetName(),
			"controller-uid": uid, "batch.kubernetes.io/controller-uid": uid,
		} {
			assert.Assert(t, labels[key] == "" || labels[key] == value, "the server refuses %s=%s", key, labels[key])
			labels[key] = value
		}
		if len(job.GetLabels()) == 0 && len(labels) > 4 {
			job.SetLabels(labels)
		}
		assert.NilError(t, unstructured.SetNestedStringMap(job.Object, labels, "spec", "template", "metadata", "labels"))
		assert.Assert(t, spec["selector"] == nil, "the server refuses a selector")
		set(uid, "spec", "selector", "matchLabels", "batch.kubernetes.io/controller-uid")
	}
	pod, _, err := unstructured.NestedMap(job.Object, "spec", "template", "spec")
	assert.NilError(t, err)
	fillIn(pod, map[string]any{
		"dnsPolicy": "ClusterFirst", "terminationGracePeriodSeconds": int64(30), "schedulerName": "default-scheduler",
		"securityContext": map[string]any{},
	})
	if account, ok := pod["serviceAccountName"]; ok {
		pod["serviceAccount"] = account
	}
	for _, field := range []string{"containers", "initContainers"} {
		for _, c := range objects(pod[field]) {
			fillIn(c, map[string]any{
				"imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/dev/termination-log",
				"terminationMessagePolicy": "File", "resources": map[string]any{},
			})
			resources, _ := c["resources"].(map[string]any)
			canonical(t, resources)
		}
	}
	for _, v := range objects(pod["volumes"]) {
		if source, ok := v["configMap"].(map[string]any); ok {
			fillIn(source, map[string]any{"defaultMode": int64(420)})
		}
	}
	set(pod, "spec", "template", "spec")
	return job
}

func fillIn(object, defaults map[string]any) {
	for field, value := range defaults {
		if object[field] == nil {
			object[field] = value
		}
	}
}

func canonical(t *testing.T, resources map[string]any) {
	t.Helper()
	for _, field := range []string{"limits", "requests"} {
		list, _ := resources[field].(map[string]any)
		for name, value := range list {
			quantity, err := resource.ParseQuantity(fmt.Sprint(value))
			assert.NilError(t, err)
			list[name] = quantity.String()
		}
	}
}

func objects(value any) []map[string]any {
	list, _ := value.([]any)
	var all []map[string]any
	for _, element := range list {
		if object, ok := element.(map[string]any); ok {
			all = append(all, object)
		}
	}
	return all
}

package preflight

import (
	"net/http"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// checkOf returns a check of a mirror, and its worker's server, which serves only the paths for
// which serve returns true.
func checkOf(t *testing.T, k delegation.Kind, mirror *unstructured.Unstructured, serve func(path string) bool) (*check, *dispatchtest.Server) {
	t.Helper()
	server := dispatchtest.NewServer(t)
	server.Before = func(r *http.Request) *apierrors.StatusError {
		if !serve(r.URL.Path) {
			return apierrors.NewGenericServerResponse(http.StatusNotFound, "get", schema.GroupResource{}, "", "", 0, true)
		}
		return nil
	}
	there, here := NewProbe(server.Cluster(t, "there")), NewProbe(&fleet.Cluster{Context: "here"})
	c := &check{Checker: &Checker{}, kind: k, mirror: mirror, Request: Request{Origin: mirror}, origin: here, worker: there}
	assert.Equal(t, len(c.readTemplates()), 0)
	return c, server
}

// TestPodGroups checks a template that names its PodGroup.
func TestPodGroups(t *testing.T) {
	for _, version := range []string{"v1beta1", "v1alpha3", "v1alpha2", ""} {
		t.Run("served: "+version, func(t *testing.T) {
			job := dispatchtest.SmallJob(t)
			dispatchtest.Set(t, job, "spec.template.spec.schedulingGroup", "yaml:{podGroupName: gang}")
			c, server := checkOf(t, delegation.Job(), job, func(path string) bool {
				return version != "" && strings.HasPrefix(path, "/apis/scheduling.k8s.io/"+version+"/")
			})
			found := c.podGroups(t.Context())
			assert.Equal(t, len(found), 1, "%v", found)
			assert.Assert(t, found[0].Blocking && found[0].Object == named("PodGroup", "ml", "gang"), "%v", found)
			assert.Assert(t, strings.Contains(string(found[0].Remedy), "podgroups.scheduling.k8s.io gang"), "%v", found)
			if version == "" {
				return
			}
			server.Create(t, schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: version, Resource: "podgroups"},
				dispatchtest.FromYAML(t, `{apiVersion: v, kind: PodGroup, metadata: {name: gang, namespace: ml}}`))
			c.worker.memo = &memo{}
			assert.Equal(t, len(c.podGroups(t.Context())), 0)
		})
	}
	job := dispatchtest.SmallJob(t)
	c, _ := checkOf(t, delegation.Job(), job, func(string) bool { return false })
	assert.Equal(t, len(c.podGroups(t.Context())), 0, "no group, no need")
}

// TestNamedObjects checks the Pipeline, the Tasks, the accounts and the claims that a PipelineRun names.
func TestNamedObjects(t *testing.T) {
	kind, _ := delegation.KindNamed("pipelinerun")
	c, server := checkOf(t, kind, dispatchtest.FromYAML(t, `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: train, namespace: ml}
spec:
  pipelineRef: {name: nightly}
  pipelineSpec:
    tasks:
    - {name: a, taskRef: {name: build}}
    - {name: b, taskRef: {name: build, kind: Task}}
    - {name: c, taskRef: {name: approve, kind: Approval, apiVersion: example.com/v1}}
    - {name: d, taskRef: {resolver: git}}
    - {name: e, taskRef: {name: "https://example.com/task.yaml"}}
    finally: [{name: f, taskRef: {name: report}}]
  taskRunTemplate: {serviceAccountName: builder}
  taskRunSpecs: [{pipelineTaskName: a, serviceAccountName: default}]
  workspaces: [{name: data, persistentVolumeClaim: {claimName: corpus}}, {name: scratch, emptyDir: {}}]
`), func(string) bool { return true })
	missing := func() (found []string) {
		for _, p := range c.referred(t.Context()) {
			assert.Assert(t, p.Blocking, "%v", p)
			found = append(found, p.Object.String()+" "+p.Message)
		}
		return found
	}
	assert.DeepEqual(t, missing(), []string{
		"Pipeline ml/nightly does not exist, and spec.pipelineRef.name names it",
		"Task ml/build does not exist, and spec.pipelineSpec.tasks.taskRef.name names it",
		"Task ml/report does not exist, and spec.pipelineSpec.finally.taskRef.name names it",
		"ServiceAccount ml/builder does not exist, and spec.taskRunTemplate.serviceAccountName names it",
		"PersistentVolumeClaim ml/corpus does not exist, and spec.workspaces.persistentVolumeClaim.claimName names it",
	})
	server.Create(t, schema.GroupVersionResource{Group: "tekton.dev", Version: "v1", Resource: "pipelines"},
		dispatchtest.FromYAML(t, `{apiVersion: tekton.dev/v1, kind: Pipeline, metadata: {name: nightly, namespace: ml}}`))
	c.worker.memo = &memo{}
	assert.Equal(t, len(missing()), 4)
}

// TestSharedResourceClaims checks the claims next to the template, which all Pods of a Job share.
func TestSharedResourceClaims(t *testing.T) {
	job := dispatchtest.SmallJob(t)
	dispatchtest.Set(t, job, "spec.scheduling", "yaml:{resourceClaims: [{name: fabric, resourceClaimName: one}, {name: gpus, resourceClaimTemplateName: each}]}")
	dispatchtest.Set(t, job, "spec.template.spec.resourceClaims", "yaml:[{name: own, resourceClaimName: two}]")
	c, _ := checkOf(t, delegation.Job(), job, func(string) bool { return false })
	found := map[string]bool{}
	for _, p := range c.resourceClaims(t.Context()) {
		found[p.Object.String()] = p.Blocking
	}
	assert.DeepEqual(t, found, map[string]bool{"ResourceClaim ml/one": true, "ResourceClaimTemplate ml/each": true, "ResourceClaim ml/two": true})
}

// TestCreatedClaims checks that the tried Pod has the volumes that a JobSet's controller adds
// to Pods that mount them.
func TestCreatedClaims(t *testing.T) {
	jobSet, _ := delegation.KindNamed("jobset")
	c, _ := checkOf(t, jobSet, dispatchtest.AsServed(t, `
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train, namespace: ml}
spec:
  volumeClaimPolicies:
  - templates: [{metadata: {name: data}, spec: {storageClassName: fast}}, {metadata: {name: cache}}]
  - templates: [{metadata: {name: logs}, spec: {storageClassName: slow}}]
  replicatedJobs:
  - name: workers
    template:
      spec:
        template:
          spec:
            initContainers: [{name: load, image: i, volumeMounts: [{name: data, mountPath: /data}]}]
            containers: [{name: main, image: i, volumeMounts: [{name: logs, mountPath: /logs}, {name: cache, mountPath: /c}, {name: typo, mountPath: /t}]}]
            volumes: [{name: cache, emptyDir: {}}]
`), func(string) bool { return false })
	assert.Equal(t, len(c.templates), 1)
	pod := c.podOf(&c.templates[0])
	volumes, _, err := unstructured.NestedSlice(pod.Object, "spec", "volumes")
	assert.NilError(t, err)
	assert.DeepEqual(t, volumes, []any{
		map[string]any{"name": "cache", "emptyDir": map[string]any{}},
		map[string]any{"name": "data", "persistentVolumeClaim": map[string]any{"claimName": "data-train"}},
		map[string]any{"name": "logs", "persistentVolumeClaim": map[string]any{"claimName": "logs-train"}},
	})
	_, has := c.templates[0].Pod()["volumes"].([]any)
	assert.Assert(t, has && len(c.templates[0].spec.Volumes) == 1, "the template was changed")
	var classes []string
	for _, p := range c.storageClasses(t.Context()) {
		classes = append(classes, p.Object.String())
	}
	assert.DeepEqual(t, classes, []string{"StorageClass fast", "StorageClass slow"})
}

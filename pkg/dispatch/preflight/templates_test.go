package preflight

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/podtemplate"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// TestTemplatesOfKinds checks the templates of all kinds that create Pods.
func TestTemplatesOfKinds(t *testing.T) {
	got := map[string][]string{}
	for _, s := range dispatchtest.Specimens(t) {
		if s.State != "new" || s.Kind.IsUnmanaged() {
			continue
		}
		all, unread := podsOf(s.Kind, s.Object)
		assert.Equal(t, len(unread), 0, "%v", unread)
		var paths []string
		for _, p := range all {
			paths = append(paths, p.Path)
			assert.Assert(t, p.IsComplete() && len(p.spec.Containers) > 0, "%s %s", s.Name(), p.Path)
		}
		got[s.Kind.Name] = paths
	}
	assert.DeepEqual(t, got["jobset"], []string{"spec.replicatedJobs[0].template.spec.template", "spec.replicatedJobs[1].template.spec.template"})
	assert.DeepEqual(t, got["pytorchjob"], []string{"spec.pytorchReplicaSpecs.Master.template", "spec.pytorchReplicaSpecs.Worker.template"})
	assert.DeepEqual(t, got["rayjob"], []string{"spec.rayClusterSpec.headGroupSpec.template", "spec.rayClusterSpec.workerGroupSpecs[0].template"})
	assert.DeepEqual(t, got["appwrapper"], []string{"spec.components[0].template.spec.template"})
	// Their Pods are defined in other objects on the worker.
	for _, name := range []string{"trainjob", "pipelinerun", "taskrun"} {
		assert.Equal(t, len(got[name]), 0, name)
	}
}

func TestTemplatesOf(t *testing.T) {
	appWrapper, _ := delegation.KindNamed("appwrapper")
	o := dispatchtest.AsServed(t, `
spec:
  containers: [{name: none, image: i}]
  components:
  - template:
      apiVersion: v1
      kind: Pod
      metadata: {name: one, namespace: elsewhere}
      spec: {containers: [{name: main, image: i}], volumes: [{name: v, configMap: {name: own}}, {name: w, configMap: {name: there}}]}
  - template: {apiVersion: v1, kind: ConfigMap, metadata: {name: own}, data: {kind: x}}
  - template:
      apiVersion: example.com/v1
      kind: Thing
      metadata: {name: thing}
      spec: {containers: [{name: no-pod, image: i}]}
  overrides: [{spec: {containers: [{name: node, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}}]
  strange: [{spec: {containers: [a]}}, {spec: {containers: [{image: i}]}}, {spec: {containers: []}}, {spec: [1]}]
  broken: {spec: {containers: [{name: c, image: i, ports: 5}]}}
`)
	all, unread := podsOf(appWrapper, o)
	paths := map[string]bool{}
	for _, p := range all {
		paths[p.Path] = p.IsComplete()
	}
	assert.DeepEqual(t, paths, map[string]bool{"spec.components[0].template": true, "spec.overrides[0]": false})
	assert.Equal(t, len(unread), 1, "%v", unread)
	wrapped, namespaces := podtemplate.WrappedIn(o)
	assert.DeepEqual(t, wrapped, map[podtemplate.Ref]bool{{Kind: "ConfigMap", Name: "own"}: true, {Kind: "Pod", Name: "one"}: true, {Kind: "Thing", Name: "thing"}: true})
	assert.DeepEqual(t, namespaces, []string{"spec.components[0].template.metadata.namespace=elsewhere"})

	// Objects that the mirror's controller creates are not required.
	c := &check{kind: appWrapper, mirror: o, Checker: &Checker{}}
	c.origin, c.worker = Probe{Cluster: &fleet.Cluster{Context: "a"}}, Probe{Cluster: &fleet.Cluster{Context: "b"}}
	assert.Equal(t, len(c.readTemplates()), 1)
	var names []string
	for _, r := range c.references {
		names = append(names, r.kind+" "+r.name)
	}
	assert.DeepEqual(t, names, []string{"ConfigMap there", "Secret s"})
	o.SetNamespace("ml")
	left := c.withoutWrapped([]Problem{{Object: named("ConfigMap", "ml", "own")}, {Object: named("ConfigMap", "ml", "there")}, {}})
	assert.DeepEqual(t, left, []Problem{{Object: named("ConfigMap", "ml", "there")}, {}})
}

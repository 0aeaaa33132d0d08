package plan_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/golden"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/internal/dispatchtest"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
)

// newOfKinds returns an object of each delegable kind except Job, as created for MultiKueue,
// sorted by file name.
func newOfKinds(t *testing.T) (kinds []delegation.Kind, objects []*unstructured.Unstructured) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dispatchtest.KindsDirectory(t), "*", "new.yaml"))
	assert.NilError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		assert.NilError(t, err)
		o := &unstructured.Unstructured{}
		assert.NilError(t, yaml.Unmarshal(text, o))
		k, known := delegation.KindOf(o.GroupVersionKind())
		if _, at, _ := unstructured.NestedString(o.Object, "spec", "managedBy"); !known && at {
			k = delegation.DiscoveredKind(o.GroupVersionKind(), strings.ToLower(o.GetKind())+"s", nil, []string{"spec", "managedBy"})
		}
		if !k.IsJob() && !k.IsUnmanaged() {
			kinds, objects = append(kinds, k), append(objects, o)
		}
	}
	assert.Assert(t, len(kinds) > 15)
	return kinds, objects
}

// TestPlanOfKinds records the plan for an object of each kind.
func TestPlanOfKinds(t *testing.T) {
	var out bytes.Buffer
	kinds, origins := newOfKinds(t)
	for i, k := range kinds {
		fmt.Fprintf(&out, "%s/%s:\n", k, k.Resource.Version)
		before := origins[i].DeepCopy()
		p, err := plan.New(origins[i], plan.Options{Kind: k, Owner: delegation.MultiKueue, OriginCluster: delegation.Cluster{UID: "cluster-1"}})
		assert.Assert(t, equality.Semantic.DeepEqual(origins[i], before))
		if err != nil {
			fmt.Fprintf(&out, "  %v\n", err)
			continue
		}
		w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
		for _, c := range p.Changes {
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", c.Action, c.Field, c.Value, c.Reason)
		}
		assert.NilError(t, w.Flush())
		for _, warning := range p.Warnings {
			fmt.Fprintf(&out, "  warning: %s\n", warning)
		}
		mirror := p.Mirror
		assert.Equal(t, mirror.GroupVersionKind(), k.GroupVersionKind())
		assert.Equal(t, mirror.GetName()+mirror.GetNamespace(), origins[i].GetName()+origins[i].GetNamespace())
		assert.Assert(t, mirror.GetUID() == "" && mirror.GetResourceVersion() == "" && mirror.Object["status"] == nil && mirror.GetFinalizers() == nil)
		for _, path := range [][]string{k.ManagedBy, k.TTL()} {
			_, there, _ := unstructured.NestedFieldNoCopy(mirror.Object, path...)
			_, had, _ := unstructured.NestedFieldNoCopy(origins[i].Object, path...)
			// A RayJob's TTL belongs to its RayCluster.
			isOther := k.OtherTTL && slices.Equal(path, k.TTL())
			assert.Equal(t, there, had && isOther, "%s has %v", k, path)
		}
		// The rest of the spec is unchanged.
		want, _, _ := unstructured.NestedMap(origins[i].DeepCopy().Object, "spec")
		unstructured.RemoveNestedField(want, k.ManagedBy[1:]...)
		if !k.OtherTTL {
			unstructured.RemoveNestedField(want, k.TTL()[1:]...)
		}
		assert.DeepEqual(t, mirror.Object["spec"], any(want))
	}
	golden.Assert(t, out.String(), "kinds.golden")
}

// TestPlanRefusesKinds checks that kinds whose API does not allow our own owner are refused, with
// the fix.
func TestPlanRefusesKinds(t *testing.T) {
	kinds, origins := newOfKinds(t)
	refused := map[string]bool{}
	for i, k := range kinds {
		o := origins[i]
		if k.Template {
			continue
		}
		assert.NilError(t, unstructured.SetNestedField(o.Object, string(delegation.Dispatch), k.ManagedBy...))
		_, err := plan.New(o, plan.Options{Kind: k})
		var refusal *plan.RefusedError
		if err == nil {
			continue
		}
		assert.Assert(t, errors.As(err, &refusal), "%v", err)
		refused[k.Name] = true
		path := strings.Join(k.ManagedBy, ".")
		assert.Equal(t, err.Error(), fmt.Sprintf("%s research/%s cannot be managed by jobmanagedby.github.io/dispatch: its API allows for %s only %s and kueue.x-k8s.io/multikueue; "+
			"where MultiKueue is not installed, --as-multikueue dispatches one whose %s is kueue.x-k8s.io/multikueue", k.Name, o.GetName(), path, k.Reserved, path))
	}
	var names []string
	for name := range refused {
		names = append(names, name)
	}
	slices.Sort(names)
	assert.DeepEqual(t, names, []string{"paddlejob", "pytorchjob", "raycluster", "rayjob", "rayservice", "tfjob", "trainjob", "xgboostjob"})
}

func TestPlanRefusesOfKinds(t *testing.T) {
	jobSet, _ := delegation.KindNamed("jobset")
	rayJob, _ := delegation.KindNamed("rayjob")
	pod, _ := delegation.KindNamed("pod")
	withoutField := rayJob
	withoutField.Resource.Version = "v1alpha1"
	const head = "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: train, namespace: ml, uid: u}\n"
	for name, tt := range map[string]struct {
		kind  delegation.Kind
		owner delegation.Owner
		text  string
		want  string
	}{
		"not delegated": {
			jobSet, "", head + "spec: {}", "jobset ml/train is not delegated, so its own cluster runs it, and managedBy is immutable; " +
				"`kubectl jobs-managedby recreate jobset/train -n ml --context management --managed-by jobmanagedby.github.io/dispatch` creates it again; dispatch -f FILE creates one that does not exist yet",
		},
		"the reserved value": {jobSet, "", head + "spec: {managedBy: jobset.sigs.k8s.io/jobset-controller}", "jobset ml/train is not delegated"},
		"MultiKueue's":       {jobSet, "", head + "spec: {managedBy: kueue.x-k8s.io/multikueue}", "MultiKueue and dispatch would both write its status"},
		"ended": {
			jobSet, "", head + "spec: {managedBy: jobmanagedby.github.io/dispatch}\nstatus: {conditions: [{type: Completed, status: 'True', lastTransitionTime: '2026-08-20T09:00:00Z'}]}",
			"jobset ml/train is Complete since 2026-08-20T09:00:00Z; to run it again: `kubectl jobs-managedby recreate jobset/train -n ml --context management --managed-by jobmanagedby.github.io/dispatch`",
		},
		"pinned": {
			jobSet, "", head + "spec: {managedBy: jobmanagedby.github.io/dispatch, replicatedJobs: [{template: {spec: {template: {spec: {nodeName: node-1, containers: [{name: a}]}}}}}]}",
			"create it again without spec.replicatedJobs[0].template.spec.template.spec.nodeName",
		},
		"a mirror":        {jobSet, "", strings.Replace(head, "uid: u", "labels: {jobmanagedby.github.io/origin-uid: o}", 1) + "spec: {}", "jobset ml/train is itself the mirror of a dispatched JobSet (UID o)"},
		"no spec":         {jobSet, "", head, "jobset ml/train is invalid: spec is missing, or not an object"},
		"a strange owner": {jobSet, "", head + "spec: {managedBy: 5}", "jobset ml/train is invalid: spec.managedBy is 5, not a string"},
		"another kind":    {rayJob, delegation.MultiKueue, head + "spec: {}", "is a JobSet of jobset.x-k8s.io/v1alpha2; only RayJobs of ray.io/v1 can be dispatched"},
		"a version without managedBy": {
			withoutField, delegation.MultiKueue, "apiVersion: ray.io/v1alpha1\nkind: RayJob\nmetadata: {name: train, namespace: ml}\nspec: {}",
			"rayjob ml/train is of version v1alpha1, which does not have spec.managedBy; use another version of its API",
		},
		"unmanaged": {pod, "", "apiVersion: v1\nkind: Pod\nmetadata: {name: train, namespace: ml}\nspec: {}", "pod ml/train has no managedBy field"},
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{}
			assert.NilError(t, yaml.Unmarshal([]byte(tt.text), &o.Object))
			_, err := plan.New(o, plan.Options{Context: "management", Kind: tt.kind, Owner: tt.owner})
			assert.ErrorContains(t, err, tt.want)
		})
	}
}

// TestPlanOfWrapped checks the warnings for wrapped objects whose meaning changes in another
// namespace.
func TestPlanOfWrapped(t *testing.T) {
	appWrapper, _ := delegation.KindNamed("appwrapper")
	o := &unstructured.Unstructured{}
	assert.NilError(t, yaml.Unmarshal([]byte(`
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {name: train, namespace: ml, labels: {job-name: mine}}
spec:
  managedBy: jobmanagedby.github.io/dispatch
  components:
  - template:
      apiVersion: v1
      kind: Pod
      metadata: {name: one, namespace: ml, labels: {kueue.x-k8s.io/queue-name: q}}
      spec: {containers: [{name: main, image: i}], volumes: [{name: v, configMap: {name: own}}, {name: w, secret: {secretName: there}}]}
  - template: {apiVersion: v1, kind: ConfigMap, metadata: {name: own}}
  - template: {apiVersion: batch/v1, kind: Job, metadata: {name: two}, spec: {managedBy: kubernetes.io/job-controller}}
  - template: {apiVersion: batch/v1, kind: Job, metadata: {name: two}, spec: {managedBy: kueue.x-k8s.io/multikueue}}
`), o))
	p := planFor(t, o, plan.Options{Kind: appWrapper, OriginCluster: delegation.Cluster{UID: "c"}, Namespace: "other"})
	assert.DeepEqual(t, p.Warnings, []string{
		"In namespace other the Pod template names other objects than in ml: Secret there.",
		"Wrapped objects have their own namespace, and keep it in namespace other: spec.components[0].template.metadata.namespace=ml.",
		"spec.components[3].template.spec.managedBy is kueue.x-k8s.io/multikueue: on the worker, its objects run only if that controller exists.",
		"The Pods have labels of Kueue (kueue.x-k8s.io/queue-name): Kueue on the worker may hold them back.",
	})
	assert.Equal(t, p.Mirror.GetLabels()["job-name"], "mine")
}

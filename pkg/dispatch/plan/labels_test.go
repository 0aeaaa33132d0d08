package plan_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/plan"
)

// TestPlanLabels checks which labels are copied: those that no other tool acts on.
func TestPlanLabels(t *testing.T) {
	for key, goes := range map[string]bool{
		"controller-uid":                               false,
		"job-name":                                     false,
		"batch.kubernetes.io/controller-uid":           false,
		"batch.kubernetes.io/job-name":                 false,
		"applyset.kubernetes.io/part-of":               false,
		"app.kubernetes.io/instance":                   false,
		"kustomize.toolkit.fluxcd.io/name":             false,
		"helm.toolkit.fluxcd.io/namespace":             false,
		"kueue.x-k8s.io/queue-name":                    false,
		"kueue.x-k8s.io/prebuilt-workload-name":        false,
		"work.karmada.io/namespace":                    false,
		"karmada.io/managed":                           false,
		"cluster.open-cluster-management.io/placement": false,
		"jobmanagedby.github.io/whatever":              false,
		"app.kubernetes.io/name":                       true,
		"app.kubernetes.io/managed-by":                 true, // only the value Helm is removed
		"notkueue.x-k8s.io/queue-name":                 true,
		"example.com/kueue.x-k8s.io":                   true,
		"team":                                         true,
	} {
		p := planFor(t, originJob(t, edit{"metadata.labels", map[string]any{key: "v"}}), into)
		value, went := p.Mirror.GetLabels()[key]
		assert.Equal(t, went, goes, key)
		if goes {
			assert.Equal(t, value, "v")
			assert.Equal(t, change(p, "metadata.labels["+key+"]"), "")
		}
		assert.Equal(t, len(p.Warnings), 0)
	}
}

func TestPlanSetsAndStripsLabels(t *testing.T) {
	o := into
	o.SetLabels = map[string]string{
		"kueue.x-k8s.io/queue-name": "gpus", "team": "blue", "new": "n", "app": "train", "app.kubernetes.io/instance": "other",
	}
	o.StripLabels = []string{"tier", "missing", "helm.toolkit.fluxcd.io/name"}
	p := planFor(t, originJob(t, edit{"metadata.labels.tier", "1"}), o)
	assert.DeepEqual(t, p.Mirror.GetLabels(), map[string]string{
		"app": "train", "team": "blue", "new": "n", "kueue.x-k8s.io/queue-name": "gpus", "app.kubernetes.io/instance": "other",
		delegation.OriginUIDLabel: originUID,
	})
	for key, want := range map[string]string{
		"kueue.x-k8s.io/queue-name": "kept gpus", "team": "set blue", "new": "set n", "app": "", "tier": "removed 1",
		"app.kubernetes.io/instance": "set other", "helm.toolkit.fluxcd.io/name": "removed nightly",
	} {
		assert.Equal(t, change(p, "metadata.labels["+key+"]"), want, key)
	}
	assert.DeepEqual(t, p.Warnings, []string{
		"The label missing cannot be stripped: the Job does not have it. Labels of its Pods stay unchanged.",
	})
	// Labels of Pods are unchanged.
	assert.DeepEqual(t, at(p.Mirror, "spec.template.metadata.labels"), map[string]any{"app": "train"})
}

func TestPlanInvalidLabels(t *testing.T) {
	for want, o := range map[string]plan.Options{
		"label kueue.x-k8s.io/multikueue-origin cannot be set: MultiKueue would take the mirror as its own and delete it": {
			SetLabels: map[string]string{delegation.MultiKueueOriginLabel: "multikueue"},
		},
		"label jobmanagedby.github.io/origin-uid cannot be set: it is reserved for dispatch": {
			SetLabels: map[string]string{delegation.OriginUIDLabel: "u"},
		},
		"label jobmanagedby.github.io/more cannot be set: it is reserved for dispatch": {
			SetLabels: map[string]string{"jobmanagedby.github.io/more": "u"},
		},
		"label job-name cannot be set: it is reserved for the Job controller": {SetLabels: map[string]string{"job-name": "u"}},
		"label a b=c cannot be set: name part must consist of":                {SetLabels: map[string]string{"a b": "c"}},
		"label a=b c cannot be set: a valid label must be an empty":           {SetLabels: map[string]string{"a": "b c"}},
		"label team is both set and stripped": {
			SetLabels: map[string]string{"team": "a"}, StripLabels: []string{"team"},
		},
		"label jobmanagedby.github.io/origin-uid cannot be stripped: dispatch finds the mirror by it": {
			StripLabels: []string{delegation.OriginUIDLabel},
		},
		"label a b=c cannot be set: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end " +
			"with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
			"'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')\nlabel job-name cannot be set: it is reserved for the Job controller": {
			SetLabels: map[string]string{"a b": "c", "job-name": "x"},
		},
	} {
		_, err := plan.New(originJob(t), o)
		assert.ErrorContains(t, err, want)
	}
}

func TestPlanAnnotations(t *testing.T) {
	for key, want := range map[string]string{
		"kubectl.kubernetes.io/last-applied-configuration": "removed v",
		"argocd.argoproj.io/tracking-id":                   "removed v",
		"meta.helm.sh/release-namespace":                   "removed v",
		"kueue.x-k8s.io/prebuilt-workload-name":            "removed v",
		"resourcetemplate.karmada.io/uid":                  "removed v",
		"apps.open-cluster-management.io/hosting":          "removed v",
		"batch.kubernetes.io/job-tracking":                 "removed v",
		"jobmanagedby.github.io/mirror":                    "removed v",
		"scheduling.k8s.io/group-template-name":            "removed v",
		"scheduling.k8s.io/parent-compositepodgroup":       "removed v",
		"cronjob.kubernetes.io/instantiate":                "kept v",
		"batch.kubernetes.io/cronjob-scheduled-timestamp":  "kept v",
		"argocd.argoproj.io/sync-wave":                     "",
		"example.com/note":                                 "",
	} {
		p := planFor(t, originJob(t, edit{"metadata.annotations", map[string]any{key: "v"}}), into)
		assert.Equal(t, change(p, "metadata.annotations["+key+"]"), want, key)
		_, went := p.Mirror.GetAnnotations()[key]
		assert.Equal(t, went, want != "removed v", key)
	}
}

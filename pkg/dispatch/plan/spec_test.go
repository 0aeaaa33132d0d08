package plan_test

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"gotest.tools/v3/assert/cmp"
)

// TestPlanRoundTrip stores Jobs on one server and their mirrors on another. The plans have no
// data of the first server.
func TestPlanRoundTrip(t *testing.T) {
	for name, edits := range map[string][]edit{
		"nothing but a container": nil,
		"labels of its Pods only": {{"spec.template.metadata", "yaml:{labels: {app: train, tier: batch}}"}},
		"labels of its own":       {{"metadata.labels", "yaml:{app: train}"}},
		"a deadline":              {{"spec.activeDeadlineSeconds", int64(60)}, {"spec.ttlSecondsAfterFinished", int64(0)}},
		"a selector of its own": {
			{"spec.manualSelector", true},
			{"spec.selector", "yaml:{matchLabels: {app: mine}}"},
			{"spec.template.metadata", "yaml:{labels: {app: mine}}"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := smallJob(t, edits...)
			fromFile := planFor(t, file, into)
			origin := asStored(t, file, "u1")
			plan := planFor(t, origin, into)
			for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
				assert.Assert(t, at(plan.Mirror, "metadata."+field) == nil, field)
			}
			assert.Assert(t, at(plan.Mirror, "status") == nil)
			mirror := asStored(t, plan.Mirror, "u2")
			uid, isGenerated := at(mirror, "spec.template.metadata.labels.controller-uid").(string)
			assert.Equal(t, isGenerated, at(mirror, "spec.manualSelector") == false)
			if isGenerated {
				assert.Equal(t, uid, "u2")
				assert.Equal(t, at(mirror, "spec.selector.matchLabels[batch.kubernetes.io/controller-uid]"), "u2")
			}
			// The plan of a file and the plan of the stored Job are the same once they are
			// stored.
			assert.DeepEqual(t, asStored(t, fromFile.Mirror, "u2").Object["spec"], mirror.Object["spec"])
		})
	}
}

func TestPlanSpec(t *testing.T) {
	t.Run("no trace of an empty pod template's metadata", func(t *testing.T) {
		plan := planFor(t, asStored(t, smallJob(t), "u1"), into)
		assert.Assert(t, at(plan.Mirror, "spec.template.metadata") == nil)
		assert.Equal(t, change(plan, "spec.template.metadata.labels"),
			"removed batch.kubernetes.io/controller-uid, batch.kubernetes.io/job-name, controller-uid, job-name")
	})
	t.Run("a job-name from an older server", func(t *testing.T) {
		plan := planFor(t, originJob(t, edit{"spec.template.metadata.labels", "yaml:{job-name: train-28391, controller-uid: u}"}), into)
		assert.Equal(t, change(plan, "spec.template.metadata.labels"), "removed controller-uid, job-name")
	})
	t.Run("a running origin", func(t *testing.T) {
		plan := planFor(t, originJob(t, edit{"spec.suspend", false}), into)
		assert.Equal(t, change(plan, "spec.suspend"), "")
		assert.Equal(t, at(plan.Mirror, "spec.suspend"), false)
	})
	t.Run("manualSelector", func(t *testing.T) {
		origin := originJob(t, edit{"spec.manualSelector", true})
		plan := planFor(t, origin, into)
		for _, field := range []string{"spec.selector", "spec.manualSelector", "spec.template.metadata.labels"} {
			assert.DeepEqual(t, at(plan.Mirror, field), at(origin, field))
		}
		assert.Equal(t, change(plan, "spec.selector"), "kept batch.kubernetes.io/controller-uid="+originUID)
		assert.DeepEqual(t, plan.Warnings, []string{
			"The Job selects its Pods itself (spec.manualSelector): on the worker, it adopts other Pods that match " +
				"batch.kubernetes.io/controller-uid=" + originUID + ".",
		})
	})
	t.Run("what only the worker enforces", func(t *testing.T) {
		origin := originJob(t, edit{"spec.successPolicy", "yaml:{rules: [{succeededCount: 1}]}"})
		plan := planFor(t, origin, into)
		for _, field := range []string{
			"activeDeadlineSeconds", "backoffLimit", "backoffLimitPerIndex", "maxFailedIndexes", "podFailurePolicy", "successPolicy",
			"completionMode", "podReplacementPolicy", "parallelism", "completions", "futurePolicy",
		} {
			assert.DeepEqual(t, at(plan.Mirror, "spec."+field), at(origin, "spec."+field))
			assert.Assert(t, at(plan.Mirror, "spec."+field) != nil, field)
		}
	})
}

// TestPlanWarnsOfKueue checks the warning about Pods that Kueue on the worker would gate.
func TestPlanWarnsOfKueue(t *testing.T) {
	plan := planFor(t, originJob(t, edit{"spec.template.metadata.labels[kueue.x-k8s.io/queue-name]", "gpus"}), into)
	assert.DeepEqual(t, plan.Warnings, []string{
		"The Pods have labels of Kueue (kueue.x-k8s.io/queue-name): Kueue on the worker may hold them back.",
	})
}

// TestPlanRemovesKueueFields checks that labels and annotations that Kueue added to the Pod
// template when it started the origin are not copied.
func TestPlanRemovesKueueFields(t *testing.T) {
	plan := planFor(t, originJob(t,
		edit{"spec.template.metadata.labels[kueue.x-k8s.io/podset]", "main"},
		edit{"spec.template.metadata.annotations[kueue.x-k8s.io/workload]", "job-train-b0014"},
		edit{"spec.template.metadata.annotations[kueue.x-k8s.io/podset-required-topology]", "rack"}), into)
	assert.Equal(t, at(plan.Mirror, "spec.template.metadata.labels[kueue.x-k8s.io/podset]"), nil)
	assert.Equal(t, at(plan.Mirror, "spec.template.metadata.annotations[kueue.x-k8s.io/workload]"), nil)
	assert.Equal(t, at(plan.Mirror, "spec.template.metadata.annotations[kueue.x-k8s.io/podset-required-topology]"), "rack")
}

func TestPlanWarnsOfSelectors(t *testing.T) {
	const spread = "spec.template.spec.topologySpreadConstraints[0]"
	for name, tt := range map[string]struct {
		path, value string
		want        string
	}{
		"the origin's UID": {
			"topologySpreadConstraints", "[{labelSelector: {matchLabels: {batch.kubernetes.io/controller-uid: " + originUID + "}}}]",
			spread + " selects the Pods of the origin by its UID (batch.kubernetes.io/controller-uid): on the worker, no Pod has that.",
		},
		"another uid": {
			"topologySpreadConstraints", "[{labelSelector: {matchLabels: {controller-uid: u7}}}]",
			spread + " selects the Pods of the Job with UID u7 (controller-uid): on the worker, no Pod has that.",
		},
		"its own name": {"topologySpreadConstraints", "[{labelSelector: {matchLabels: {job-name: train-28391}}}]", ""},
		"another's name": {
			"affinity",
			"{podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: z, labelSelector: {matchLabels: {job-name: cache}}}]}}",
			"spec.template.spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0] selects the Pods of the Job cache (job-name): on the worker, there may be none.",
		},
		"an expression": {
			"affinity",
			"{podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, podAffinityTerm: {topologyKey: z, labelSelector: " +
				"{matchExpressions: [{key: batch.kubernetes.io/controller-uid, operator: NotIn, values: [" + originUID + "]}]}}}]}}",
			"spec.template.spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0] selects the Pods of the origin by its UID (batch.kubernetes.io/controller-uid): on the worker, no Pod has that.",
		},
		"an expression without values": {
			"topologySpreadConstraints", "[{labelSelector: {matchExpressions: [{key: controller-uid, operator: Exists}]}}]", "",
		},
		"matchLabelKeys": {"topologySpreadConstraints", "[{matchLabelKeys: [controller-uid], labelSelector: {matchLabels: {a: b}}}]", ""},
		"nonsense":       {"topologySpreadConstraints", "[7, {labelSelector: 8}]", ""},
	} {
		t.Run(name, func(t *testing.T) {
			plan := planFor(t, originJob(t, edit{"spec.template.spec." + tt.path, "yaml:" + tt.value}), into)
			if tt.want == "" {
				assert.Equal(t, len(plan.Warnings), 0, "%v", plan.Warnings)
			} else {
				assert.DeepEqual(t, plan.Warnings, []string{tt.want})
			}
		})
	}
}

func TestPlanWarnsOfNamespace(t *testing.T) {
	o := into
	o.Namespace = "other"
	everything := []edit{
		{"spec.template.spec.serviceAccountName", "trainer"},
		{"spec.template.spec.imagePullSecrets", "yaml:[{name: pull}]"},
		{"spec.template.spec.resourceClaims", "yaml:[{name: a, resourceClaimName: gpu}, {name: b, resourceClaimTemplateName: nic}]"},
		{"spec.template.spec.schedulingGroup", "yaml:{podGroupName: gang}"},
		{"spec.template.spec.initContainers", "yaml:[{name: init, envFrom: [{configMapRef: {name: env}}, {secretRef: {name: env}}]}]"},
		{"spec.template.spec.volumes", `yaml:
- {name: a, configMap: {name: settings}}
- {name: b, secret: {secretName: cert}}
- {name: c, persistentVolumeClaim: {claimName: data}}
- {name: d, projected: {sources: [{configMap: {name: more}}, {secret: {name: key}}]}}
- {name: e, csi: {driver: d, nodePublishSecretRef: {name: csi}}}
- {name: f, azureFile: {secretName: azure, shareName: s}}
- {name: g, emptyDir: {}}`},
	}
	plan := planFor(t, originJob(t, everything...), o)
	assert.Assert(t, cmp.Len(plan.Warnings, 1))
	names, found := strings.CutPrefix(plan.Warnings[0], "In namespace other the Pod template names other objects than in ml: ")
	assert.Assert(t, found, plan.Warnings[0])
	assert.DeepEqual(t, strings.Split(strings.TrimSuffix(names, "."), ", "), []string{
		"ConfigMap env", "ConfigMap more", "ConfigMap settings", "PersistentVolumeClaim data", "PodGroup gang", "ResourceClaim gpu",
		"ResourceClaimTemplate nic", "Secret azure", "Secret cert", "Secret csi", "Secret env", "Secret key", "Secret pull", "Secret token",
		"ServiceAccount trainer",
	})
	// There is no warning without references, or in the same namespace.
	assert.Equal(t, len(planFor(t, smallJob(t), o).Warnings), 0)
	o.Namespace = "ml"
	assert.Equal(t, len(planFor(t, originJob(t, everything...), o).Warnings), 0)
	o.Namespace = ""
	assert.Equal(t, len(planFor(t, originJob(t, everything...), o).Warnings), 0)
}

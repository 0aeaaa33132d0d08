package inspect

import (
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// TestDifferencesOfKinds checks that changes which Kueue and workers make to a healthy mirror are
// no differences.
func TestDifferencesOfKinds(t *testing.T) {
	for _, tt := range []struct {
		name, kind     string
		elastic        bool
		origin, mirror string
		want           []string
	}{
		{
			"sized by Ray's autoscaler", "rayjob", true,
			`{rayClusterSpec: {enableInTreeAutoscaling: true, workerGroupSpecs: [{groupName: small, replicas: 1}]}}`,
			`{rayClusterSpec: {enableInTreeAutoscaling: true, workerGroupSpecs: [{groupName: small, replicas: 5, scaleStrategy: {workersToDelete: [a]}}]}}`,
			nil,
		},
		{
			"a RayCluster is its own cluster", "raycluster", true,
			`{enableInTreeAutoscaling: true, workerGroupSpecs: [{groupName: small, replicas: 1, minReplicas: 1}]}`,
			`{enableInTreeAutoscaling: true, workerGroupSpecs: [{groupName: small, replicas: 5, minReplicas: 2}]}`,
			[]string{"spec.workerGroupSpecs[0].minReplicas"},
		},
		{
			"no autoscaler", "rayjob", true,
			`{rayClusterSpec: {workerGroupSpecs: [{groupName: small, replicas: 1}]}}`,
			`{rayClusterSpec: {workerGroupSpecs: [{groupName: small, replicas: 5}]}}`,
			[]string{"spec.rayClusterSpec.workerGroupSpecs[0].replicas"},
		},
		{
			"it may not change its size", "rayjob", false,
			`{rayClusterSpec: {enableInTreeAutoscaling: true, workerGroupSpecs: [{groupName: small, replicas: 1}]}}`,
			`{rayClusterSpec: {enableInTreeAutoscaling: true, workerGroupSpecs: [{groupName: small, replicas: 5}]}}`,
			[]string{"spec.rayClusterSpec.workerGroupSpecs[0].replicas"},
		},
		{
			"held by its cluster", "rayservice", false,
			`{serveConfigV2: a, rayClusterConfig: {suspend: true}}`, `{serveConfigV2: b, rayClusterConfig: {suspend: false}}`,
			[]string{"spec.serveConfigV2"},
		},
		{
			"what each Kueue patches", "trainjob", false,
			`{trainer: {numNodes: 2}, runtimePatches: [{manager: kueue.x-k8s.io/manager, time: a}, {manager: mine, time: b}]}`,
			`{trainer: {numNodes: 2}, runtimePatches: [{manager: mine, time: c}]}`,
			[]string{"spec.runtimePatches[0].time"},
		},
		{
			"zeros that the copy omits", "jobset", false,
			`{failurePolicy: {maxRestarts: 0, rules: []}, startupPolicy: {startupPolicyOrder: ""}}`, `{failurePolicy: {}, startupPolicy: {}}`,
			nil,
		},
		{
			"a field only of the mirror", "jobset", false,
			`{failurePolicy: {}}`, `{failurePolicy: {maxRestarts: 0}}`,
			[]string{"spec.failurePolicy.maxRestarts"},
		},
		{
			"an empty struct that the copy omits", "rayjob", false,
			`{rayClusterSpec: {}}`, `{rayClusterSpec: {headGroupSpec: {}, workerGroupSpecs: []}}`,
			nil,
		},
		{
			"assignments of Kueue", "appwrapper", false,
			`{components: [{template: {spec: {parallelism: 1}}, podSetInfos: [{labels: {a: b}}]}]}`,
			`{components: [{template: {spec: {parallelism: 2}}, podSetInfos: [{labels: {a: c}, nodeSelector: {d: e}}]}]}`,
			[]string{"spec.components[0].template.spec.parallelism"},
		},
		{
			"nothing but what Kueue patches", "trainjob", false,
			`{trainer: {numNodes: 2}}`, `{trainer: {numNodes: 2}, runtimePatches: [{manager: kueue.x-k8s.io/manager, time: a}]}`,
			nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			of := func(context, spec string) *Job {
				content := map[string]any{}
				assert.NilError(t, yaml.Unmarshal([]byte(spec), &content))
				return object(context, "ns", "a", ofKind(t, tt.kind), marked(delegation.Marks{Elastic: tt.elastic}), func(j *Job) {
					j.Object = &unstructured.Unstructured{Object: map[string]any{"spec": content}}
				})
			}
			origin, mirror := of("m", tt.origin), of("w", tt.mirror)
			v := NewInventory(at(0).Time, nil, nil)
			var fields []string
			for _, d := range v.Differences(origin, Mirror{Job: mirror, Current: true}) {
				fields = append(fields, d.Field)
			}
			assert.DeepEqual(t, fields, tt.want)
		})
	}
}

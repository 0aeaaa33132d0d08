package preflight

import (
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// parsed decodes an object from YAML.
func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	assert.NilError(t, yaml.UnmarshalStrict([]byte(text), &o.Object))
	return o
}

func TestDroppedFields(t *testing.T) {
	for _, c := range []struct {
		name, sent, stored string
		// matter and rest are the paths of dropped fields that matter, and of the others.
		matter, rest []string
	}{
		{
			"what a server adds and changes is not dropped",
			`{spec: {parallelism: 1, template: {spec: {containers: [{name: main, image: a}]}}}}`,
			`{spec: {parallelism: 2, suspend: false, template: {spec: {dnsPolicy: ClusterFirst, containers: [{name: injected}, {name: main, image: mirror/a}]}}}}`,
			nil, nil,
		},
		{
			"what changes the Job matters",
			`{spec: {successPolicy: {rules: [{succeededCount: 1}]}, backoffLimitPerIndex: 1, podFailurePolicy: {rules: []}, completionMode: Indexed,
				template: {spec: {schedulingGates: [{name: a}], initContainers: [{name: proxy, restartPolicy: Always}]}}}}`,
			`{spec: {podFailurePolicy: {}, template: {spec: {initContainers: [{name: proxy}]}}}}`,
			[]string{"spec.backoffLimitPerIndex", "spec.completionMode", "spec.successPolicy", "spec.template.spec.initContainers[0].restartPolicy", "spec.template.spec.schedulingGates"},
			nil,
		},
		{
			"defaults that older servers act by do not matter",
			`{spec: {podReplacementPolicy: TerminatingOrFailed, completionMode: NonIndexed, suspend: false, template: {spec: {hostUsers: true}}}}`,
			`{spec: {template: {spec: {}}}}`,
			nil, nil,
		},
		{
			"the default is another with a podFailurePolicy",
			`{spec: {podReplacementPolicy: Failed, podFailurePolicy: {rules: [{action: Ignore}]}}}`,
			`{spec: {podFailurePolicy: {rules: [{action: Ignore}]}}}`,
			nil, nil,
		},
		{
			"otherwise it was wanted",
			`{spec: {podReplacementPolicy: Failed}}`, `{spec: {}}`,
			[]string{"spec.podReplacementPolicy"},
			nil,
		},
		{
			"a rule of which nothing but the place is left",
			`{spec: {podFailurePolicy: {rules: [{action: FailJob}, {action: FailIndex}]}}}`,
			`{spec: {podFailurePolicy: {rules: [{action: FailJob}]}}}`,
			[]string{"spec.podFailurePolicy.rules[1]"},
			nil,
		},
		{
			"a volume of a type that is not known",
			`{spec: {template: {spec: {volumes: [{name: model, image: {reference: a}}, {name: scratch, emptyDir: {}}]}}}}`,
			`{spec: {template: {spec: {volumes: [{name: model}, {name: scratch, emptyDir: {}}]}}}}`,
			[]string{"spec.template.spec.volumes[0].image"},
			nil,
		},
		{
			"other dropped fields are reported, too, but no empty ones",
			`{spec: {template: {metadata: {creationTimestamp: null}, spec: {hostnameOverride: a, novelty: {}, another: "", third: [], off: false}}}}`,
			`{spec: {template: {spec: {}}}}`,
			nil,
			[]string{"spec.template.spec.hostnameOverride"},
		},
		{
			"Pods that start together",
			`{spec: {scheduling: {schedulingPolicy: {gang: {minCount: 2}}, resourceClaims: [{name: a, resourceClaimName: x}]}, template: {spec: {schedulingGroup: {podGroupName: g}}}}}`,
			`{spec: {template: {spec: {}}}}`,
			[]string{"spec.scheduling", "spec.template.spec.schedulingGroup"},
			nil,
		},
		{
			"all of them, which takes no number",
			`{spec: {scheduling: {schedulingPolicy: {gang: {}}, disruptionMode: {all: {}}}}}`, `{spec: {}}`,
			[]string{"spec.scheduling.schedulingPolicy.gang", "spec.scheduling.disruptionMode.all"},
			nil,
		},
		{
			"all of them, in a named place",
			`{spec: {scheduling: {schedulingPolicy: {gang: {}}, schedulingConstraints: {topology: [{key: rack}]}}}}`, `{spec: {}}`,
			[]string{"spec.scheduling"},
			nil,
		},
		{
			"all of them, on a server that knows it",
			`{spec: {scheduling: {schedulingPolicy: {gang: {}}, disruptionMode: {all: {}}}}}`,
			`{spec: {scheduling: {schedulingPolicy: {gang: {}}, disruptionMode: {all: {}}}}}`,
			nil, nil,
		},
		{
			"one by one, as without",
			`{spec: {scheduling: {schedulingPolicy: {basic: {}}, disruptionMode: {single: {}}}}}`, `{spec: {}}`,
			nil, nil,
		},
		{
			"how volumes are mounted, and probes asked",
			`{spec: {template: {spec: {
				initContainers: [{name: proxy, startupProbe: {grpc: {port: 1, mode: TLS}}, volumeMounts: [{name: v, bindMountOptions: [noexec]}]}],
				containers: [{name: main, livenessProbe: {httpGet: {port: 1, protocol: HTTP2}}, lifecycle: {preStop: {httpGet: {port: 1, protocol: HTTP2}}}, volumeMounts: [{name: v, bindMountOptions: [nodev]}]}]}}}}`,
			`{spec: {template: {spec: {
				initContainers: [{name: proxy, startupProbe: {grpc: {port: 1}}, volumeMounts: [{name: v}]}],
				containers: [{name: main, livenessProbe: {httpGet: {port: 1}}, lifecycle: {preStop: {httpGet: {port: 1}}}, volumeMounts: [{name: v}]}]}}}}`,
			[]string{
				"spec.template.spec.containers[0].lifecycle.preStop.httpGet.protocol", "spec.template.spec.containers[0].livenessProbe.httpGet.protocol",
				"spec.template.spec.containers[0].volumeMounts[0].bindMountOptions", "spec.template.spec.initContainers[0].startupProbe.grpc.mode",
				"spec.template.spec.initContainers[0].volumeMounts[0].bindMountOptions",
			},
			nil,
		},
		{
			"probes that are asked as they always were",
			`{spec: {template: {spec: {containers: [{name: main, livenessProbe: {httpGet: {port: 1, protocol: HTTP1}}, readinessProbe: {grpc: {port: 1, mode: Plaintext}}}]}}}}`,
			`{spec: {template: {spec: {containers: [{name: main, livenessProbe: {httpGet: {port: 1}}, readinessProbe: {grpc: {port: 1}}}]}}}}`,
			nil, nil,
		},
		{
			"a name that begins alike is another field",
			`{spec: {suspendAfter: 1m}}`, `{spec: {}}`, nil,
			[]string{"spec.suspendAfter"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var matter, rest []string
			for _, f := range droppedFields(parsed(t, c.sent), parsed(t, c.stored)) {
				if f.matters {
					matter = append(matter, f.path)
				} else {
					rest = append(rest, f.path)
				}
			}
			assert.DeepEqual(t, matter, c.matter)
			assert.DeepEqual(t, rest, c.rest)
		})
	}
}

func TestTooOld(t *testing.T) {
	p := Probe{Cluster: &fleet.Cluster{Context: "old"}}
	found := p.tooOld(serverVersion{text: "v1.28.1"}, []dropped{
		{path: "spec.successPolicy", matters: true, since: "1.31"},
		{path: "spec.template.spec.volumes[0].novel", matters: true},
		{path: "spec.novelty"},
	})
	assert.Equal(t, len(found), 2)
	assert.Assert(t, found[0].Blocking && !found[1].Blocking)
	assert.Equal(t, found[0].Message,
		"the API server (v1.28.1) drops spec.successPolicy (known from Kubernetes 1.31 on), spec.template.spec.volumes[0].novel, so the Job would behave differently there")
	assert.Equal(t, found[1].Message, "the API server (v1.28.1) drops spec.novelty; the Job runs without it")
	assert.Equal(t, len(p.tooOld(serverVersion{}, nil)), 0)
}

package kueue

import (
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"
)

func TestImageVersion(t *testing.T) {
	for image, want := range map[string]string{
		"registry.example/kueue/kueue:v0.19.2":               "v0.19.2",
		"registry.example:5000/kueue:v0.19.2@sha256:0123456": "v0.19.2",
		"registry.example:5000/kueue":                        "",
		"kueue:main":                                         "",
		"kueue@sha256:0123456":                               "",
	} {
		assert.Equal(t, ImageVersion(image), want, image)
	}
	minor, ok := (&Installation{Version: "v0.20.0-devel-377"}).Minor()
	assert.Assert(t, ok && minor == 20)
	_, ok = (&Installation{}).Minor()
	assert.Assert(t, !ok)
}

// TestCopied checks that a manager needs rights on its workers only for kinds that MultiKueue copies.
func TestCopied(t *testing.T) {
	_, known := (&Installation{}).Copied()
	assert.Assert(t, !known)
	for text, want := range map[string][]string{
		`{}`: {"batch/job"},
		`{integrations: {frameworks: [pod, deployment, sparkoperator.k8s.io/sparkapplication, ray.io/rayjob]}}`: {"pod", "ray.io/rayjob"},
		`{integrations: {frameworks: [pod], externalFrameworks: [Foo.v1.example.com]}}`:                         {"pod"},
		`{multiKueue: {externalFrameworks: [{name: PipelineRun.v1.tekton.dev}]}}`:                               {"PipelineRun.v1.tekton.dev", "batch/job"},
	} {
		i := &Installation{Config: &Configuration{}}
		assert.NilError(t, yaml.Unmarshal([]byte(text), i.Config))
		copied, known := i.Copied()
		assert.Assert(t, known)
		assert.DeepEqual(t, copied, want)
	}
}

func TestConfiguration(t *testing.T) {
	unknown := &Installation{}
	_, known := unknown.Origin()
	assert.Assert(t, !known && unknown.CollectsGarbage())
	_, known = unknown.Frameworks()
	assert.Assert(t, !known)

	empty := &Installation{Config: &Configuration{}}
	origin, known := empty.Origin()
	assert.Assert(t, known && origin == DefaultOrigin && empty.CollectsGarbage())
	frameworks, _ := empty.Frameworks()
	assert.DeepEqual(t, frameworks, []string{"batch/job"})
	_, known = empty.KeepsFinished()
	assert.Assert(t, !known)

	set := &Installation{Config: &Configuration{}, GateFlags: GatesIn([]string{"--config=/x", "--feature-gates=MultiKueue=false,Other=true", "-feature-gates", "Third=true"})}
	assert.NilError(t, yaml.Unmarshal([]byte(`
integrations: {frameworks: [pod, batch/job], externalFrameworks: [PipelineRun.v1.tekton.dev]}
multiKueue: {gcInterval: 0s, origin: tokyo}
featureGates: {MultiKueue: true, Fourth: true}
objectRetentionPolicies: {workloads: {afterFinished: 1m}}
`), set.Config))
	origin, _ = set.Origin()
	assert.Assert(t, origin == "tokyo" && !set.CollectsGarbage())
	frameworks, _ = set.Frameworks()
	assert.DeepEqual(t, frameworks, []string{"PipelineRun.v1.tekton.dev", "batch/job", "pod"})
	keeps, ok := set.KeepsFinished()
	assert.Assert(t, ok && keeps == time.Minute)
	for gate, want := range map[string]bool{"MultiKueue": false, "Other": true, "Third": true, "Fourth": true} {
		on, known := set.Gate(gate)
		assert.Assert(t, known && on == want, gate)
	}
	_, known = set.Gate("Fifth")
	assert.Assert(t, !known)
}

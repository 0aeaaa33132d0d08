package delegation_test

import (
	"encoding/json"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

var widgetGVK = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

// widgetDocument returns an OpenAPI document of one kind. properties are those of the kind, and
// components are other components, both in JSON.
func widgetDocument(t *testing.T, properties string, components ...string) []byte {
	t.Helper()
	kind := `"com.example.v1.Widget": {
		"type": "object", "description": "A Widget.",
		"properties": {"apiVersion": {"type": "string"}, "metadata": {"$ref": "#/components/schemas/Meta"}, ` + properties + `},
		"x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "Widget", "version": "v1"}]}`
	meta := `"Meta": {"type": "object", "properties": {
		"labels": {"type": "object", "additionalProperties": {"type": "string", "default": ""}},
		"managedFields": {"type": "array", "items": {"type": "object"}}}}`
	text := `{"openapi": "3.0.0", "paths": {"/apis/example.com/v1/widgets": {"get": {}}},
		"components": {"schemas": {` + strings.Join(append([]string{kind, meta}, components...), ", ") + `}}}`
	assert.Assert(t, json.Valid([]byte(text)), text)
	return []byte(text)
}

func parse(t *testing.T, document []byte) *delegation.Schemas {
	t.Helper()
	schemas, err := delegation.ParseSchemas(document)
	assert.NilError(t, err)
	return schemas
}

// specOf returns the property spec of an object with these properties.
func specOf(properties string) string {
	return `"spec": {"type": "object", "properties": {` + properties + `}}`
}

// managedBy returns the property managedBy with additional facts.
func managedBy(more string) string { return `"managedBy": {"type": "string"` + more + `}` }

func TestSchemaOfDelegatableKind(t *testing.T) {
	atSpec, atRunPolicy := []string{"spec", "managedBy"}, []string{"spec", "runPolicy", "managedBy"}
	always, whileSet, never := delegation.Always, delegation.WhileSet, delegation.Never
	of := func(path []string, change delegation.Change, reserved string, defaulted bool, allowed ...delegation.Owner) delegation.Kind {
		k := delegation.DiscoveredKind(widgetGVK, "widgets", []string{"wd"}, path)
		k.Change, k.Reserved, k.Defaulted, k.Allowed = change, reserved, defaulted, allowed
		return k
	}
	const immutable = `, "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "field is immutable"}]`
	rule := func(rule string) string {
		text, err := json.Marshal([]map[string]string{{"rule": rule}})
		assert.NilError(t, err)
		return specOf(managedBy(`, "x-kubernetes-validations": ` + string(text)))
	}
	for _, tt := range []struct {
		name       string
		properties string
		components []string
		want       delegation.Kind
	}{
		{"a string without further facts", specOf(managedBy("")), nil, of(atSpec, always, "", false)},
		{"in the run policy", specOf(`"runPolicy": {"type": "object", "properties": {` + managedBy("") + `}}`), nil, of(atRunPolicy, always, "", false)},
		{"in the spec and in its run policy", specOf(managedBy("") + `, "runPolicy": {"type": "object", "properties": {` + managedBy("") + `}}`), nil, of(atSpec, always, "", false)},
		{"next to unknown fields", `"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {` + managedBy("") + `}}`, nil, of(atSpec, always, "", false)},
		{
			"in allOf, as in built-in kinds", `"spec": {"default": {}, "allOf": [{"$ref": "#/components/schemas/Spec"}]}`,
			[]string{`"Spec": {"type": "object", "properties": {` + managedBy(`, "description": "means the reserved string 'a.io/b'"`) + `}}`},
			of(atSpec, always, "a.io/b", false),
		},
		{
			"by references, down to the field", `"spec": {"$ref": "#/components/schemas/Spec"}`,
			[]string{
				`"Spec": {"type": "object", "properties": {"runPolicy": {"allOf": [{"$ref": "#/components/schemas/Policy"}]}}}`,
				`"Policy": {"type": "object", "properties": {"managedBy": {"description": "Who?", "allOf": [{"$ref": "#/components/schemas/Owner"}]}}}`,
				`"Owner": {"type": "string", "enum": ["a.io/b", "c.io/d"]}`,
			},
			of(atRunPolicy, always, "", false, "a.io/b", "c.io/d"),
		},
		{
			"a reference to itself", `"spec": {"$ref": "#/components/schemas/Spec"}`,
			[]string{`"Spec": {"allOf": [{"$ref": "#/components/schemas/Spec"}, {"$ref": "#/components/schemas/None"}, {"properties": {` + managedBy("") + `}}]}`},
			of(atSpec, always, "", false),
		},

		{"one of some values", specOf(managedBy(`, "enum": ["a.io/b", "c.io/d", ""]`)), nil, of(atSpec, always, "", false, "a.io/b", "c.io/d")},
		{"values by a rule", rule(`self in ['a.io/b', "c.io/d"]`), nil, of(atSpec, always, "", false, "a.io/b", "c.io/d")},
		{"values by a rule of several lines", rule("self in [\n  'a.io/b',\n  'c.io/d'\n]"), nil, of(atSpec, always, "", false, "a.io/b", "c.io/d")},
		{"a single value", rule(`self in ['a.io/b']`), nil, of(atSpec, always, "", false, "a.io/b")},
		{"a rule with an alternative", rule(`self in ['a.io/b'] || self.startsWith('c.io/')`), nil, of(atSpec, always, "", false)},
		{"a negated rule", rule(`!(self in ['a.io/b'])`), nil, of(atSpec, always, "", false)},
		{"a rule with an escape", rule(`self in ['a.io/\u0062']`), nil, of(atSpec, always, "", false)},
		{"a rule about a list of its own", rule(`self in params.owners`), nil, of(atSpec, always, "", false)},

		{"fixed while it is set", rule(`self == oldSelf`), nil, of(atSpec, whileSet, "", false)},
		{"fixed while it is set, sides swapped", rule(`oldSelf == self`), nil, of(atSpec, whileSet, "", false)},
		{"fixed under a condition", rule(`self == oldSelf || oldSelf == ''`), nil, of(atSpec, always, "", false)},
		{"fixed and never unset", specOf(managedBy(`, "default": "a.io/b"` + immutable)), nil, of(atSpec, never, "a.io/b", true)},
		{
			"a default in an optional run policy", specOf(`"runPolicy": {"type": "object", "properties": {` + managedBy(`, "default": "a.io/b"`+immutable) + `}}`),
			nil, of(atRunPolicy, whileSet, "a.io/b", false),
		},
		{
			"a default in a run policy with a default", specOf(`"runPolicy": {"type": "object", "default": {}, "properties": {` + managedBy(`, "default": "a.io/b"`+immutable) + `}}`),
			nil, of(atRunPolicy, never, "a.io/b", true),
		},
		{
			"a default in a required run policy", `"spec": {"type": "object", "required": ["runPolicy"], "properties": {"runPolicy": {"type": "object", "properties": {` + managedBy(`, "default": "a.io/b"`) + `}}}}`,
			nil, of(atRunPolicy, always, "a.io/b", true),
		},

		{"reserved, in backticks", specOf(managedBy(`, "description": "field value is the reserved string\n` + "`a.io/b`" + `, but skips"`)), nil, of(atSpec, always, "a.io/b", false)},
		{"reserved, in quotes", specOf(managedBy(`, "description": "the reserved string \"a.io/b\"."`)), nil, of(atSpec, always, "a.io/b", false)},
		{"reserved, in the words of Tekton", specOf(managedBy(`, "description": "If unset or set to \"tekton.dev/pipeline\", the default\n\nTekton controller will"`)), nil, of(atSpec, always, "tekton.dev/pipeline", false)},
		{"a default and another reserved value in the description", specOf(managedBy(`, "default": "a.io/b", "description": "the reserved string 'c.io/d'"`)), nil, of(atSpec, always, "a.io/b", true)},
		{"an empty default", specOf(managedBy(`, "default": "", "description": "the reserved string 'c.io/d'"`)), nil, of(atSpec, always, "c.io/d", false)},
		{"a value in the description that is not reserved", specOf(managedBy(`, "description": "When set to \"a.io/b\", somebody else does it."`)), nil, of(atSpec, always, "", false)},
		{"an example is not reserved", specOf(managedBy(`, "description": "a domain-prefixed path (e.g. 'acme.io/foo')"`)), nil, of(atSpec, always, "", false)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			document := widgetDocument(t, tt.properties, tt.components...)
			assert.Assert(t, delegation.MentionsManagedBy(document))
			kind, ok := parse(t, document).Kind(widgetGVK, "widgets", []string{"wd"})
			assert.Assert(t, ok)
			assert.DeepEqual(t, kind, tt.want)
		})
	}
}

// TestSchemaOfOtherKind checks other fields named managedBy:
// docs/reference/kinds.md#discovery.
func TestSchemaOfOtherKind(t *testing.T) {
	nest := func(steps ...string) string {
		properties := managedBy("")
		for i := len(steps) - 1; i >= 0; i-- {
			if step, isList := strings.CutSuffix(steps[i], "[]"); isList {
				properties = `"` + step + `": {"type": "array", "items": {"type": "object", "properties": {` + properties + `}}}`
			} else {
				properties = `"` + steps[i] + `": {"type": "object", "properties": {` + properties + `}}`
			}
		}
		return properties
	}
	for _, tt := range []struct {
		name, properties string
		components       []string
	}{
		{name: "in the Job of a CronJob", properties: nest("spec", "jobTemplate", "spec")},
		{name: "in the Jobs of a JobSet", properties: nest("spec", "replicatedJobs[]", "template", "spec")},
		{name: "in the cluster of a RayJob", properties: nest("spec", "rayClusterSpec")},
		{name: "in the cluster of a RayService", properties: nest("spec", "rayClusterConfig")},
		{name: "in the RayJob of a RayCronJob", properties: nest("spec", "jobTemplate")},
		{name: "in the template of a TrainingRuntime", properties: nest("spec", "template", "spec")},
		{name: "in the TrainJob of an OptimizationJob", properties: nest("spec", "trainJobTemplate", "spec")},
		{name: "in a JobTemplate of kjob", properties: nest("template", "spec")},
		{name: "in the Job of an AnalysisRun", properties: nest("spec", "metrics[]", "provider", "job", "spec")},
		{name: "in a list of run policies", properties: nest("spec", "runPolicy[]")},
		{name: "in the run policy of something else", properties: nest("spec", "template", "runPolicy")},
		{name: "deeper in the run policy", properties: nest("spec", "runPolicy", "scheduling")},
		{name: "in a run policy that is not in the spec", properties: nest("runPolicy")},
		{name: "in the status alone", properties: nest("status")},
		{name: "as a provider of a cloud has it", properties: nest("spec", "forProvider")},
		{name: "in no spec at all", properties: nest()},
		{name: "an object", properties: specOf(`"managedBy": {"type": "object", "properties": {"name": {"type": "string"}}}`)},
		{name: "a list", properties: specOf(`"managedBy": {"type": "array", "items": {"type": "string"}}`)},
		{name: "a boolean", properties: specOf(`"managedBy": {"type": "boolean"}`)},
		{name: "anything", properties: specOf(`"managedBy": {"x-kubernetes-preserve-unknown-fields": true}`)},
		{name: "a number or a text", properties: specOf(`"managedBy": {"x-kubernetes-int-or-string": true, "oneOf": [{"type": "integer"}, {"type": "string"}]}`)},
		{name: "of any name", properties: `"spec": {"type": "object", "description": "\"managedBy\"", "additionalProperties": {"type": "string"}}`},
		{name: "in unknown fields", properties: `"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}`},
		{name: "in a component that is no kind", properties: specOf(`"name": {"type": "string"}`), components: []string{`"Other": {"type": "object", "properties": {` + nest("spec") + `}}`}},
		{name: "in another kind", properties: specOf(`"name": {"type": "string"}`), components: []string{
			`"Other": {"type": "object", "properties": {` + nest("spec") + `}, "x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "Other", "version": "v1"}]}`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, ok := parse(t, widgetDocument(t, tt.properties, tt.components...)).Kind(widgetGVK, "widgets", nil)
			assert.Assert(t, !ok)
		})
	}
}

func TestMentionsManagedBy(t *testing.T) {
	for text, want := range map[string]bool{
		`{"spec": {"properties": {"managedBy": {}}}}`:          true,
		`{"description": "the label managed-by, managedByMe"}`: false,
		`{}`: false,
	} {
		assert.Equal(t, delegation.MentionsManagedBy([]byte(text)), want, text)
	}
}

func TestSchemaLacks(t *testing.T) {
	path := []string{"spec", "managedBy"}
	for _, tt := range []struct {
		name, properties string
		want             bool
	}{
		{"the field exists", specOf(managedBy("")), false},
		{"no such field", specOf(`"suspend": {"type": "boolean"}`), true},
		{"no spec", `"data": {"type": "string"}`, true},
		{"unknown fields are allowed", `"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}`, false},
		{"fields of any name", `"spec": {"type": "object", "additionalProperties": {"type": "string"}}`, false},
		{"no unknown fields are allowed", `"spec": {"type": "object", "additionalProperties": false}`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, parse(t, widgetDocument(t, tt.properties)).Lacks(widgetGVK, path), tt.want)
		})
	}
	other := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}
	assert.Assert(t, !parse(t, widgetDocument(t, specOf(""))).Lacks(other, path), "Lacks of a kind without a schema")
}

func TestParseSchemasOfNonsense(t *testing.T) {
	for _, text := range []string{"", "null?", `{"components": {"schemas": []}}`} {
		_, err := delegation.ParseSchemas([]byte(text))
		assert.ErrorContains(t, err, "cannot parse the OpenAPI schemas")
	}
	// A malformed component does not affect the others.
	document := widgetDocument(t, specOf(managedBy("")),
		`"Odd": {"x-kubernetes-group-version-kind": "Odd"}`, `"Odder": {"type": 1, "x-kubernetes-group-version-kind": [{"group": "example.com", "kind": "Odder", "version": "v1"}]}`)
	schemas := parse(t, document)
	_, ok := schemas.Kind(widgetGVK, "widgets", nil)
	assert.Assert(t, ok)
	_, ok = schemas.Kind(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Odder"}, "odders", nil)
	assert.Assert(t, !ok)
}

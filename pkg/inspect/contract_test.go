package inspect_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"gotest.tools/v3/assert"
)

// TestContract checks that the fields that scripts use are in the schemas, required, and described,
// and that fields which scripts compare are enums.
func TestContract(t *testing.T) {
	for _, tt := range []struct {
		schema, definition string
		fields             []string
	}{
		{"findinglist", "Finding", []string{"code", "severity", "title", "message", "context", "apiVersion", "kind", "namespace", "name", "since", "fingerprint", "evidence", "fixes", "remedy", "docs"}},
		{"findinglist", "Fix", []string{"text", "command"}},
		{"findinglist", "FindingList", []string{"items", "summary", "unchecked", "errors"}},
		{"trace", "Trace", []string{"state", "reason", "message", "since", "placements", "fixes", "unchecked", "errors"}},
		{"trace", "Placement", []string{"context", "cluster", "verdict", "reason", "message"}},
		{"trace", "Unchecked", []string{"what", "contexts", "reason"}},
		{"ownerlist", "Job", []string{"status", "reason", "mirrors", "since"}},
		{"ownerlist", "OwnerList", []string{"items", "unchecked", "errors"}},
		{"queuelist", "QueueList", []string{"items", "unchecked", "errors"}},
		{"pendinglist", "PendingList", []string{"items", "unchecked", "errors"}},
		{"pendinglist", "PendingJob", []string{"context", "namespace", "workload", "kind", "name", "localQueue", "clusterQueue", "strategy", "queued", "place", "of", "priority", "startsBy", "reason", "message"}},
		{"kindlist", "KindList", []string{"items", "unchecked", "errors"}},
		{"tracelist", "TraceList", []string{"items", "unchecked", "errors"}},
	} {
		text, err := os.ReadFile("../../docs/schema/" + tt.schema + ".json")
		assert.NilError(t, err)
		var schema struct {
			Definitions map[string]struct {
				Properties map[string]property
				Required   []string
			} `json:"$defs"`
		}
		assert.NilError(t, json.Unmarshal(text, &schema))
		definition := schema.Definitions[tt.definition]
		for _, field := range tt.fields {
			assert.Assert(t, slices.Contains(definition.Required, field), "%s: %s.%s may be absent", tt.schema, tt.definition, field)
			p := definition.Properties[field]
			if len(p.OneOf) > 0 {
				p = p.OneOf[0]
			}
			assert.Assert(t, p.Description != "", "%s: %s.%s has no description", tt.schema, tt.definition, field)
			isEnum := slices.Contains([]string{"status", "severity", "state", "verdict"}, field) || field == "reason" && tt.definition != "Unchecked"
			assert.Equal(t, len(p.Enum) > 0, isEnum, "%s: the values of %s.%s", tt.schema, tt.definition, field)
		}
	}
}

// property is a field of a schema. A nullable field is one of two.
type property struct {
	Description string
	Enum        []string
	OneOf       []property
}

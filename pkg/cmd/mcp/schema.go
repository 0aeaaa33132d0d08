package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/docs"
)

// draft is the version of JSON Schema that the generated schemas have.
const draft = "https://json-schema.org/draft/2020-12/schema"

// outputSchema joins the generated schemas of a tool's documents into one, as clients need it: with
// the document at the root, and with the property "truncated". It returns an error for a document
// without a schema.
func outputSchema(t *tool) (map[string]any, error) {
	definitions := map[string]any{}
	for _, kind := range t.documents {
		text, err := docs.Schema(strings.ToLower(kind))
		if err != nil {
			return nil, err
		}
		var schema struct {
			Definitions map[string]any `json:"$defs"`
		}
		if err := json.Unmarshal(text, &schema); err != nil {
			return nil, err
		}
		maps.Copy(definitions, schema.Definitions)
		if definitions[kind] == nil {
			return nil, fmt.Errorf("the schema of %s does not define it", kind)
		}
	}
	schema := map[string]any{"$schema": draft, "$defs": definitions, "type": "object"}
	if len(t.documents) > 1 {
		var alternatives []any
		for _, kind := range t.documents {
			alternatives = append(alternatives, map[string]any{"$ref": "#/$defs/" + kind})
		}
		schema["anyOf"] = alternatives
		schema["properties"] = map[string]any{"truncated": truncationSchema()}
		return schema, nil
	}
	root, _ := definitions[t.documents[0]].(map[string]any)
	properties, _ := root["properties"].(map[string]any)
	properties["truncated"] = truncationSchema()
	maps.Copy(schema, root)
	delete(definitions, t.documents[0])
	return schema, nil
}

// truncationSchema returns the schema of a truncation.
func truncationSchema() map[string]any {
	count := map[string]any{"type": "integer"}
	text := map[string]any{"type": typeString}
	return map[string]any{
		"type":        "object",
		"description": "What was left out because the document was too large. Absent from a complete document.",
		"properties": map[string]any{
			"parts": map[string]any{"type": typeArray, "items": map[string]any{
				"type": "object", "properties": map[string]any{"field": text, "omitted": count, "total": count},
			}},
			"shortenedTexts": count,
			"hint":           text,
		},
	}
}

// Package docs holds the generated JSON schemas, for programs that serve them.
package docs

import "embed"

// schemas are the files of schema, which hack/docs writes.
//
//go:embed schema/*.json
var schemas embed.FS

// Schema returns the JSON schema of a document, by the document's kind in lower case.
func Schema(kind string) ([]byte, error) {
	return schemas.ReadFile("schema/" + kind + ".json")
}

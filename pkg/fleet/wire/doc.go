// Package wire reads the answers of API servers: it sends lists in chunks or as one stream, decodes
// objects while they arrive, and limits sizes. It knows no contexts: callers pass in requests.
package wire

// Package boundedyaml converts YAML from others to JSON, as kubectl does, with a limit on the
// expansion: an alias takes a few bytes, and represents its anchor's value of any size.
package boundedyaml

import (
	"bytes"
	"errors"
	"io"

	yamlv4 "go.yaml.in/yaml/v4"
	"sigs.k8s.io/yaml"
)

const (
	// maxRatio is the maximum ratio of the result to the text, which is more than people write,
	// and little enough for memory.
	maxRatio = 16
	// freeBytes is the size that any result may have.
	freeBytes = 64 << 10
)

// ErrBomb is the error for a text that expands too much.
var ErrBomb = errors.New("YAML aliases (*name) expand the file too much; replace them with their values")

// ToJSON is YAMLToJSON of sigs.k8s.io/yaml with a limit on the result; it returns ErrBomb beyond
// it.
func ToJSON(text []byte) ([]byte, error) {
	if bytes.IndexByte(text, '&') >= 0 && bytes.IndexByte(text, '*') >= 0 {
		if err := check(text); err != nil {
			return nil, err
		}
	}
	return yaml.YAMLToJSON(text)
}

// check returns an error for a text that expands too much once every alias is replaced, and for
// one that this library cannot parse, because the result of the other library is then unknown.
func check(text []byte) error {
	loader, err := yamlv4.NewLoader(bytes.NewReader(text))
	if err != nil {
		return err
	}
	for {
		var document yamlv4.Node
		switch err := loader.Load(&document); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		m := measure{known: map[*yamlv4.Node]int{}, limit: maxRatio*len(text) + freeBytes}
		if m.size(&document) > m.limit {
			return ErrBomb
		}
	}
}

// measure computes the sizes of nodes, each once.
type measure struct {
	known map[*yamlv4.Node]int
	limit int
}

// size returns the least number of bytes that a node becomes, or one more than the limit.
func (m *measure) size(n *yamlv4.Node) int {
	if size, ok := m.known[n]; ok {
		return size
	}
	// The other library refuses an anchor within itself.
	m.known[n] = 0
	size := len(n.Value) + 1
	if n.Kind == yamlv4.AliasNode {
		size = m.size(n.Alias)
	}
	for _, inner := range n.Content {
		size = min(size+m.size(inner), m.limit+1)
	}
	m.known[n] = size
	return size
}

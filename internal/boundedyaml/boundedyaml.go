// Package boundedyaml turns YAML that somebody else wrote into JSON, as kubectl does,
// without making much of little: an alias takes a few bytes, and stands for as much as
// its anchor likes.
package boundedyaml

import (
	"bytes"
	"errors"
	"io"

	yamlv4 "go.yaml.in/yaml/v4"
	"sigs.k8s.io/yaml"
)

const (
	// times is how many times a text's size may become of it, which is more than people
	// write, and less than a machine cannot hold.
	times = 16
	// free is what any text may become.
	free = 64 << 10
)

// ErrBomb is why a text is not taken.
var ErrBomb = errors.New("aliases (*name) make far more of it than it is; write out what they stand for")

// ToJSON is sigs.k8s.io/yaml's YAMLToJSON, for texts that do not become far more than
// they are; others are ErrBomb.
func ToJSON(text []byte) ([]byte, error) {
	if bytes.IndexByte(text, '&') >= 0 && bytes.IndexByte(text, '*') >= 0 {
		if err := check(text); err != nil {
			return nil, err
		}
	}
	return yaml.YAMLToJSON(text)
}

// check finds fault with a text that becomes more than it may, once every alias is what
// it stands for. Of what one library cannot read nobody knows what the other makes of it.
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
		m := measure{known: map[*yamlv4.Node]int{}, most: times*len(text) + free}
		if m.size(&document) > m.most {
			return ErrBomb
		}
	}
}

// measure finds out about sizes, each once.
type measure struct {
	known map[*yamlv4.Node]int
	most  int
}

// size is how many bytes a node becomes at least, or one more than it may.
func (m *measure) size(n *yamlv4.Node) int {
	if size, ok := m.known[n]; ok {
		return size
	}
	// An anchor within itself is for the other library to refuse.
	m.known[n] = 0
	size := len(n.Value) + 1
	if n.Kind == yamlv4.AliasNode {
		size = m.size(n.Alias)
	}
	for _, inner := range n.Content {
		size = min(size+m.size(inner), m.most+1)
	}
	m.known[n] = size
	return size
}

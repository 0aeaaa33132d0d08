package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"sigs.k8s.io/yaml"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/apijson"
	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/boundedyaml"
)

// envelope has the fields around the items of a List.
type envelope struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

func (e envelope) check() error {
	switch {
	case e.APIVersion == "" && e.Kind == "":
		return errors.New("it is not a v1 List: it has no apiVersion and kind")
	case e.APIVersion != "v1" || e.Kind != "List":
		return fmt.Errorf("it is not a v1 List, but apiVersion %q, kind %q", e.APIVersion, e.Kind)
	}
	return nil
}

// decodeList returns the items of a v1 List in YAML, as JSON.
//
// A parser needs many times a document's size in memory, and much time. If each item's dash is at
// the beginning of a line, as in the Lists that we write, the List can be split and parsed in
// pieces, concurrently. Otherwise it is parsed as a whole, which also returns the line of an
// error.
func decodeList(data []byte) ([][]byte, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("it is empty")
	}
	outer, pieces, err := splitList(data)
	if err != nil {
		return nil, err
	}
	if len(pieces) > 0 {
		if items, ok := decodePieces(pieces); ok {
			var e envelope
			if text, err := boundedyaml.ToJSON(outer); err == nil && yaml.Unmarshal(text, &e) == nil {
				return items, e.check()
			}
		}
	}
	return decodeWhole(data)
}

// decodePieces parses pieces with one item each. ok is false if one of them is malformed.
func decodePieces(pieces [][]byte) (items [][]byte, ok bool) {
	items = make([][]byte, len(pieces))
	var (
		wg     sync.WaitGroup
		next   atomic.Int64
		failed atomic.Bool
	)
	for range min(runtime.GOMAXPROCS(0), len(pieces)) {
		wg.Go(func() {
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= len(pieces) {
					return
				}
				item, ok := decodePiece(pieces[i])
				if !ok {
					failed.Store(true)
				}
				items[i] = item
			}
		})
	}
	wg.Wait()
	return items, !failed.Load()
}

// decodePiece parses a piece, which has one item after its dash. An item in JSON, which is also
// YAML, needs no YAML parser.
func decodePiece(piece []byte) (item []byte, ok bool) {
	behind, ok := bytes.CutPrefix(piece, []byte("-"))
	if !ok {
		return nil, false
	}
	if behind = bytes.TrimSpace(behind); bytes.HasPrefix(behind, []byte("{")) && json.Valid(behind) {
		return behind, true
	}
	list, err := boundedyaml.ToJSON(piece)
	item, opened := bytes.CutPrefix(list, []byte("["))
	item, closed := bytes.CutSuffix(item, []byte("]"))
	return item, err == nil && opened && closed
}

func decodeWhole(data []byte) ([][]byte, error) {
	text, err := boundedyaml.ToJSON(data)
	if err != nil {
		return nil, notYAML(err)
	}
	if !bytes.HasPrefix(text, []byte("{")) {
		return nil, errors.New("it is not a v1 List: it has no fields")
	}
	var list struct {
		envelope `json:",inline"`
		Items    []rawItem `json:"items"`
	}
	if err := apijson.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("it is not a v1 List: %w", err)
	}
	items := make([][]byte, len(list.Items))
	for i := range list.Items {
		items[i] = list.Items[i]
	}
	return items, list.check()
}

// rawItem is similar to json.RawMessage.
type rawItem []byte

// UnmarshalJSON keeps the text.
func (r *rawItem) UnmarshalJSON(text []byte) error {
	*r = bytes.Clone(text)
	return nil
}

// notYAML returns the error of a parser with its position, without the action of the library.
func notYAML(err error) error {
	if errors.Is(err, boundedyaml.ErrBomb) {
		return err
	}
	text := err.Error()
	if at := strings.Index(text, "yaml: "); at >= 0 {
		text = text[at+len("yaml: "):]
	}
	return errors.New("it is not valid YAML, or is truncated: " + text)
}

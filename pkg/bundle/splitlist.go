package bundle

import (
	"bytes"
	"errors"
	"strings"
)

// splitList splits a List into its items and the text around them. It returns no pieces if the
// List is not formatted in the usual way.
func splitList(data []byte) (outer []byte, pieces [][]byte, err error) {
	s := &splitter{data: data}
	began := false
	for at := 0; at < len(data); {
		end := at + bytes.IndexByte(data[at:], '\n') + 1
		if end == at {
			end = len(data)
		}
		line := data[at:end]
		if began && bytes.HasPrefix(line, []byte("---")) {
			return nil, nil, errors.New("it has more than one YAML document. Keep one List")
		}
		began = began || line[0] != '#' && len(bytes.TrimSpace(line)) > 0
		if s.within {
			s.inside(line, at)
		} else {
			s.outside(line, end)
		}
		at = end
	}
	if s.within {
		s.cut(len(data))
	}
	if s.unusual {
		s.pieces = nil
	}
	return s.outer, s.pieces, nil
}

// splitter is the state of splitting a List line by line.
type splitter struct {
	data, outer []byte
	pieces      [][]byte
	// within is whether the line belongs to an item. start is where the item begins.
	within bool
	start  int
	// unusual is whether there are items outside of the List.
	unusual bool
}

func (s *splitter) outside(line []byte, end int) {
	if len(s.pieces) == 0 && string(bytes.TrimRight(line, " \r\n")) == "items:" {
		s.within, s.start = true, end
		return
	}
	s.unusual = s.unusual || isItem(line)
	s.outer = append(s.outer, line...)
}

func (s *splitter) inside(line []byte, at int) {
	if isItem(line) {
		s.cut(at)
		return
	}
	if !strings.ContainsRune(" #\r\n", rune(line[0])) {
		// This is another field of the List.
		s.cut(at)
		s.within = false
		s.outer = append(s.outer, line...)
	}
}

// cut ends an item.
func (s *splitter) cut(at int) {
	if s.start < at {
		s.pieces = append(s.pieces, s.data[s.start:at])
	}
	s.start = at
}

func isItem(line []byte) bool {
	return line[0] == '-' && !bytes.HasPrefix(line, []byte("---"))
}

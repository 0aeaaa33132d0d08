package bundle

import (
	"bytes"
	"errors"
	"strings"
)

// takeApart cuts a List into its items and what stands around them. There are
// no pieces where it is not written in the usual way.
func takeApart(data []byte) (around []byte, pieces [][]byte, err error) {
	a := &apart{data: data}
	began := false
	for at := 0; at < len(data); {
		end := at + bytes.IndexByte(data[at:], '\n') + 1
		if end == at {
			end = len(data)
		}
		line := data[at:end]
		if began && bytes.HasPrefix(line, []byte("---")) {
			return nil, nil, errors.New("it holds more than one YAML document; one List is wanted")
		}
		began = began || line[0] != '#' && len(bytes.TrimSpace(line)) > 0
		if a.within {
			a.inside(line, at)
		} else {
			a.outside(line, end)
		}
		at = end
	}
	if a.within {
		a.cut(len(data))
	}
	if a.unusual {
		a.pieces = nil
	}
	return a.around, a.pieces, nil
}

// apart is a List that is being taken apart, line by line.
type apart struct {
	data, around []byte
	pieces       [][]byte
	// within is whether the line is one of the items'; start is where the item
	// begins.
	within bool
	start  int
	// unusual is whether there are items that are none of the List's.
	unusual bool
}

func (a *apart) outside(line []byte, end int) {
	if len(a.pieces) == 0 && string(bytes.TrimRight(line, " \r\n")) == "items:" {
		a.within, a.start = true, end
		return
	}
	a.unusual = a.unusual || isItem(line)
	a.around = append(a.around, line...)
}

func (a *apart) inside(line []byte, at int) {
	if isItem(line) {
		a.cut(at)
		return
	}
	if !strings.ContainsRune(" #\r\n", rune(line[0])) {
		// Another field of the List.
		a.cut(at)
		a.within = false
		a.around = append(a.around, line...)
	}
}

// cut ends an item.
func (a *apart) cut(at int) {
	if a.start < at {
		a.pieces = append(a.pieces, a.data[a.start:at])
	}
	a.start = at
}

func isItem(line []byte) bool {
	return line[0] == '-' && !bytes.HasPrefix(line, []byte("---"))
}

package logs

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// lineReader reads lines: whole ones, but those that are longer than longest in
// pieces. A progress bar may never end its line.
type lineReader struct {
	reader *bufio.Reader
	// isWithin says that the last piece did not end its line.
	isWithin bool
}

// piece is a line, or a part of one. It is valid until the next is read.
type piece struct {
	text []byte
	// begins and ends say whether its line does with it. A newline is at its end then;
	// at the end of everything that may be missing.
	begins, ends bool
}

// longest is how long a line is that comes in one piece: what runtimes write of a line
// at once (containerd: max_container_log_line_size). Of a longer one, the first piece
// has this length, always.
const longest = 16 << 10

// buffered is how much is passed on at once.
const buffered = 64 << 10

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{reader: bufio.NewReaderSize(r, longest)}
}

// next returns the next piece. Beside one that was cut off there is an error, such as
// io.EOF; it ends its line all the same.
func (l *lineReader) next() (piece, error) {
	if !l.isWithin {
		text, err := l.reader.ReadSlice('\n')
		l.isWithin = errors.Is(err, bufio.ErrBufferFull)
		if l.isWithin {
			err = nil
		}
		return piece{text: text, begins: true, ends: !l.isWithin}, err
	}
	// What there is of it, without waiting for more.
	_, err := l.reader.Peek(1)
	ready, _ := l.reader.Peek(l.reader.Buffered())
	if end := bytes.IndexByte(ready, '\n') + 1; end > 0 {
		ready = ready[:end]
		err, l.isWithin = nil, false
	}
	if err != nil {
		l.isWithin = false
	}
	// It stays where it is until something else is read.
	_, _ = l.reader.Discard(len(ready))
	return piece{text: ready, ends: !l.isWithin}, err
}

// hasNext says whether a further line is there without waiting for it.
func (l *lineReader) hasNext() bool {
	ready, err := l.reader.Peek(l.reader.Buffered())
	return err == nil && bytes.IndexByte(ready, '\n') >= 0
}

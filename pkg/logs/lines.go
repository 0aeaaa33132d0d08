package logs

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// lineReader reads complete lines, except lines that are longer than maxPiece, which it reads in
// pieces. A progress bar may never end its line.
type lineReader struct {
	reader *bufio.Reader
	// isWithin is whether the last piece did not end its line.
	isWithin bool
}

// piece is a line or a part of one. It is valid until the next one is read.
type piece struct {
	text []byte
	// begins and ends are whether the piece contains the beginning and the end of its line. The
	// end has a newline, except possibly at the end of the log.
	begins, ends bool
}

// maxPiece is the maximum length of a line in one piece. It is the size in which runtimes write a
// line (containerd: max_container_log_line_size). The first piece of a longer line always has
// this length.
const maxPiece = 16 << 10

// buffered is how much is passed on at once.
const buffered = 64 << 10

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{reader: bufio.NewReaderSize(r, maxPiece)}
}

// next returns the next piece. At the end of the input, it returns the rest of the line together
// with an error, such as io.EOF. That piece ends its line.
func (l *lineReader) next() (piece, error) {
	if !l.isWithin {
		text, err := l.reader.ReadSlice('\n')
		l.isWithin = errors.Is(err, bufio.ErrBufferFull)
		if l.isWithin {
			err = nil
		}
		return piece{text: text, begins: true, ends: !l.isWithin}, err
	}
	// Return what is available, without waiting for more.
	_, err := l.reader.Peek(1)
	ready, _ := l.reader.Peek(l.reader.Buffered())
	if end := bytes.IndexByte(ready, '\n') + 1; end > 0 {
		ready = ready[:end]
		err, l.isWithin = nil, false
	}
	if err != nil {
		l.isWithin = false
	}
	// The data stays in the buffer until the next read.
	_, _ = l.reader.Discard(len(ready))
	return piece{text: ready, ends: !l.isWithin}, err
}

// hasNext reports whether another line is available without waiting.
func (l *lineReader) hasNext() bool {
	ready, err := l.reader.Peek(l.reader.Buffered())
	return err == nil && bytes.IndexByte(ready, '\n') >= 0
}

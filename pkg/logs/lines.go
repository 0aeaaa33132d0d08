package logs

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// lineReader reads whole lines, however long they are.
type lineReader struct {
	reader *bufio.Reader
	long   []byte
}

// buffered is how much is read at once.
const buffered = 64 << 10

func newLineReader(r io.Reader) *lineReader {
	return &lineReader{reader: bufio.NewReaderSize(r, buffered)}
}

// next returns a line with the newline at its end. At the end of everything that
// may be missing, and there is an error beside it. The line is valid until next is
// called again.
func (l *lineReader) next() ([]byte, error) {
	l.long = l.long[:0]
	for {
		part, err := l.reader.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			l.long = append(l.long, part...)
		case len(l.long) == 0:
			return part, err
		default:
			l.long = append(l.long, part...)
			return l.long, err
		}
	}
}

// hasNext says whether a further line is there without waiting for it.
func (l *lineReader) hasNext() bool {
	ready, err := l.reader.Peek(l.reader.Buffered())
	return err == nil && bytes.IndexByte(ready, '\n') >= 0
}

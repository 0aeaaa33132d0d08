package logs

import "hash/maphash"

// openLine is a long line of which not all was read so far, on whatever connection.
type openLine struct {
	// mark is that of its first piece, without the time, and passed how much of its
	// text was passed on.
	mark   mark
	passed int
}

// passage is what one connection brings, piece by piece.
type passage struct {
	cursor *cursor
	replay *replay
	// isDropped says that the line which is being read was passed on before, and skip
	// how much was of one that was not wholly.
	isDropped bool
	skip      int
}

func (c *cursor) passage() *passage { return &passage{cursor: c, replay: c.replay()} }

// take takes in a piece. It returns the text of it that was not passed on before, and
// how long the time in front of that is in the piece; text is nil where there is none.
// continues says that it goes on with the line that was passed on last.
func (p *passage) take(from piece) (text []byte, continues bool) {
	if from.begins {
		text, continues = p.begin(from)
	} else if !p.isDropped {
		skipped := min(p.skip, len(from.text))
		p.skip -= skipped
		text, continues = from.text[skipped:], true
	}
	if p.cursor.open != nil && !p.isDropped {
		p.cursor.open.passed += len(text)
		if from.ends {
			p.cursor.open = nil
		}
	}
	if len(text) == 0 {
		return nil, false
	}
	return text, continues
}

// begin takes in the first piece of a line.
func (p *passage) begin(from piece) (text []byte, continues bool) {
	c := p.cursor
	text, isNew := c.take(from.text, p.replay)
	p.isDropped, p.skip = !isNew, 0
	if from.ends {
		if isNew {
			c.open = nil
			return text, false
		}
		return nil, false
	}
	at, rest, isTimed := splitTime(from.text)
	m := mark{nanos: at.UnixNano(), hash: maphash.Bytes(c.seed, rest)}
	switch {
	case isNew && isTimed:
		c.open = &openLine{mark: m}
		return text, false
	case isNew:
		c.open = nil
		return text, false
	case isTimed && c.open != nil && c.open.mark == m && p.replay.left[m] == 0:
		// It is the one that the connection before broke off in.
		p.isDropped, p.skip = false, max(0, c.open.passed-len(rest))
		text = rest[min(c.open.passed, len(rest)):]
		return text, true
	}
	return nil, false
}

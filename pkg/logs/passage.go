package logs

import "hash/maphash"

// openLine is a long line that was read partly, possibly on an earlier connection.
type openLine struct {
	// mark identifies its first piece, without the time. passed is the length of the text that
	// was passed on.
	mark   mark
	passed int
}

// passage processes the pieces of one connection.
type passage struct {
	cursor *cursor
	replay *replay
	// isDropped is whether the current line was already passed on. skip is the length of a partly
	// passed line to skip.
	isDropped bool
	skip      int
}

func (c *cursor) passage() *passage { return &passage{cursor: c, replay: c.replay()} }

// take accepts a piece, and returns its text that was not passed on before; nil if there is none.
// continues means that it continues the line that was passed on last.
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

// begin accepts the first piece of a line.
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
		// The previous connection broke off within this line.
		p.isDropped, p.skip = false, max(0, c.open.passed-len(rest))
		text = rest[min(c.open.passed, len(rest)):]
		return text, true
	}
	return nil, false
}

package tutorial

import (
	"fmt"
	"strconv"
	"strings"
)

// page is a page of documentation with commands. Commands are in blocks of the language console,
// after a prompt, and their output follows. Comments before a block are instructions that are not
// rendered:
//
//	<!-- until: COMMAND contains TEXT -->   wait for that, and run the block then
//	<!-- exits: CODE -->                    the block's only command ends with that
//	<!-- output: left out -->               what it prints is not on the page
type page struct {
	lines []string
	steps []step
}

// step is a command of the page.
type step struct {
	command string
	// first and last are the line numbers of its output; last is the line after it.
	first, last int
	hints
}

// hints are the instructions in the comments before a block.
type hints struct {
	// until is a command that must print the text contains before the block is run; "" for none.
	until, contains string
	code            int
	leftOut         bool
}

const (
	prompt = "$ "
	open   = "```console"
	fence  = "```"
)

func parsePage(text string) (*page, error) {
	p := &page{lines: strings.Split(text, "\n")}
	var h hints
	for i := 0; i < len(p.lines); i++ {
		line := p.lines[i]
		switch {
		case strings.HasPrefix(line, "<!-- "):
			if err := h.read(line); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		case line == open:
			end, err := p.block(i+1, h)
			if err != nil {
				return nil, err
			}
			i, h = end, hints{}
		case h != hints{} && line != "":
			return nil, fmt.Errorf("line %d: a comment for a block of commands is followed by %q", i+1, line)
		}
	}
	return p, nil
}

// block reads the commands of a block, and returns the number of its last line.
func (p *page) block(start int, h hints) (end int, err error) {
	first := len(p.steps)
	for i := start; i < len(p.lines); i++ {
		line := p.lines[i]
		switch command, isCommand := strings.CutPrefix(line, prompt); {
		case line == fence:
			if several := len(p.steps) - first; several != 1 && h != (hints{}) || several == 0 {
				return 0, fmt.Errorf("line %d: the block has %d commands", start, several)
			}
			return i, nil
		case isCommand:
			p.steps = append(p.steps, step{command: command, first: i + 1, last: i + 1, hints: h})
		case len(p.steps) == first:
			return 0, fmt.Errorf("line %d: a block of commands begins with %q", i+1, line)
		default:
			p.steps[len(p.steps)-1].last = i + 1
		}
	}
	return 0, fmt.Errorf("line %d: a block has no end", start)
}

// read reads a comment.
func (h *hints) read(comment string) error {
	text, closed := strings.CutSuffix(strings.TrimPrefix(comment, "<!-- "), " -->")
	key, value, _ := strings.Cut(text, ": ")
	var err error
	var ok bool
	switch {
	case !closed:
	case key == "until":
		h.until, h.contains, ok = strings.Cut(value, " contains ")
	case key == "exits":
		h.code, err = strconv.Atoi(value)
		ok = err == nil
	case text == "output: left out":
		h.leftOut, ok = true, true
	}
	if !ok {
		return fmt.Errorf("unknown instruction %q", comment)
	}
	return nil
}

// shown returns the output below a command on the page. A blank line before the next command is
// only for readability.
func (p *page) shown(s step) string {
	return strings.Trim(strings.Join(p.lines[s.first:s.last], "\n"), "\n")
}

// with returns the page with other outputs, by the numbers of the steps.
func (p *page) with(outputs map[int]string) string {
	var fresh []string
	from := 0
	for i, s := range p.steps {
		output, changed := outputs[i]
		if !changed {
			continue
		}
		fresh = append(fresh, p.lines[from:s.first]...)
		if output = strings.Trim(output, "\n"); output != "" {
			fresh = append(fresh, strings.Split(output, "\n")...)
		}
		if from = s.last; output != "" && strings.HasPrefix(p.lines[from], prompt) {
			fresh = append(fresh, "")
		}
	}
	return strings.Join(append(fresh, p.lines[from:]...), "\n")
}

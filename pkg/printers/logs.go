package printers

import (
	"bytes"
	"hash/fnv"
	"image/color"
	"io"
	"sync"

	"charm.land/lipgloss/v2"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/logs"
)

// PrefixMode selects the lines of logs that begin with the name of their container.
type PrefixMode int

const (
	// PrefixSeveral prefixes all lines once there is more than one container.
	PrefixSeveral PrefixMode = iota
	PrefixAlways
	PrefixNever
)

// LogOptions are the options of Logs.
type LogOptions struct {
	Prefix PrefixMode
	Color  bool
}

// Logs writes lines of logs unchanged, each in one piece, with the name of their container in
// front: "POD CONTAINER LINE", preceded by the context if there is more than one. It is safe for
// concurrent use.
type Logs struct {
	w       io.Writer
	options LogOptions
	colors  palette

	mu       sync.Mutex
	expected map[logs.Container]bool
	contexts map[string]bool
	prefixes map[logs.Container]string
	// isOpen is set if the last written line has no newline; last is its container.
	isOpen bool
	last   logs.Container
	text   []byte
}

// NewLogs returns a Logs that writes to w.
func NewLogs(w io.Writer, o LogOptions) *Logs {
	return &Logs{
		w: w, options: o, colors: palette{o.Color},
		expected: map[logs.Container]bool{}, contexts: map[string]bool{}, prefixes: map[logs.Container]string{},
	}
}

// Expect announces a container whose lines may come.
func (l *Logs) Expect(c logs.Container) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.expected[c] = true
	if !l.contexts[c.Context] {
		l.contexts[c.Context] = true
		clear(l.prefixes)
	}
}

// Write writes lines of a container. If another container has written within a line, the rest of
// the line starts on a new line, with the prefix.
func (l *Logs) Write(c logs.Container, lines []byte, continues bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = l.text[:0]
	continues = continues && l.isOpen && l.last == c
	if l.isOpen && !continues {
		l.text = append(l.text, '\n')
	}
	l.last = c
	prefix := l.prefix(c)
	for len(lines) > 0 {
		end := bytes.IndexByte(lines, '\n') + 1
		l.isOpen = end == 0
		if l.isOpen {
			end = len(lines)
		}
		if !continues {
			l.text = append(l.text, prefix...)
		}
		continues = false
		l.text = append(l.text, lines[:end]...)
		lines = lines[end:]
	}
	_, err := l.w.Write(l.text)
	return err
}

func (l *Logs) prefix(c logs.Container) string {
	if l.options.Prefix == PrefixNever || l.options.Prefix == PrefixSeveral && len(l.expected) < 2 {
		return ""
	}
	if prefix, ok := l.prefixes[c]; ok {
		return prefix
	}
	text := Safe(c.Pod) + " " + Safe(c.Name)
	if len(l.contexts) > 1 {
		text = Safe(c.Context) + " " + text
	}
	prefix := l.colors.logs(c.Pod, text) + " "
	l.prefixes[c] = prefix
	return prefix
}

// logs colours the prefix of a pod's lines by the pod's name, so that a pod has the same colour
// each time. Red is reserved for failures; black, white and the bright colours are colours of
// backgrounds.
func (p palette) logs(pod, text string) string {
	colors := []color.Color{lipgloss.Cyan, lipgloss.Green, lipgloss.Magenta, lipgloss.Yellow, lipgloss.Blue}
	hash := fnv.New32a()
	// It never fails.
	_, _ = hash.Write([]byte(pod))
	return p.colored(colors[int(hash.Sum32()%uint32(len(colors)))], text)
}

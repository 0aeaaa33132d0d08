package printers

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/logs"
)

// TestLogsPrefixes: lines have the name of their container once there are several.
func TestLogsPrefixes(t *testing.T) {
	one, two := logs.Container{Context: "west", Pod: "train-0", Name: "main"}, logs.Container{Context: "west", Pod: "train-1", Name: "main"}
	away := logs.Container{Context: "evil\x1b[31m", Pod: "train-2", Name: "main"}
	for _, tt := range []struct {
		mode PrefixMode
		want string
	}{
		{PrefixSeveral, "a\ntrain-0 main b\ntrain-1 main c\ntrain-1 main d\nevil\\x1b[31m train-2 main e\nwest train-0 main f"},
		{PrefixAlways, "train-0 main a\ntrain-0 main b\ntrain-1 main c\ntrain-1 main d\nevil\\x1b[31m train-2 main e\nwest train-0 main f"},
		{PrefixNever, "a\nb\nc\nd\ne\nf"},
	} {
		var out bytes.Buffer
		l := NewLogs(&out, LogOptions{Prefix: tt.mode})
		l.Expect(one)
		assert.NilError(t, l.Write(one, []byte("a\n"), false))
		l.Expect(two)
		assert.NilError(t, l.Write(one, []byte("b\n"), false))
		// A line without an end gets one when another line follows.
		assert.NilError(t, l.Write(two, []byte("c\nd"), false))
		l.Expect(away)
		assert.NilError(t, l.Write(away, []byte("e\n"), false))
		assert.NilError(t, l.Write(one, []byte("f"), false))
		assert.Equal(t, out.String(), tt.want)
	}
}

// TestLogsOfALongLine: the pieces of a long line are one line, unless another container writes
// between them.
func TestLogsOfALongLine(t *testing.T) {
	one, two := logs.Container{Pod: "train-0", Name: "main"}, logs.Container{Pod: "train-1", Name: "main"}
	var out bytes.Buffer
	l := NewLogs(&out, LogOptions{Prefix: PrefixAlways})
	for _, w := range []struct {
		c         logs.Container
		text      string
		continues bool
	}{{one, "10%\r", false}, {one, "20%\r", true}, {two, "a\n", false}, {one, "30%\r", true}, {one, "\nb", true}, {one, "c\n", false}, {one, "late\n", true}} {
		assert.NilError(t, l.Write(w.c, []byte(w.text), w.continues))
	}
	assert.Equal(t, out.String(), "train-0 main 10%\r20%\r\ntrain-1 main a\ntrain-0 main 30%\r\ntrain-0 main b\ntrain-0 main c\ntrain-0 main late\n")
}

// TestLogsAreRaw: the output of programs is written unchanged.
func TestLogsAreRaw(t *testing.T) {
	const text = "\x1b[31mred\x1b[0m \xff\xfe\x00 50%\r100%\r\n\n  indented\n" + "no end"
	var out bytes.Buffer
	l := NewLogs(&out, LogOptions{Color: true})
	l.Expect(logs.Container{Pod: "train-0", Name: "main"})
	assert.NilError(t, l.Write(logs.Container{Pod: "train-0", Name: "main"}, []byte(text), false))
	assert.Equal(t, out.String(), text)
}

// TestLogsColors: a pod has the same colour each time, and never a background colour or red.
func TestLogsColors(t *testing.T) {
	seen := map[string]bool{}
	for i := range 100 {
		pod := fmt.Sprintf("train-%d", i)
		var colors []string
		for range 2 {
			var out bytes.Buffer
			l := NewLogs(&out, LogOptions{Prefix: PrefixAlways, Color: true})
			assert.NilError(t, l.Write(logs.Container{Pod: pod, Name: "main"}, []byte("x\n"), false))
			color, rest, _ := strings.Cut(out.String(), pod)
			assert.Equal(t, rest, " main\x1b[m x\n")
			colors = append(colors, color)
		}
		assert.Equal(t, colors[0], colors[1])
		seen[colors[0]] = true
	}
	assert.DeepEqual(t, seen, map[string]bool{"\x1b[32m": true, "\x1b[33m": true, "\x1b[34m": true, "\x1b[35m": true, "\x1b[36m": true})
}

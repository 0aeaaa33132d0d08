package main

import (
	"reflect"
	"testing"

	"gotest.tools/v3/assert"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []line
	}{
		{"nothing", "", nil},
		{"no end of line", "a", []line{{{"a", style{}}}}},
		{"lines", "a\n\nb\n", []line{{{"a", style{}}}, nil, {{"b", style{}}}}},
		{
			"colours", "\x1b[31mred\x1b[0m \x1b[92mgreen\x1b[39m.\n",
			[]line{{{"red", style{color: 2}}, {" ", style{}}, {"green", style{color: 11}}, {".", style{}}}},
		},
		{
			"weights", "\x1b[1mbold\x1b[22m\x1b[2mdim\x1b[m\n",
			[]line{{{"bold", style{bold: true}}, {"dim", style{dim: true}}}},
		},
		{"several at once", "\x1b[1;33mx", []line{{{"x", style{bold: true, color: 4}}}}},
		{"a style over a line's end", "\x1b[2ma\nb", []line{{{"a", style{dim: true}}}, {{"b", style{dim: true}}}}},
		{"one style, several sequences", "\x1b[31ma\x1b[31mb\n", []line{{{"ab", style{color: 2}}}}},
		{"wide letters", "├─ 作業\n", []line{{{"├─ 作業", style{}}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines, err := parse([]byte(c.text))
			assert.NilError(t, err)
			assert.Assert(t, reflect.DeepEqual(lines, c.want), "%v", lines)
		})
	}
}

func TestParseRejectsUnknownSequences(t *testing.T) {
	for name, text := range map[string]string{
		"underlined":      "\x1b[4mx",
		"of 256 colours":  "\x1b[38;5;1mx",
		"curly":           "\x1b[4:3mx",
		"cursor":          "\x1b[2Ax",
		"carriage return": "a\rb",
		"tab":             "a\tb",
		"link":            "\x1b]8;;https://example.com\x1b\\x",
		"private":         "\x1b[?25l",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse([]byte(text))
			assert.ErrorContains(t, err, "cannot draw")
		})
	}
}

package printers_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"gotest.tools/v3/assert"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/printers"
)

func TestSafe(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", ""},
		{"plain", "train-42", "train-42"},
		{"spaces", " a  b ", " a  b "},
		{"punctuation", `a\b"c'd`, `a\b"c'd`},
		{"an escape sequence", "a\x1b[31mb", `a\x1b[31mb`},
		{"a carriage return", "a\rb", `a\rb`},
		{"a line feed", "a\nb", `a\nb`},
		{"a tab", "a\tb", `a\tb`},
		{"a bell and a backspace", "\a\b", `\a\b`},
		{"a null", "a\x00b", `a\x00b`},
		{"delete", "a\x7fb", `a\x7fb`},
		{"a C1 control", "a\u009bb", `a\u009bb`},
		{"an override of direction", "a\u202eb", `a\u202eb`},
		{"an isolate", "a\u2066b", `a\u2066b`},
		{"a mark of direction", "a\u200eb", `a\u200eb`},
		{"a space without width", "a\u200bb", `a\u200bb`},
		{"a byte order mark", "\ufeffa", `\ufeffa`},
		{"a line separator", "a\u2028b", `a\u2028b`},
		{"a space that does not look like one", "a\u00a0b", `a\u00a0b`},
		{"a tag beyond the first plane", "a\U000e0041b", `a\U000e0041b`},
		{"a byte that is not UTF-8", "a\xffb", `a\xffb`},
		{"bytes that are not UTF-8", "\xf0\x9f\x9a", `\xf0\x9f\x9a`},
		{"a surrogate", "\xed\xa0\x80", `\xed\xa0\x80`},
		{"a control as a bare byte", "a\x9bb", `a\x9bb`},
		{"a real replacement character", "a\ufffdb", "a\ufffdb"},
		{"a real one next to a byte", "\ufffd\xff\ufffd\x1b", "\ufffd\\xff\ufffd\\x1b"},
		{"wide runes", "学習ジョブ", "学習ジョブ"},
		{"emoji", "🚀✅", "🚀✅"},
		{"accents", "e\u0301é", "e\u0301é"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, printers.Safe(tt.text), tt.want)
			// Between other characters that are not printable, it must become the same.
			assert.Equal(t, printers.Safe("\x1b"+tt.text+"\x1b"), `\x1b`+tt.want+`\x1b`)
		})
	}
}

func TestSafeLines(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", ""},
		{"lines", "a\nb\n", "a\nb\n"},
		{"blank lines", "\n\na\n\n", "\n\na\n\n"},
		{"tabs", "a\tb\n\tc\t\n", "a\tb\n\tc\t\n"},
		{"lines from Windows", "a\r\nb", "a\\r\nb"},
		{"an escape sequence", "a\x1b[2J\n\x1b[Hb", "a\\x1b[2J\n\\x1b[Hb"},
		{"bytes that are not UTF-8", "\xff\n\xfe", "\\xff\n\\xfe"},
		{"wide runes", "学習\n🚀", "学習\n🚀"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, printers.SafeLines(tt.text), tt.want)
		})
	}
}

func FuzzSafe(f *testing.F) {
	for _, seed := range []string{"", "train-42", evil, wide, "\ufffd", "\xef\xbf", "a\r\nb\tc", "\U0001f468\u200d\U0001f469"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		safe := printers.Safe(text)
		assert.Assert(t, utf8.ValidString(safe), "%q is not UTF-8", safe)
		for _, r := range safe {
			assert.Assert(t, unicode.IsPrint(r), "%q in %q", r, safe)
		}
		assert.Equal(t, printers.Safe(safe), safe)
		harmless := utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
		assert.Equal(t, safe == text, harmless)

		// SafeLines lets only line breaks and tabs through in addition.
		lines := printers.SafeLines(text)
		assert.Equal(t, strings.Count(lines, "\n"), strings.Count(text, "\n"))
		assert.Equal(t, strings.Count(lines, "\t"), strings.Count(text, "\t"))
		bare := strings.NewReplacer("\n", "", "\t", "")
		assert.Equal(t, printers.Safe(bare.Replace(lines)), bare.Replace(lines))
		assert.Equal(t, printers.SafeLines(lines), lines)
	})
}

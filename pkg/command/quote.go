package command

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"al.essio.dev/pkg/shellescape"
)

// Word is a text as one word of a shell's, on one line. What is not printable is
// written by its bytes, as POSIX has it since 2024 and bash, zsh, ksh and busybox for
// longer ($'\012'); a shell that does not know that takes it for a word as well, if for
// another one. So is the backquote, which stands around commands in Prose.
func Word(text string) string {
	switch {
	case !isPrintable(text):
		return escaped(text)
	case strings.HasPrefix(text, "="):
		// zsh takes it for the path of a program.
		return "'" + strings.ReplaceAll(text, "'", `'"'"'`) + "'"
	}
	return shellescape.Quote(text)
}

// isPrintable says whether a text may stand in single quotes.
func isPrintable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) || r == '`' })
}

// escaped is a text in the quotes in which a shell knows escapes. Every shell has to
// find their end at the same place, so no quote or backslash is in them but by its
// number. No word can hold a NUL; the sign for what cannot be written takes its place.
func escaped(text string) string {
	var b strings.Builder
	b.WriteString("$'")
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == 0:
			b.WriteString(octal(string(utf8.RuneError)))
		case r == utf8.RuneError, !strconv.IsPrint(r), strings.ContainsRune("'`\\!", r):
			b.WriteString(octal(text[:size]))
		default:
			b.WriteRune(r)
		}
		text = text[size:]
	}
	b.WriteString("'")
	return b.String()
}

// octal are the bytes of a text, each as an escape.
func octal(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, `\%03o`, text[i])
	}
	return b.String()
}

package command

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"al.essio.dev/pkg/shellescape"
)

// Word returns a text as one word of a shell, on one line. Unprintable characters are written by
// their bytes, as in POSIX since 2024, and in bash, zsh, ksh and busybox for longer ($'\012'). A
// shell without this syntax also reads one word, although a different one. The backquote is
// written in the same way, because it encloses commands in Prose.
func Word(text string) string {
	switch {
	case !isPrintable(text):
		return escaped(text)
	case strings.HasPrefix(text, "="):
		// zsh would replace it with the path of a program.
		return "'" + strings.ReplaceAll(text, "'", `'"'"'`) + "'"
	}
	return shellescape.Quote(text)
}

// isPrintable reports whether a text can be in single quotes.
func isPrintable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) || r == '`' })
}

// escaped returns a text in quotes with escapes. Every shell has to find their end at the same
// place, so quotes and backslashes inside are written by their numbers. No word can contain NUL,
// which becomes the replacement character.
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

// octal returns the bytes of a text as escapes.
func octal(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, `\%03o`, text[i])
	}
	return b.String()
}

package bundle

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNameLength is the maximum number of bytes of a context's name in its file name.
const maxNameLength = 80

// fileName returns an unused name for a context's file that every file system accepts.
func fileName(context string, used map[string]bool) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), strings.ContainsRune("-_.+=", r):
			return r
		}
		return '_'
	}, strings.ToValidUTF8(context, "_"))
	for len(safe) > maxNameLength {
		_, size := utf8.DecodeLastRuneInString(safe)
		safe = safe[:len(safe)-size]
	}
	safe = strings.Trim(safe, ".")
	if safe == "" {
		safe = "context"
	}
	name := safe + ".yaml"
	// Some file systems ignore case.
	for n := 2; used[strings.ToLower(name)]; n++ {
		name = fmt.Sprintf("%s-%d.yaml", safe, n)
	}
	used[strings.ToLower(name)] = true
	return name
}

// Package shelltest parses commands as a shell would, for tests that what people paste does what
// is intended.
package shelltest

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// bare matches text that may be outside of quotes, because it has no special meaning in any
// shell.
var bare = regexp.MustCompile(`^[\w@%+:,./-][\w@%+=:,./-]*$`)

// Words returns the words of a command, as a shell would pass them on. It has to be one simple
// command on one line: nothing that a shell runs, expands, writes or sets on the way, and no
// character that a terminal interprets.
func Words(tb testing.TB, command string) []string {
	tb.Helper()
	all := Pipeline(tb, command)
	assert.Equal(tb, len(all), 1, "not one command: %s", command)
	return all[0]
}

// Pipeline is Words for commands that are joined by "|".
func Pipeline(tb testing.TB, command string) [][]string {
	tb.Helper()
	printable := !strings.ContainsFunc(command, func(r rune) bool { return !strconv.IsPrint(r) })
	assert.Assert(tb, printable, "not one line of what can be seen: %q", command)
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	assert.NilError(tb, err, "no shell takes this: %s", command)
	assert.Equal(tb, len(file.Stmts), 1, "not one statement: %s", command)
	assert.Equal(tb, len(file.Last), 0, "a comment: %s", command)
	return simple(tb, command, file.Stmts[0])
}

func simple(tb testing.TB, command string, s *syntax.Stmt) [][]string {
	tb.Helper()
	plain := !s.Negated && !s.Background && !s.Coprocess && !s.Semicolon.IsValid() && len(s.Redirs) == 0 && len(s.Comments) == 0
	assert.Assert(tb, plain, "more than a command: %s", command)
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		assert.Equal(tb, c.Op, syntax.Pipe, "%s", command)
		return append(simple(tb, command, c.X), simple(tb, command, c.Y)...)
	case *syntax.CallExpr:
		assert.Equal(tb, len(c.Assigns), 0, "it sets a variable: %s", command)
		syntax.Walk(c, func(node syntax.Node) bool {
			switch n := node.(type) {
			case nil, *syntax.CallExpr, *syntax.Word, *syntax.SglQuoted:
			case *syntax.DblQuoted:
				assert.Assert(tb, len(n.Parts) == 1 && isLiteral(n.Parts[0]), "it is expanded: %s", command)
				return false
			case *syntax.Lit:
				assert.Assert(tb, bare.MatchString(n.Value), "a shell may take %q for something: %s", n.Value, command)
			default:
				tb.Fatalf("a shell does something with %T: %s", n, command)
			}
			return true
		})
		words, err := expand.Fields(&expand.Config{}, c.Args...)
		assert.NilError(tb, err, "%s", command)
		return [][]string{words}
	default:
		tb.Fatalf("no simple command (%T): %s", c, command)
		return nil
	}
}

func isLiteral(p syntax.WordPart) bool {
	_, is := p.(*syntax.Lit)
	return is
}

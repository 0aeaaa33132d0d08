// Package shelltest parses printed commands as a shell would, for tests that they are safe to
// paste.
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
	assert.Assert(tb, printable, "characters that are not printable: %q", command)
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(command), "")
	assert.NilError(tb, err, "syntax error in: %s", command)
	assert.Equal(tb, len(file.Stmts), 1, "not one statement: %s", command)
	assert.Equal(tb, len(file.Last), 0, "the command has a comment: %s", command)
	return simple(tb, command, file.Stmts[0])
}

func simple(tb testing.TB, command string, s *syntax.Stmt) [][]string {
	tb.Helper()
	plain := !s.Negated && !s.Background && !s.Coprocess && !s.Semicolon.IsValid() && len(s.Redirs) == 0 && len(s.Comments) == 0
	assert.Assert(tb, plain, "not a simple command: %s", command)
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		assert.Equal(tb, c.Op, syntax.Pipe, "not a pipeline: %s", command)
		return append(simple(tb, command, c.X), simple(tb, command, c.Y)...)
	case *syntax.CallExpr:
		assert.Equal(tb, len(c.Assigns), 0, "the command sets a variable: %s", command)
		syntax.Walk(c, func(node syntax.Node) bool {
			switch n := node.(type) {
			case nil, *syntax.CallExpr, *syntax.Word, *syntax.SglQuoted:
			case *syntax.DblQuoted:
				assert.Assert(tb, len(n.Parts) == 1 && isLiteral(n.Parts[0]), "a shell expands a part of: %s", command)
				return false
			case *syntax.Lit:
				assert.Assert(tb, bare.MatchString(n.Value), "a shell may interpret %q in: %s", n.Value, command)
			default:
				tb.Fatalf("a shell interprets %T in: %s", n, command)
			}
			return true
		})
		words, err := expand.Fields(&expand.Config{}, c.Args...)
		assert.NilError(tb, err, "%s", command)
		return [][]string{words}
	default:
		tb.Fatalf("not a simple command (%T): %s", c, command)
		return nil
	}
}

func isLiteral(p syntax.WordPart) bool {
	_, ok := p.(*syntax.Lit)
	return ok
}

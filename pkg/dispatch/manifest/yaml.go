package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	yamlv4 "go.yaml.in/yaml/v4"

	"github.com/jobmanagedby/kubectl-jobmanagedby/internal/boundedyaml"
)

// yaml parses a document with two libraries: one reports the positions of errors, and the other
// one is used by kubectl and API servers.
func (c chunk) yaml() []document {
	node, err := c.syntax()
	switch {
	case err != nil:
		return []document{{err: err}}
	case node == nil:
		return nil
	}
	if err := c.duplicates(node, ""); err != nil {
		return []document{{err: err}}
	}
	text, err := boundedyaml.ToJSON(c.text)
	if err != nil {
		return []document{{err: c.withLine(err)}}
	}
	if string(text) == "null" {
		return nil
	}
	return []document{decodeJSON(text)}
}

// syntax returns the tree of a document; nil if the document is empty.
func (c chunk) syntax() (*yamlv4.Node, error) {
	loader, err := yamlv4.NewLoader(bytes.NewReader(c.text))
	if err != nil {
		return nil, err
	}
	var nodes [2]yamlv4.Node
	for i := range nodes {
		err := loader.Load(&nodes[i])
		switch {
		case errors.Is(err, io.EOF) && i == 0:
			return nil, nil
		case errors.Is(err, io.EOF):
			return &nodes[0], nil
		case err != nil:
			return nil, c.located(err)
		}
	}
	// kubectl's library would silently ignore the second document.
	return nil, &syntaxError{nodes[1].Line + c.line - 1, nodes[1].Column, "another document begins here; put a line of --- in front of it"}
}

// located converts an error of the library that reports positions.
func (c chunk) located(err error) error {
	failed := (*yamlv4.LoadError)(nil)
	if !errors.As(err, &failed) || failed.Mark.Line == 0 {
		return err
	}
	e := &syntaxError{failed.Mark.Line + c.line - 1, failed.Mark.Column, failed.Message}
	what := failed.ContextMsg
	if i := strings.LastIndex(what, " a "); i >= 0 {
		what = what[i+1:]
	}
	begins := &syntaxError{line: failed.ContextMark.Line + c.line - 1, column: failed.ContextMark.Column}
	switch {
	case failed.ContextMark.Line == 0 || *begins == syntaxError{line: e.line, column: e.column}:
	case what == "a simple key":
		// The library notices this error much later.
		e.line, e.column = begins.line, begins.column
	case what == "a quoted scalar" && failed.Message == "found unexpected end of stream":
		e.line, e.column, e.message = begins.line, begins.column, "a quote is opened here and never closed"
	default:
		e.message += fmt.Sprintf(", in %s that begins at %s", what, begins.place())
	}
	if line := c.lineAt(failed.Mark.Line); failed.Mark.Column <= len(line) && line[failed.Mark.Column-1] == '\t' {
		e.message = "a tab, where only spaces are allowed"
	}
	return e
}

// lineAt returns a line of the chunk by its number.
func (c chunk) lineAt(number int) []rune {
	lines := strings.Split(string(c.text), "\n")
	if number > len(lines) {
		return nil
	}
	return []rune(lines[number-1])
}

// lineNumber matches the line number in an error of kubectl's library.
var lineNumber = regexp.MustCompile(`^line (\d+): (.*)`)

// withLine corrects the line number in an error of kubectl's library.
func (c chunk) withLine(err error) error {
	message := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "), "yaml: ")
	found := lineNumber.FindStringSubmatch(message)
	if found == nil {
		return errors.New(message)
	}
	line, err := strconv.Atoi(found[1])
	if err != nil {
		return errors.New(message)
	}
	return &syntaxError{line: line + c.line - 1, message: found[2]}
}

// duplicates finds a repeated key in an object. The decoder would drop one of the values.
func (c chunk) duplicates(n *yamlv4.Node, path string) error {
	seen := map[string]int{}
	for i, child := range n.Content {
		inner := path
		switch {
		case n.Kind == yamlv4.SequenceNode:
			inner = fmt.Sprintf("%s[%d]", path, i)
		case n.Kind == yamlv4.MappingNode && i%2 == 1:
			inner = fieldOf(path, n.Content[i-1].Value)
		case n.Kind == yamlv4.MappingNode && child.Kind == yamlv4.ScalarNode:
			line := child.Line + c.line - 1
			if first, ok := seen[child.Value]; ok {
				message := fmt.Sprintf("duplicate key %q; first in line %d", fieldOf(path, child.Value), first)
				return &syntaxError{line, child.Column, message}
			}
			seen[child.Value] = line
		}
		if err := c.duplicates(child, inner); err != nil {
			return err
		}
	}
	return nil
}

// fieldOf returns the path of a field below another path.
func fieldOf(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"gotest.tools/v3/assert"
)

// TestManPagesMatchHelp: a man page has the whole text of the help. The text is parsed
// as Markdown, in which *, _ and < may be markup and disappear.
func TestManPagesMatchHelp(t *testing.T) {
	files := map[string][]byte{}
	assert.NilError(t, manPages(rootCommand(), files))

	pages := 0
	var compare func(c *cobra.Command)
	compare = func(c *cobra.Command) {
		name := "man/" + strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		page := plain(string(files[name]))
		pages++
		for _, text := range []string{c.Short, c.Long, c.UseLine(), c.Example} {
			// roff doubles a backslash, and plain removes both.
			escaped := strings.ReplaceAll(text, `\`, `\\`)
			assert.Assert(t, strings.Contains(page, plain(escaped)), "%s lacks %q", name, text)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			assert.Assert(t, f.Hidden || strings.Contains(page, plain(f.Usage)), "%s lacks %q", name, f.Usage)
		})
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				compare(sub)
			}
		}
	}
	compare(rootCommand())
	assert.Equal(t, pages, len(files))
	assert.Assert(t, strings.HasPrefix(string(files["man/kubectl-jobs-managedby-ls.1"]),
		".nh\n.TH \"KUBECTL-JOBS-MANAGEDBY-LS\" \"1\" \"\" \"\" \"kubectl plugins\"\n"), "the page of ls needs its title, and no date")
}

// plain returns a text without roff's macros and line breaks.
func plain(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		if macro := strings.TrimSpace(line); slices.Contains([]string{".PP", ".TP", ".EX", ".EE"}, macro) {
			continue
		}
		words = append(words, strings.Fields(roffMarks.Replace(line))...)
	}
	return strings.Join(words, " ")
}

var roffMarks = strings.NewReplacer(`\fB`, "", `\fI`, "", `\fP`, "", `\fR`, "", `\&`, "", `\-`, "-", `\\`, `\`, `\`, "")

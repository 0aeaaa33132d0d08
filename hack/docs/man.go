package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// flagEntry matches a flag as cobra writes it: a separate paragraph with its usage behind a tab,
// which man shows on the same line.
var flagEntry = regexp.MustCompile(`(?m)^(?:\.PP\n)?(\\fB-.*)\n\t`)

// manPages adds a man page for a command and all below it, named like those of kubectl and git:
// the command's words joined by dashes. It changes the commands, which must not be used
// afterwards.
func manPages(c *cobra.Command, files map[string][]byte) error {
	c.DisableAutoGenTag = true
	// cobra parses it as Markdown, in which <TAB> would be an HTML tag.
	c.Long = strings.ReplaceAll(c.Long, "<", `\<`)
	var page bytes.Buffer
	header := &doc.GenManHeader{Section: "1", Manual: "kubectl plugins", Date: &time.Time{}}
	if err := doc.GenMan(c, header, &page); err != nil {
		return fmt.Errorf("man page of %s: %w", c.CommandPath(), err)
	}
	// cobra requires a date. Without one, the page is the same on every day.
	undated := bytes.Replace(page.Bytes(), []byte(header.Date.Format("Jan 2006")), nil, 1)
	files["man/"+strings.ReplaceAll(c.CommandPath(), " ", "-")+".1"] = flagEntry.ReplaceAll(undated, []byte(".TP\n$1\n"))
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			if err := manPages(sub, files); err != nil {
				return err
			}
		}
	}
	return nil
}

// Package prose holds what people read about each code: title, causes, signs and fixes. The
// texts are Markdown files, one per family of codes, so that a writer can edit them without
// touching detection.
package prose

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"
)

// Text is the prose of one code. Paragraphs are single lines.
type Text struct {
	// Title names the problem in a few words, without a full stop.
	Title string
	// Holds says what is true if the rule finds nothing. Reports of passed
	// checks use it.
	Holds string
	// Why says how the problem happens, Shows what users see, and Remedy what
	// to do.
	Why, Shows, Remedy string
	// Link points to documentation or a discussion.
	Link string
}

//go:embed *.md
var files embed.FS

// texts is parsed once, when a text is first needed.
var texts = sync.OnceValues(func() (map[string]Text, error) { return read(files) }) //nolint:gochecknoglobals // It never changes.

// Of returns the text of a code, such as JM013. A code without a text gets an empty one.
func Of(code string) Text {
	all, err := texts()
	if err != nil {
		panic(err) // The files are part of the program, and a test reads them.
	}
	return all[code]
}

// Codes returns all codes that have a text, in no order.
func Codes() ([]string, error) {
	all, err := texts()
	codes := make([]string, 0, len(all))
	for code := range all {
		codes = append(codes, code)
	}
	return codes, err
}

// read reads the texts of all files at the top level of dir. The error names the file and
// the code.
func read(dir fs.FS) (map[string]Text, error) {
	names, err := fs.Glob(dir, "*.md")
	if err != nil {
		return nil, err
	}
	all := map[string]Text{}
	for _, name := range names {
		page, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		_, sections, _ := strings.Cut(string(page), "\n## ")
		for section := range strings.SplitSeq(sections, "\n## ") {
			heading, body, _ := strings.Cut(section, "\n")
			code, title, _ := strings.Cut(heading, " ")
			if _, twice := all[code]; twice {
				return nil, fmt.Errorf("%s: %s has two texts", name, code)
			}
			text, err := parse(body)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", name, code, err)
			}
			text.Title = title
			all[code] = text
		}
	}
	return all, nil
}

// parse reads the paragraphs below the heading of a code. Each begins with its name and a
// colon.
func parse(body string) (Text, error) {
	var t Text
	fields := map[string]*string{"Holds": &t.Holds, "Why": &t.Why, "Shows": &t.Shows, "Fix": &t.Remedy, "Link": &t.Link}
	for paragraph := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
		name, text, _ := strings.Cut(strings.TrimSpace(paragraph), ": ")
		field, known := fields[name]
		if !known || *field != "" {
			return Text{}, fmt.Errorf("unexpected paragraph %q", paragraph)
		}
		*field = strings.Join(strings.Fields(text), " ")
	}
	for name, field := range fields {
		if *field == "" {
			return Text{}, fmt.Errorf("no paragraph %q", name)
		}
	}
	return t, nil
}

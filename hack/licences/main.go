// Command licences finds the licences of all modules that are linked into the plugin, on any
// platform of a release. A licence that was not reviewed is an error.
//
// It writes docs/dependencies.md; with -check it checks whether that is up to date. For a release
// it writes, with -texts, a file with all texts, as many licences require it for a program; and,
// with -bill, a bill of materials of a program.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const page = "docs/dependencies.md"

func main() {
	check := flag.Bool("check", false, "only check that "+page+" is up to date")
	texts := flag.String("texts", "", "write all texts to this `file`, and nothing else")
	bill := flag.String("bill", "", "write a bill of materials to this `file`, of the program that is the argument, and nothing else")
	flag.Parse()
	if err := run(*check, *texts, *bill, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func run(check bool, texts, bill, program string) error {
	modules, err := linked()
	if err != nil {
		return err
	}
	var errs []error
	for i := range modules {
		errs = append(errs, modules[i].readLicences())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	switch {
	case texts != "":
		if err := os.MkdirAll(filepath.Dir(texts), 0o755); err != nil {
			return err
		}
		return os.WriteFile(texts, allTexts(modules), 0o644)
	case bill != "":
		return writeBill(program, bill, modules)
	case check:
		return checkPage(table(modules))
	default:
		return os.WriteFile(page, table(modules), 0o644)
	}
}

// checkPage returns an error if the page differs from a table.
func checkPage(table []byte) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	if !bytes.Equal(old, table) {
		return errors.New(page + " is not up to date. Run go run ./hack/licences")
	}
	return nil
}

// table returns a page with a row for each module.
func table(modules []module) []byte {
	var b bytes.Buffer
	b.WriteString("<!-- Written by go run ./hack/licences; do not edit. -->\n\n# Dependencies and their licenses\n\n" +
		"These modules are linked into the plugin, on at least one platform. The archives of each release contain the\ntexts of their licenses.\n\n" +
		"| module | version | license |\n|---|---|---|\n")
	for _, m := range modules {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", m.Path, m.Version, strings.Join(m.licences, ", "))
	}
	return b.Bytes()
}

// allTexts returns the modules' licence texts. A text that several have in common, such as the
// Apache License, occurs once.
func allTexts(modules []module) []byte {
	var order []string
	filesByText := map[string][]string{}
	for _, m := range modules {
		for _, file := range m.files {
			text := string(bytes.TrimSpace(file.text))
			if filesByText[text] == nil {
				order = append(order, text)
			}
			filesByText[text] = append(filesByText[text], m.Path+"@"+m.Version+" ("+filepath.ToSlash(file.name)+")")
		}
	}
	var b bytes.Buffer
	for _, text := range order {
		fmt.Fprintf(&b, "%s\n\n%s\n\n%s\n\n", strings.Join(filesByText[text], "\n"), text, strings.Repeat("=", 80))
	}
	return b.Bytes()
}

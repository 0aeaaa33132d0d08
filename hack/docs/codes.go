package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// codesPage is the page that tells of every code, from the same source as
// explain.
func codesPage() []byte {
	var b bytes.Buffer
	b.WriteString(`# Codes

What ` + "`check`" + ` finds. The same text is printed by ` + "`explain CODE`" + `. Codes up to JM063 are the numbers of a
catalogue of the ways in which MultiKueue's Jobs go wrong; from JM101 on stands what holds for
every owner, from JM201 on what concerns ` + "`dispatch`" + `, and from JM301 on what single kinds do. From JM401 on
stands what ` + "`doctor`" + ` alone finds, before any Job is submitted. A code is never used for anything else.

| code | severity | what is wrong |
|---|---|---|
`)
	for _, r := range rules.Catalogue() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", r.Code, strings.ToLower(r.Code), r.Severity, r.Title)
	}
	for _, r := range rules.Catalogue() {
		fmt.Fprintf(&b, "\n## %s\n\n**%s** (%s)\n", r.Code, upper(r.Title), r.Severity)
		for _, section := range []struct{ heading, text string }{
			{"What should hold", upper(r.Holds) + "."}, {"Why it happens", r.Why}, {"How it shows", r.Shows}, {"What to do", r.Remedy}, {"Read on", r.Link},
		} {
			fmt.Fprintf(&b, "\n*%s.* %s\n", section.heading, strings.Join(strings.Fields(section.text), " "))
		}
		fmt.Fprintf(&b, "\n*Judged by.* %s", parts(r))
		if r.GracePeriod > 0 {
			fmt.Fprintf(&b, "; after %s at the earliest", r.GracePeriod)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n## Not judged\n\nThese numbers of the catalogue cannot be seen from outside.\n\n| number | what is wrong | why it is not judged |\n|---|---|---|\n")
	for _, u := range rules.AllUnseen() {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", u.Code, u.Title, u.Reason)
	}
	return b.Bytes()
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func parts(r rules.Rule) string {
	names := make([]string, len(r.Reads))
	for i, p := range r.Reads {
		names[i] = string(p)
	}
	return strings.Join(names, ", ")
}

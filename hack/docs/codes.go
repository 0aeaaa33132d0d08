package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// codesPage returns the page of all codes, from the same source as explain.
func codesPage() []byte {
	var b bytes.Buffer
	b.WriteString(`<!-- Written by go run ./hack/docs from pkg/inspect/rules/prose; do not edit. -->

# Codes

What the codes in the output of ` + "`check`" + `, ` + "`trace`" + ` and ` + "`doctor`" + ` mean. Search this page for your code, or run
` + "`kubectl jobs-managedby explain CODE`" + `, which prints why the problem happens, how it shows, and what to do.

Each code also lists what the plugin reads for it. Without the [rights](rbac.md) to read that, the plugin reports that it
did not check it. The severity is the usual one. A finding can have another one: for example, info if a Job only waits
for quota. ` + "`check -o wide`" + ` shows it.

| codes | about |
|---|---|
| JM001 to JM063 | Jobs of MultiKueue |
| JM101 to JM141 | Jobs of every owner, controllers, and further problems of MultiKueue |
| JM201 to JM206 | Jobs of ` + "`dispatch`" + ` |
| JM301 to JM307 | single kinds |
| JM401 to JM419 | how MultiKueue is set up; only ` + "`doctor`" + ` reports them |

| code | severity | what is wrong |
|---|---|---|
`)
	for _, r := range rules.Catalogue() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", r.Code, strings.ToLower(r.Code), r.Severity, r.Title)
	}
	for _, r := range rules.Catalogue() {
		fmt.Fprintf(&b, "\n## %s\n\n**%s** (%s)\n", r.Code, upper(r.Title), r.Severity)
		for _, section := range []struct{ heading, text string }{
			{"What should hold", upper(r.Holds) + "."}, {"Why it happens", r.Why}, {"How it shows", r.Shows}, {"What to do", r.Remedy}, {"See also", r.Link},
		} {
			fmt.Fprintf(&b, "\n*%s.* %s\n", section.heading, section.text)
		}
		fmt.Fprintf(&b, "\n*Reads.* %s\n", parts(r))
		if r.GracePeriod > 0 {
			fmt.Fprintf(&b, "\n*Reported.* After %d minutes at the earliest, or with `--grace 0s`.\n", int(r.GracePeriod.Minutes()))
		}
	}
	b.WriteString("\n## Not checked\n\nNo object shows these problems.\n\n| number | problem | why it is not checked |\n|---|---|---|\n")
	for _, u := range rules.UndetectableCodes() {
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

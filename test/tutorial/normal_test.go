package tutorial

import (
	"regexp"
	"slices"
	"strings"
)

// varying are the parts that differ between runs, with their replacements. The order matters: a
// time of day is a part of a time.
var varying = []struct {
	pattern *regexp.Regexp
	instead string
}{
	// The number of intermediate statuses depends on the machine.
	{regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d +(Pending|Running) +\d+ ready, .*\n`), ""},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "<time>"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "<clock>"},
	{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "<uid>"},
	// The names of Workloads end with a hash of a UID, those of Pods with random characters.
	{regexp.MustCompile(`\bjob-(align|finetune|score|sweep|train|train-old)-[0-9a-f]{5}\b`), "job-$1-<hash>"},
	// The order of Workloads of one second is random, and the first one has no such line.
	{regexp.MustCompile(`(?m)^.*: place \d+ of \d+ in .* \(estimated\).*\n`), ""},
	// The order of events of one second is random too, and so are the last ones.
	{regexp.MustCompile(`(?m)^(Last events).*\n(.+\n)*`), "$1\n"},
	{regexp.MustCompile(`\b(eval|nightly|shards|train)-[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "$1-<pod>"},
	// Ages and durations, with the spaces that pad their columns. They come after the names: 3418d
	// may be the end of a name.
	{regexp.MustCompile(`\b(\d+[dhms])+( +|\b)`), "<age> "},
	// The titles of these columns are as wide as their widest cell.
	{regexp.MustCompile(`\b(AGE|SINCE|DURATION) +`), "$1 "},
	// Empty cells of these columns.
	{regexp.MustCompile(`( +-) {2,}`), "$1 "},
	// An orphan becomes a warning after a minute, which a slow machine may need.
	{regexp.MustCompile(`(?m)^\d+ errors?, \d+ warnings?, \d+ info in`), "<findings> in"},
	// After five minutes, a finding is no longer new.
	{regexp.MustCompile(`<age> ; check reports it after <age> `), "<age> "},
	// The fix depends on the time, too: for a minute after its last action, Kueue is known to work.
	{regexp.MustCompile(`(?m)^(JM053 .*\n {2}fix: ).*(\n {2}or: .*)*$`), "${1}<fix>"},
	// The number of events of a cluster is irrelevant.
	{regexp.MustCompile(`(?m)^(\S+): \d+ objects$`), "$1: <n> objects"},
}

// normal returns an output without the parts that differ between runs.
func normal(output string) string {
	text := strings.Trim(output, "\n") + "\n"
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.instead)
	}
	return sortFindings(text)
}

// finding matches a finding of check, with its fixes below it.
var finding = regexp.MustCompile(`(?m)^JM\d{3} .*\n(?: .*\n)*`)

// sortFindings sorts the findings of a text by code. check sorts them by severity, which depends on
// their ages.
func sortFindings(text string) string {
	sorted := finding.FindAllString(text, -1)
	slices.Sort(sorted)
	return finding.ReplaceAllStringFunc(text, func(string) string {
		next := sorted[0]
		sorted = sorted[1:]
		return next
	})
}

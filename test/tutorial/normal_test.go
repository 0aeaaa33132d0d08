package tutorial

import (
	"regexp"
	"slices"
	"strings"
)

// varying is what differs from run to run, and what is compared in its place. The
// order counts: a time of day is a part of a time.
var varying = []struct {
	pattern *regexp.Regexp
	instead string
}{
	// How often a status is seen on its way depends on the machine.
	{regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d +(Pending|Running) +\d+ ready, .*\n`), ""},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "<time>"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "<clock>"},
	{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "<uid>"},
	// The end of a Workload's name is made of a uid, that of a pod's of chance.
	{regexp.MustCompile(`\bjob-(align|finetune|score|sweep|train|train-old)-[0-9a-f]{5}\b`), "job-$1-<hash>"},
	// The order of Workloads of one second is chance, and the first one has no such line.
	{regexp.MustCompile(`(?m)^.*: number \d+ of \d+ in .* \(computed\).*\n`), ""},
	// So is the order of events of one second, and which of them are the last.
	{regexp.MustCompile(`(?m)^(Last events).*\n(.+\n)*`), "$1\n"},
	{regexp.MustCompile(`\b(eval|nightly|shards|train)-[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "$1-<pod>"},
	// Ages and durations, with the spaces that fill up their columns. After the names:
	// 3418d may be the end of one.
	{regexp.MustCompile(`\b(\d+[dhms])+( +|\b)`), "<age> "},
	// And the heads of these columns, which are as wide as their widest entry.
	{regexp.MustCompile(`\b(AGE|SINCE|DURATION) +`), "$1 "},
	// And the cells of these columns that have none.
	{regexp.MustCompile(`( +-) {2,}`), "$1 "},
	// An orphan becomes a warning after a minute, which a slow machine may need.
	{regexp.MustCompile(`(?m)^\d+ errors?, \d+ warnings?, \d+ info in`), "<findings> in"},
	// After five minutes, a finding is no longer new, and Kueue no longer deletes an orphan by itself.
	{regexp.MustCompile(`<age> , just begun`), "<age> "},
	{regexp.MustCompile(`give Kueue a minute to (delete .*); if it stays:`), "$1:"},
	// So does what helps: that Kueue works shows for a minute after it did something.
	{regexp.MustCompile(`(?m)^(JM053 .*\n {2}fix: ).*(\n {2}or: .*)*$`), "${1}<fix>"},
	// How many events a cluster has is nobody's concern.
	{regexp.MustCompile(`(?m)^(\S+): \d+ objects$`), "$1: <n> objects"},
}

// normal is an output without what differs from run to run.
func normal(output string) string {
	text := strings.Trim(output, "\n") + "\n"
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.instead)
	}
	return sortFindings(text)
}

// finding is one of check's, with its fixes below it.
var finding = regexp.MustCompile(`(?m)^JM\d{3} .*\n(?: .*\n)*`)

// sortFindings puts the findings of a text into the order of their codes. That of check depends
// on their severities, and so on their ages.
func sortFindings(text string) string {
	sorted := finding.FindAllString(text, -1)
	slices.Sort(sorted)
	return finding.ReplaceAllStringFunc(text, func(string) string {
		next := sorted[0]
		sorted = sorted[1:]
		return next
	})
}

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
	{regexp.MustCompile(`\bjob-(align|finetune|score|sweep|train)-[0-9a-f]{5}\b`), "job-$1-<hash>"},
	// Who stands before whom among those of one second is chance.
	{regexp.MustCompile(`: number \d+ of (\d+ in .* \(computed\)).*`), ": number <n> of $1"},
	{regexp.MustCompile(`\b(eval|nightly|shards|train)-[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "$1-<pod>"},
	// Ages and durations, with the spaces that fill up their columns. After the names:
	// 3418d may be the end of one.
	{regexp.MustCompile(`\b(\d+[dhms])+( +|\b)`), "<age> "},
	// And the heads of these columns, which are as wide as their widest entry.
	{regexp.MustCompile(`\b(AGE|SINCE|DURATION) +`), "$1 "},
	// How many events a cluster has is nobody's concern.
	{regexp.MustCompile(`(?m)^(\S+): \d+ objects$`), "$1: <n> objects"},
}

// normal is an output without what differs from run to run.
func normal(output string) string {
	text := strings.Trim(output, "\n") + "\n"
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.instead)
	}
	return sortTimelines(text)
}

// sortTimelines sorts the rows of timelines: what happened in one second stands in
// an order of its own, and whether it was one second is chance.
func sortTimelines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if line != "Timeline" {
			continue
		}
		// Below it are the titles, and a blank line is behind.
		rows := lines[min(i+2, len(lines)):]
		if end := slices.Index(rows, ""); end >= 0 {
			rows = rows[:end]
		}
		slices.Sort(rows)
	}
	return strings.Join(lines, "\n")
}

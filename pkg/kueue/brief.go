package kueue

import (
	"regexp"
	"strings"
)

// onlyPodSet matches the beginning of Kueue's message about the only pod set
// of a Workload.
var onlyPodSet = regexp.MustCompile(regexp.QuoteMeta(podSetPrefix) + `\S+: `)

// conditionReason matches the reason of a condition before its message.
var conditionReason = regexp.MustCompile(`^\w+: $`)

// Brief shortens a message of Kueue. If all of it is about what flavors lack,
// Brief replaces it by the messages of these lacks. Otherwise it removes the
// fixed beginning. Other texts stay as they are.
func Brief(message string) string {
	if strings.Count(message, podSetPrefix) != 1 {
		return message
	}
	at := onlyPodSet.FindStringIndex(message)
	if at == nil {
		return message
	}
	lacks := Lacks(message)
	named := strings.Count(strings.ToLower(message), "flavor ") + strings.Count(message, "topology \"")
	if len(lacks) == 0 || named > len(lacks) {
		return message[:at[0]] + message[at[1]:]
	}
	parts := make([]string, len(lacks))
	for i := range lacks {
		parts[i] = lacks[i].Message()
	}
	before := message[:at[0]]
	if conditionReason.MatchString(before) {
		before = ""
	}
	return before + strings.Join(parts, "; ")
}

package kueue

import (
	"regexp"
	"strings"
)

// onlyPodSet is how Kueue begins its message about the only pod set of a Workload.
var onlyPodSet = regexp.MustCompile(regexp.QuoteMeta(assignment) + `\S+: `)

// conditionReason is the reason of a condition before its message.
var conditionReason = regexp.MustCompile(`^\w+: $`)

// Brief shortens a message of Kueue's: where all of it is about what flavors lack, it becomes
// their messages, and what it begins with each time is dropped. Other texts stay as they are.
func Brief(message string) string {
	if strings.Count(message, assignment) != 1 {
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

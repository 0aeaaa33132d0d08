package kueue

import (
	"fmt"
	"regexp"
	"strings"
)

// Message says what is lacking, in words that follow the name of a Job.
func (l *Lack) Message() string {
	switch l.Kind {
	case TooMuch:
		needs := l.Asked + " " + l.Resource
		if l.AfterOthers() {
			needs += " (and " + l.Before + " for its other Pods)"
		}
		return fmt.Sprintf("needs %s, limit %s (flavor %s)", needs, l.Most, l.Flavor)
	case MoreNeeded:
		return fmt.Sprintf("needs %s more %s (flavor %s)", l.More, l.Resource, l.Flavor)
	case NoSuchLabel:
		return fmt.Sprintf("flavor %s does not match its node selector or affinity", l.Flavor)
	case Untolerated:
		return fmt.Sprintf("does not tolerate taint %s of flavor %s", l.Taint, l.Flavor)
	case NoSuchResource:
		return fmt.Sprintf("no flavor has %s", l.Resource)
	case NoSuchFlavor:
		return fmt.Sprintf("flavor %s does not exist", l.Flavor)
	case NoTopology:
		return fmt.Sprintf("flavor %s has no topology, which its Pods request", l.Flavor)
	case NoPlaceNear:
		return fmt.Sprintf("topology %s fits %s of its %s Pods", l.Topology, l.Fit, l.Pods)
	}
	return ""
}

// Fix says in the imperative what else than more quota would help, "" for nothing.
func (l *Lack) Fix() string {
	switch l.Kind {
	case TooMuch, MoreNeeded:
	case NoSuchLabel:
		return "request labels that a flavor has"
	case Untolerated:
		return fmt.Sprintf("tolerate taint %s of flavor %s", l.Taint, l.Flavor)
	case NoSuchResource:
		return fmt.Sprintf("add %s to a flavor of the ClusterQueue", l.Resource)
	case NoSuchFlavor:
		return "create ResourceFlavor " + l.Flavor
	case NoTopology:
		return fmt.Sprintf("give ResourceFlavor %s a topology", l.Flavor)
	case NoPlaceNear:
		return fmt.Sprintf("add nodes to a domain of topology %s, or request a wider one", l.Topology)
	}
	return ""
}

// onlyPodSet is how Kueue begins its message about the only pod set of a Workload.
var onlyPodSet = regexp.MustCompile(`couldn't assign flavors to pod set \S+: `)

// conditionReason is the reason of a condition before its message.
var conditionReason = regexp.MustCompile(`^\w+: $`)

// Brief shortens a message of Kueue's: where all of it is about what flavors lack, it becomes
// their messages, and what it begins with each time is dropped. Other texts stay as they are.
func Brief(message string) string {
	if strings.Count(message, "couldn't assign flavors to pod set ") != 1 {
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

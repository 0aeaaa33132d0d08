package kueue

import (
	"fmt"
	"strings"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// UncoveredText describes lacks of resources that no flavor of one ClusterQueue has.
func UncoveredText(lacks ...Lack) string {
	queue, pronoun := "its ClusterQueue", "it"
	if lacks[0].ClusterQueue != "" {
		queue = "ClusterQueue " + lacks[0].ClusterQueue
	}
	if len(lacks) > 1 {
		pronoun = "them"
	}
	names, needs := make([]string, len(lacks)), make([]string, len(lacks))
	for i := range lacks {
		names[i], needs[i] = lacks[i].Resource, lacks[i].need()
	}
	if lacks[0].Requested == "" {
		return fmt.Sprintf("%s has no quota for %s", queue, and(names))
	}
	return fmt.Sprintf("needs %s (%s has no quota for %s)", and(needs), queue, pronoun)
}

// fixUncovered returns the fixes of all lacks of resources that no flavor of the ClusterQueue has: the Workload starts
// only if none is left. Kueue names the first one only (kueue: flavorassigner.go, assignFlavors). Without a request, the
// limit of a container counts as its request.
func (s FixTarget) fixUncovered(lacks []Lack) []command.Fix {
	var names []string
	for i := range lacks {
		if lacks[i].Reason == ReasonResourceNotCovered {
			names = append(names, lacks[i].Resource)
		}
	}
	queue := "the ClusterQueue"
	if name := s.clusterQueueName(); name != "" {
		queue = "ClusterQueue " + name
	}
	return []command.Fix{
		s.editQuota("add %s to a flavor of %s on %s", and(names), queue, s.Context),
		s.change("remove the requests and limits for %s", and(names)),
	}
}

// and joins texts with commas and an "and".
func and(texts []string) string {
	last := len(texts) - 1
	if last < 1 {
		return strings.Join(texts, "")
	}
	return strings.Join(texts[:last], ", ") + " and " + texts[last]
}

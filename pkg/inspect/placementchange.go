package inspect

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
)

// PlacementChange is a change that would let the Job run.
type PlacementChange struct {
	// Message says what must change.
	Message string `json:"message"`
	// Command makes the change; empty if no single command does.
	Command string `json:"command"`
	// Then are the steps that complete the change, in their order; absent if there are none.
	Then []command.Step `json:"then,omitempty"`
	// Stem is the message before the name of the cluster, if the Job has to change for the
	// cluster: one change for all clusters with the same stem.
	Stem string `json:"-"`
	// Tail is the message after the name of the cluster.
	Tail string `json:"-"`
	// Share is the size of the change, as a part of the request, if known.
	Share float64 `json:"-"`
	// Starts is whether the Job certainly starts after the change, without waiting for another Job.
	Starts bool `json:"-"`
	// After is what the Job waits for after the change, in words that follow the name of the cluster. It is
	// empty if the Job starts, or if that is unknown.
	After string `json:"-"`
}

// ChangePlace is a cluster for which a Job may change.
type ChangePlace struct {
	// Context is its context.
	Context string
	// IsManager is whether it is the management cluster, where a Job starts only if a worker takes it, too.
	IsManager bool
	// Starts and After are those of the change.
	Starts bool
	After  string
}

// OnClusters names the clusters for which a Job changes, and says for each whether the Job starts after that, as far as
// that is known.
func OnClusters(places []ChangePlace) string {
	names, texts := make([]string, len(places)), make([]string, len(places))
	var starting []string
	after := ""
	workers := 0
	for i, p := range places {
		names[i], texts[i] = p.Context, p.Context+p.After
		switch {
		case p.IsManager && p.After != "":
			after = p.After
		case p.IsManager:
		case p.Starts:
			starting = append(starting, p.Context)
			fallthrough
		default:
			workers++
		}
	}
	isSame := !slices.ContainsFunc(places, func(p ChangePlace) bool { return p.After != places[0].After })
	switch {
	case after != "":
		return And(names) + after
	case len(starting) > 0 && len(starting) == workers:
		return And(names) + ", where it fits now"
	case len(starting) > 0:
		return And(names) + " (now on " + And(starting) + ")"
	case isSame:
		return And(names) + places[0].After
	}
	return And(texts)
}

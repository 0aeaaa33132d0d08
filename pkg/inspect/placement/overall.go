package placement

import (
	"slices"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
)

// Overall returns the best verdict of all managers. A Job needs quota on a manager and on one of its
// workers, so the verdict of a manager is the worse of its own and that of its best worker. It is
// Unknown if there are no candidates.
func Overall(all []inspect.Placement) inspect.Verdict {
	var verdicts []inspect.Verdict
	for _, group := range groups(all) {
		gate, workers := split(group)
		verdict := best(workers)
		switch {
		case gate == nil:
		case len(workers) == 0 && gate.Verdict != inspect.Fits, worse(gate.Verdict, verdict):
			verdict = gate.Verdict
		}
		verdicts = append(verdicts, verdict)
	}
	return bestOf(verdicts)
}

// Gate returns the placement of the first manager that keeps the Job from its workers. It is nil if
// the workers decide: each manager has quota for the Job, or none of its workers can ever run it.
func Gate(all []inspect.Placement) *inspect.Placement {
	for _, group := range groups(all) {
		gate, workers := split(group)
		if gate == nil || gate.Verdict == inspect.Fits {
			continue
		}
		if gate.Verdict == inspect.Never || len(workers) == 0 || best(workers) != inspect.Never {
			return gate
		}
	}
	return nil
}

// Best returns the placements through the managers that would let the Job run soonest. It leaves out
// other managers that hold the Job back themselves. Each manager comes before its workers.
func Best(all []inspect.Placement) []inspect.Placement {
	var found []inspect.Placement
	for _, group := range groups(all) {
		switch verdict := Overall(group); {
		case found == nil || worse(Overall(found), verdict):
			found = group
		case verdict == Overall(found) && Gate(found) == nil && Gate(group) == nil:
			found = slices.Concat(found, group)
		}
	}
	return found
}

// groups returns the placements of each manager with those of its workers.
func groups(all []inspect.Placement) (found [][]inspect.Placement) {
	for start := 0; start < len(all); {
		end := start + 1
		for end < len(all) && !all[end].Manager {
			end++
		}
		found = append(found, all[start:end:end])
		start = end
	}
	return found
}

// split returns the placement of the manager in a group, nil without one, and the other placements.
func split(group []inspect.Placement) (gate *inspect.Placement, workers []inspect.Placement) {
	if len(group) > 0 && group[0].Manager {
		return &group[0], group[1:]
	}
	return nil, group
}

// best returns the best verdict of placements, Unknown if there are none.
func best(all []inspect.Placement) inspect.Verdict {
	verdicts := make([]inspect.Verdict, len(all))
	for i := range all {
		verdicts[i] = all[i].Verdict
	}
	return bestOf(verdicts)
}

func bestOf(verdicts []inspect.Verdict) inspect.Verdict {
	if len(verdicts) == 0 {
		return inspect.Unknown
	}
	return slices.MinFunc(verdicts, func(a, b inspect.Verdict) int { return rank(a) - rank(b) })
}

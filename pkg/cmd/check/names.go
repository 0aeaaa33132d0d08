package check

import (
	"context"
	"slices"
	"sync"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/cmd/util"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/read"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules"
)

// wantedJobs are the Jobs to check.
type wantedJobs struct {
	// isAll is set if neither names nor labels were given.
	isAll bool
	// inNamespace is set if the Jobs are those of one namespace.
	inNamespace bool
	refs        map[inspect.Ref]bool
	// missing is an error for each name without a Job, with the contexts that were read.
	missing []error
	// subject returns the Jobs and the objects on their chains.
	subject func() rules.Subject
}

// namedJobs are the Jobs that each name has selected so far.
type namedJobs map[read.Wanted]*inspect.Tracked

// findWanted finds the Jobs that names and labels choose. A Job of an earlier reading is not missing while its
// cluster does not answer.
func (named namedJobs) findWanted(ctx context.Context, env util.Environment, f *fleet.Fleet, names []read.Wanted, hasLabels, inNamespace bool, v *inspect.Inventory) *wantedJobs {
	w := &wantedJobs{isAll: len(names) == 0 && !hasLabels, inNamespace: inNamespace, refs: map[inspect.Ref]bool{}}
	w.subject = sync.OnceValue(func() rules.Subject { return w.subjectIn(v) })
	if w.isAll {
		return w
	}
	found := map[read.Wanted][]inspect.Pair{}
	for _, facts := range v.Clusters {
		for _, j := range facts.Jobs {
			isNamed := len(names) == 0
			for _, name := range names {
				if (inspect.JobName{Kind: name.Kind, Name: name.Name}).Matches(j) {
					found[name], isNamed = append(found[name], inspect.Pair{Origin: j}), true
				}
			}
			if isNamed && facts.Selects(j) {
				w.refs[inspect.RefOf(j)] = true
			}
		}
	}
	for _, name := range names {
		if named[name] == nil {
			named[name] = &inspect.Tracked{}
		}
		named[name].See(v, found[name]...)
		if len(found[name]) == 0 && len(named[name].UnreadIn(v)) == 0 {
			w.missing = append(w.missing, util.NotFound(ctx, env, f, name, v))
		}
	}
	return w
}

// has reports whether a pair is wanted: its origin or one of its mirrors is.
func (w *wantedJobs) has(p inspect.Pair) bool {
	if w.isAll {
		return true
	}
	for _, j := range p.Jobs() {
		if w.refs[inspect.RefOf(j)] {
			return true
		}
	}
	return false
}

// isNamed reports whether a Job was chosen by its name or labels.
func (w *wantedJobs) isNamed(r inspect.Ref) bool { return w.refs[r] }

// concerns reports whether a finding is about a wanted Job or an object on its chain, as for trace.
// Other cluster-wide objects may be those of another team; doctor checks them.
func (w *wantedJobs) concerns(f *inspect.Finding) bool {
	if w.isAll && (!w.inNamespace || f.Namespace != "" || len(f.Jobs) > 0) {
		return true
	}
	return slices.ContainsFunc(f.Jobs, w.isNamed) || w.subject().Concerns(f)
}

// subjectIn returns what the traces of the wanted Jobs are about.
func (w *wantedJobs) subjectIn(v *inspect.Inventory) rules.Subject {
	var traces []*inspect.Trace
	for _, p := range v.Subjects() {
		if w.has(p) {
			traces = append(traces, chain.Follow(v, p))
		}
	}
	return rules.NewSubject(traces...)
}

package answer

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/chain"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/placement"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/inspect/rules/view"
)

// maxAdvisedJobs is how many Jobs get their own advice in one run, apart from equal ones. If more
// wait, the fleet has one cause, which the first ones show.
const maxAdvisedJobs = 20

// adviser advises the Jobs of a fleet.
type adviser struct {
	inventory   *inspect.Inventory
	around      *placement.Surroundings
	judgment    Judgment
	pairs       map[inspect.Ref]inspect.Pair
	aboutOthers []inspect.Finding
	reach       command.Reach
	// left is how many Jobs may still get their own advice.
	left  int
	asked []*Question
	// readHolders reads Jobs that hold quota. holders is what it has read about the Jobs in areRead.
	readHolders func([]inspect.Holder) Holders
	holders     Holders
	areRead     map[types.NamespacedName]bool
}

// AdviseAll is Advise for the findings of a whole fleet, and returns them. Jobs that fit on no cluster get
// findings of their own if they wait behind others or for a controller. It leaves out what the user has suppressed.
// v is an inventory with quotas. reach has the flags with which commands reach the clusters. readHolders reads Jobs of
// other namespaces and kinds that hold what a Job waits for.
func AdviseAll(v *inspect.Inventory, findings []inspect.Finding, j Judgment, reach command.Reach, readHolders func([]inspect.Holder) Holders) []inspect.Finding {
	a := adviser{
		inventory: v, around: placement.Around(v), judgment: j, pairs: pairsByOrigin(v), aboutOthers: j.All(IsAboutOthers), reach: reach, left: maxAdvisedJobs,
		readHolders: readHolders, areRead: map[types.NamespacedName]bool{},
	}
	each := make([][]inspect.Finding, len(findings))
	// Findings about controllers may have very many Jobs, so they come last.
	for _, isLast := range []bool{false, true} {
		for i := range findings {
			if isLast == (findings[i].Code == behind) {
				each[i] = a.advise(findings[i])
			}
		}
	}
	advised := mergeNever(slices.Concat(each...))
	for _, q := range a.asked {
		q.linkOrphans(advised)
	}
	return slices.DeleteFunc(advised, j.Suppresses)
}

// advise returns a finding with its advice, or the findings that it becomes.
func (a *adviser) advise(f inspect.Finding) []inspect.Finding {
	switch {
	case !isAdvised(&f) || len(f.Jobs) == 0:
	case f.Code == view.BehindOthers, f.Code == behind:
		return a.splitNever(f)
	default:
		one := []inspect.Finding{f}
		if q := a.ask(a.pairs[f.Jobs[0]], &f); q != nil {
			one = q.Advise(one, a.judgment)
		}
		for i := range one {
			a.createAllAgain(&one[i])
		}
		return one
	}
	return []inspect.Finding{f}
}

// createAllAgain has the fixes of a finding that is the same for several Jobs create all of them again, instead of the
// first.
func (a *adviser) createAllAgain(f *inspect.Finding) {
	if len(f.Jobs) < 2 || strings.Contains(f.Message, f.Jobs[0].Namespace+"/"+f.Jobs[0].Name) || f.Subject() == "" || f.Name == f.Jobs[0].Name {
		return
	}
	names, templates := make([]string, len(f.Jobs)), make([]string, len(f.Jobs))
	for i, r := range f.Jobs {
		names[i] = r.Namespace + "/" + r.Name
		if o := a.pairs[r].Origin; o != nil {
			templates[i], _ = o.Template()
		}
	}
	for i := range f.Fixes {
		f.Fixes[i] = f.Fixes[i].AgainForAll(inspect.Some(names), templates...)
	}
	f.Remedy = string(command.Alternatives(f.Fixes))
}

// ask returns the answered question about a Job of a finding, nil if the Job is unknown, or if enough
// Jobs have advice.
func (a *adviser) ask(p inspect.Pair, f *inspect.Finding) *Question {
	if p.Origin == nil || a.left == 0 {
		return nil
	}
	a.left--
	q := ask(a.inventory, a.around, p, f, a.reach)
	a.addHolders(q)
	Fill(*q)
	a.asked = append(a.asked, q)
	return q
}

// addHolders adds to a question what is known about the Jobs that hold what its Job waits for. Each of them is read
// once, and as many as may get advice.
func (a *adviser) addHolders(q *Question) {
	unread := slices.DeleteFunc(UnreadHolders(a.inventory, q.Trace), func(h inspect.Holder) bool {
		return a.areRead[keyOf(&h)] || len(a.areRead) >= maxAdvisedJobs
	})
	for i := range unread {
		a.areRead[keyOf(&unread[i])] = true
	}
	if len(unread) > 0 && a.readHolders != nil {
		a.holders.add(a.readHolders(unread))
	}
	q.Holders, q.Findings = a.holders, slices.Concat(a.aboutOthers, a.holders.Findings)
}

// keyOf returns the kind, the namespace and the name of a Job that holds quota.
func keyOf(h *inspect.Holder) types.NamespacedName {
	return types.NamespacedName{Namespace: h.Namespace, Name: h.Kind + "/" + h.Name}
}

// ask returns the question about a Job with one finding, with its placements and without an answer.
func ask(v *inspect.Inventory, around *placement.Surroundings, p inspect.Pair, f *inspect.Finding, reach command.Reach) *Question {
	t := chain.Follow(v, p)
	t.Findings = []inspect.Finding{*f}
	t.Placements = Reached(around.Judge(p, nil), reach)
	return &Question{Inventory: v, Pair: p, Trace: t, Reach: reach}
}

// splitNever advises a finding about Jobs that wait behind others, or for a controller. Jobs that fit on no
// cluster get their own finding, one for each reason. A finding about a controller remains as it is, unless all
// its Jobs get one.
func (a *adviser) splitNever(f inspect.Finding) []inspect.Finding {
	var split []inspect.Finding
	var rest []inspect.Ref
	var first *Question
	byReason := map[string]int{}
	for _, l := range lotsOf(a.inventory, a.pairs, &f) {
		q := a.ask(l.pair, &f)
		isNever := q != nil && q.isAboutQuota() && q.fitsNowhere()
		if !isNever {
			if len(rest) == 0 {
				first = q
			}
			rest = append(rest, l.jobs...)
			continue
		}
		i, isKnown := byReason[q.Trace.Message]
		if !isKnown {
			own := []inspect.Finding{a.own(f, l.jobs[0])}
			own = q.Advise(own, a.judgment)
			own[0].Jobs = nil
			i, split = len(split), append(split, own...)
			byReason[q.Trace.Message] = i
		}
		split[i].Jobs = append(split[i].Jobs, l.jobs...)
	}
	order := make(map[inspect.Ref]int, len(f.Jobs))
	for i, r := range f.Jobs {
		order[r] = i
	}
	inOrder := func(x, y inspect.Ref) int { return order[x] - order[y] }
	for i := range split {
		slices.SortFunc(split[i].Jobs, inOrder)
	}
	switch {
	case len(rest) == 0:
		return split
	case f.Code == behind:
		return append(split, f)
	}
	if len(rest) < len(f.Jobs) {
		f = a.own(f, rest[0])
		slices.SortFunc(rest, inOrder)
		f.Jobs = rest
	}
	switch one := []inspect.Finding{f}; {
	case first == nil:
	case len(rest) == 1:
		f = first.Advise(one, a.judgment)[0]
	case first.isAboutQuota():
		first.addFixesTo(&f)
	}
	return append(split, f)
}

// own returns a finding about several Jobs as the finding about one of them.
func (a *adviser) own(f inspect.Finding, about inspect.Ref) inspect.Finding {
	return a.judgment.Own(f, func(r inspect.Ref) bool { return r == about })
}

// linkOrphans adds to findings about orphans which Job waits for the quota
// that they hold.
func (q *Question) linkOrphans(findings []inspect.Finding) {
	if q.Trace.Reason != inspect.ReasonQuotaInUse {
		return
	}
	for _, p := range deciding(q.Trace.Placements) {
		for i := range p.Holders {
			h := &p.Holders[i]
			for k := range findings {
				f := &findings[k]
				isHolder := IsOrphan(f.Code) && f.Context == p.Context && f.Namespace == h.Namespace && f.Name == h.Name
				if isHolder && !strings.Contains(f.Message, "; holds ") {
					f.Message += fmt.Sprintf("; holds %s %s that %s/%s waits for", h.Amount, h.Resource, q.Pair.Origin.Namespace, q.Pair.Origin.Name)
				}
			}
		}
	}
}

package inspect

import "slices"

// Tracked is what a command follows over several readings: a Job, or all Jobs with one name. It
// tells deleted Jobs from those whose cluster did not answer.
type Tracked struct {
	// jobs are the origins and current mirrors, as they were last seen.
	jobs []*Job
}

// See records where Jobs are. Jobs that an earlier reading had remain if this one could not read
// their clusters.
func (t *Tracked) See(v *Inventory, pairs ...Pair) {
	var seen []*Job
	for _, p := range pairs {
		seen = append(seen, p.tracked()...)
	}
	for _, j := range t.jobs {
		isSeen := slices.ContainsFunc(seen, func(other *Job) bool { return idOf(j).isSame(idOf(other)) })
		if !isSeen && v.mayHave(j) {
			seen = append(seen, j)
		}
	}
	t.jobs = seen
}

// Has reports whether a pair is about a tracked Job. The mirror of an older Job with the same name
// does not count.
func (t *Tracked) Has(p Pair) bool {
	return slices.ContainsFunc(p.tracked(), func(j *Job) bool {
		return slices.ContainsFunc(t.jobs, func(other *Job) bool { return idOf(j).isSame(idOf(other)) })
	})
}

// UnreadIn returns the contexts that had a tracked Job and that an inventory could not read. Without
// such a context, a Job that the inventory lacks was deleted.
func (t *Tracked) UnreadIn(v *Inventory) (contexts []string) {
	for _, j := range t.jobs {
		if v.mayHave(j) && !slices.Contains(contexts, j.Context) {
			contexts = append(contexts, j.Context)
		}
	}
	return contexts
}

// mayHave reports whether the context of a Job, or the Job's kind there, could not be read.
func (v *Inventory) mayHave(j *Job) bool {
	f := v.Facts(j.Context)
	if f == nil || f.Err != nil {
		return f == nil || !v.isCovered(f)
	}
	return f.Gaps[PartOf(j.Row())] != nil
}

// tracked returns the origin and the current mirrors; without an origin, all mirrors.
func (p Pair) tracked() []*Job {
	if p.Origin == nil {
		return p.Jobs()
	}
	jobs := []*Job{p.Origin}
	for _, m := range p.Current() {
		jobs = append(jobs, m.Job)
	}
	return jobs
}

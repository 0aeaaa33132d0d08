package inspect

// homes records which context each object is shown for: the first that reported it. Only their
// objects reveal that two contexts point to one cluster.
type homes map[string][]home

type home struct {
	objectID
	context string
}

// of returns the context that an object is shown for, "" if none so far.
func (h homes) of(j *Job) string {
	for _, known := range h[j.UID] {
		if known.isSame(idOf(j)) {
			return known.context
		}
	}
	return ""
}

// take records a change of an object and says whether to report it. A change of an object that
// another context shows is reported only while that context does not answer, and under its name.
func (b *Board) take(c *Change) (isReported bool) {
	s, known := b.clusters[c.Context]
	if !known {
		return true
	}
	shown := b.homes.of(c.Job)
	switch {
	case c.Job.UID == "":
		return true
	case shown == "":
		b.homes[c.Job.UID] = append(b.homes[c.Job.UID], home{idOf(c.Job), c.Context})
		return true
	case shown == c.Context:
		return true
	case c.Type == Deleted:
		delete(s.jobs, NameOf(c.Job))
	default:
		s.jobs[NameOf(c.Job)] = c.Job
	}
	if b.clusters[shown].err == nil {
		return false
	}
	own := *c.Job
	own.Context = shown
	c.Context, c.Job = shown, &own
	return true
}

// isShown says whether an object is shown for this context.
func (b *Board) isShown(context string, j *Job) bool {
	shown := b.homes.of(j)
	return shown == "" || shown == context
}

// forget removes an object from homes once no context has it any more. A context that lags behind
// may still report it.
func (b *Board) forget(j *Job) {
	for _, s := range b.clusters {
		if other, ok := s.jobs[NameOf(j)]; ok && idOf(other).isSame(idOf(j)) {
			return
		}
	}
	delete(b.homes, j.UID)
}

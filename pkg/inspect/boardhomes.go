package inspect

// homes tells of each object which context it is shown for: the first that has told of
// it. Two contexts may turn out to lead to one cluster only by what they tell.
type homes map[string][]home

type home struct {
	objectID
	context string
}

// of is the context that an object is shown for, "" if it is not shown so far.
func (h homes) of(j *Job) string {
	for _, known := range h[j.UID] {
		if known.isSame(idOf(j)) {
			return known.context
		}
	}
	return ""
}

// take takes a change of an object in, and says whether it is to be told. What another
// context shows already is told only while that one does not answer, and in its name.
func (b *Board) take(c *Change) (isTold bool) {
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

// isShown says whether an object of a context is shown for that.
func (b *Board) isShown(context string, j *Job) bool {
	shown := b.homes.of(j)
	return shown == "" || shown == context
}

// forget forgets where an object was shown, once no context has it any more: one that
// is behind may still tell of it.
func (b *Board) forget(j *Job) {
	for _, s := range b.clusters {
		if other, ok := s.jobs[NameOf(j)]; ok && idOf(other).isSame(idOf(j)) {
			return
		}
	}
	delete(b.homes, j.UID)
}

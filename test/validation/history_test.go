package validation

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// observer copies the status of a mirror to its own origin.
type observer interface {
	observe(mirror *batchv1.Job)
}

// history is the life of a mirror, with the actions of its users.
type history struct {
	t          *testing.T
	dice       dice
	controller *controller
	origin     *object
	observers  []observer
	// seen is the percentage of states that the observers see.
	seen int
	// suspendsOften is whether the user suspends and resumes the Job all the time.
	suspendsOften bool
	// pending are the changes that have not reached the other cluster yet.
	pending []func()
	// mirrors counts the successive mirrors.
	mirrors int
	// hasDiverged is whether the mirror changed in a way that its origin cannot show: it was
	// recreated, has another spec, or was changed without the origin.
	hasDiverged bool
	// scaled is whether completions were changed: the mirror may have finished with a number that
	// differs from that of the origin.
	scaled bool
}

// newHistory generates a Job, and the worker that runs it.
func newHistory(t *testing.T, d dice) *history {
	t.Helper()
	h := &history{t: t, dice: d, seen: oneOf(d, 100, 100, 50, 10), suspendsOften: d.oneIn(3)}
	job := d.job()
	mirror := job.DeepCopy()
	if d.oneIn(8) {
		h.mismatch(job, mirror)
	}
	h.origin = create(t, d.server(), job)
	w := worker{minor: oneOf(d, 36, 36, 35, 31, 30, 28, 23)}
	w.clears = w.minor >= 36
	if !w.decides() {
		w.careless, w.freezes = d.oneIn(2), d.oneIn(2)
	}
	mirror.Spec.ManagedBy = nil
	h.controller = newController(t, d, w, nil, func(mirror *batchv1.Job) {
		if d.IntN(100) < h.seen {
			h.look(mirror)
		}
	})
	h.mirror(mirror)
	return h
}

// mirror creates the mirror, or the next one.
func (h *history) mirror(job *batchv1.Job) {
	h.mirrors++
	job = job.DeepCopy()
	job.UID = types.UID(fmt.Sprintf("mirror-%d", h.mirrors))
	job.Spec.Selector, job.Spec.Template.Labels = nil, nil
	c := h.controller
	next := newController(h.t, h.dice, c.worker, create(h.t, server{}, job), c.stored)
	next.now = c.now
	if h.suspendsOften {
		next.lifetime = 20
	}
	*c = *next
	h.look(c.mirror.job)
}

// mismatch makes the two clusters store different Jobs for the same manifest, as if one of them did
// not know a field.
func (h *history) mismatch(origin, mirror *batchv1.Job) {
	h.hasDiverged = true
	switch {
	case mirror.Spec.CompletionMode == nil:
		h.dice.indexed(&mirror.Spec)
	case h.dice.oneIn(2):
		origin.Spec.BackoffLimitPerIndex, origin.Spec.MaxFailedIndexes = nil, nil
	default:
		origin.Spec.CompletionMode, origin.Spec.SuccessPolicy = nil, nil
		origin.Spec.BackoffLimitPerIndex, origin.Spec.MaxFailedIndexes = nil, nil
	}
}

func (h *history) look(mirror *batchv1.Job) {
	for _, o := range h.observers {
		o.observe(mirror.DeepCopy())
	}
}

// run runs the history until the mirror is finished, and for a while after that.
func (h *history) run() {
	for range 60 {
		h.step()
		if h.controller.finished() && h.dice.oneIn(3) {
			break
		}
	}
	for len(h.pending) > 0 {
		h.arrive()
	}
	// Most Jobs end.
	for range 100 {
		h.controller.tick()
		h.controller.sync()
		if h.controller.finished() && h.dice.oneIn(4) {
			break
		}
	}
	h.look(h.controller.mirror.job)
}

func (h *history) step() {
	switch {
	case h.suspendsOften && h.dice.oneIn(4):
		h.controller.mirror.update(h.t, toggle)
	case h.dice.oneIn(12):
		h.interfere()
	}
	if h.dice.oneIn(3) {
		h.arrive()
	}
	h.controller.tick()
	if !h.dice.oneIn(5) {
		h.controller.sync()
	}
}

// arrive applies the next pending change, if any.
func (h *history) arrive() {
	if len(h.pending) > 0 {
		next := h.pending[0]
		h.pending = h.pending[1:]
		next()
	}
}

func toggle(spec *batchv1.JobSpec) { spec.Suspend = ptr.To(!*spec.Suspend) }

// interfere is a random action of a user.
func (h *history) interfere() {
	switch h.dice.IntN(8) {
	case 0, 1, 2:
		suspend := !*h.origin.job.Spec.Suspend
		change := func(spec *batchv1.JobSpec) { spec.Suspend = &suspend }
		h.origin.update(h.t, change)
		h.pending = append(h.pending, func() { h.controller.mirror.update(h.t, change) })
	case 3:
		h.controller.mirror.update(h.t, toggle)
	case 4, 5, 6:
		h.scale()
	case 7:
		if h.dice.oneIn(2) {
			h.hasDiverged = true
			job := h.controller.mirror.job.DeepCopy()
			h.mirror(job)
		}
	}
}

// scale changes parallelism, and completions with it for an Indexed Job: on the origin first, on
// the mirror first, or on the mirror only.
func (h *history) scale() {
	n := h.dice.some(0, 9)
	scalable := func(spec *batchv1.JobSpec) bool {
		return spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion &&
			spec.SuccessPolicy == nil && spec.MaxFailedIndexes == nil
	}
	change := func(spec *batchv1.JobSpec) {
		spec.Parallelism = &n
		if scalable(spec) {
			spec.Completions, h.scaled = &n, true
		}
	}
	origin := func() { h.origin.update(h.t, change) }
	mirror := func() { h.controller.mirror.update(h.t, change) }
	switch h.dice.IntN(5) {
	case 0:
		mirror()
		h.hasDiverged = h.hasDiverged || scalable(&h.controller.mirror.job.Spec)
	case 1, 2:
		mirror()
		h.pending = append(h.pending, origin)
	default:
		origin()
		h.pending = append(h.pending, mirror)
	}
}

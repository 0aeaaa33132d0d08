package validation

import (
	"fmt"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// worker is the version of Kubernetes that runs the mirror.
type worker struct {
	minor int
	// clears is whether startTime is removed when a Job is suspended, as from 1.36 on, and not only
	// when it is resumed.
	clears bool
	// careless is an old version that ends a Job while it counts its Pods. freezes is whether it
	// does not look at such a Job again.
	careless, freezes bool
}

// decides is whether an interim condition announces the end of a Job, which waits for the last Pod
// (kubernetes: delayTerminalCondition).
func (w worker) decides() bool { return w.minor >= 31 }

// pod is one pod of a mirror.
type pod struct {
	uid   types.UID
	index int
	ready bool
	// leaving is whether it was deleted but still runs.
	leaving bool
	// ended is whether it ran to its end, failed whether it failed, and fatal whether its exit code
	// is one of those of the podFailurePolicy.
	ended, failed, fatal bool
}

// controller is a small model of the Job controller (kubernetes: syncJob): what it writes, in the
// same order.
type controller struct {
	t      *testing.T
	dice   dice
	worker worker
	now    time.Time
	mirror *object
	// status is the current status; write stores it.
	status batchv1.JobStatus
	// stored is called with each state of the mirror.
	stored func(*batchv1.Job)
	pods   []*pod
	// done and lost are the completed indexes and those that failed for good, tries the failures of
	// each.
	done, lost map[int]bool
	tries      map[int]int32
	// overdue is whether the Job is past its deadline.
	overdue bool
	// lifetime is the approximate number of ticks that a Pod runs.
	lifetime int
	serial   int
}

func newController(t *testing.T, d dice, w worker, mirror *object, stored func(*batchv1.Job)) *controller {
	t.Helper()
	return &controller{
		t: t, dice: d, worker: w, now: epoch().Add(time.Second), mirror: mirror, stored: stored,
		done: map[int]bool{}, lost: map[int]bool{}, tries: map[int]int32{}, lifetime: 4,
	}
}

func (c *controller) spec() *batchv1.JobSpec { return &c.mirror.job.Spec }

func (c *controller) indexed() bool {
	return ptr.Deref(c.spec().CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
}

func (c *controller) has(of batchv1.JobConditionType) bool {
	for _, condition := range c.status.Conditions {
		if condition.Type == of && condition.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

func (c *controller) finished() bool {
	return c.has(batchv1.JobComplete) || c.has(batchv1.JobFailed)
}

func (c *controller) set(of batchv1.JobConditionType, status corev1.ConditionStatus, reason, message string) {
	at := metav1.NewTime(c.now)
	condition := batchv1.JobCondition{
		Type: of, Status: status, Reason: reason, Message: message, LastProbeTime: at, LastTransitionTime: at,
	}
	for i := range c.status.Conditions {
		if c.status.Conditions[i].Type == of {
			c.status.Conditions[i] = condition
			return
		}
	}
	c.status.Conditions = append(c.status.Conditions, condition)
}

// running returns the Pods that count as active.
func (c *controller) running() []*pod {
	var running []*pod
	for _, p := range c.pods {
		if !p.ended && !p.leaving {
			running = append(running, p)
		}
	}
	return running
}

// write stores the status if the mirror's own API server accepts it: a model that writes what no
// controller can write proves nothing.
func (c *controller) write() {
	s := &c.status
	s.Active = int32(len(c.running()))
	ready, leaving := int32(0), int32(0)
	for _, p := range c.pods {
		if p.ready && !p.ended && !p.leaving {
			ready++
		}
		if p.leaving && !p.ended {
			leaving++
		}
	}
	if c.worker.minor >= 24 {
		s.Ready = &ready
	}
	if c.worker.minor >= 29 {
		s.Terminating = &leaving
	}
	if c.indexed() {
		s.Succeeded = int32(len(c.done))
		s.CompletedIndexes = list(c.done)
		if c.spec().BackoffLimitPerIndex != nil && c.worker.minor >= 29 {
			s.FailedIndexes = ptr.To(list(c.lost))
		}
	}
	if apiequality.Semantic.DeepEqual(s, &c.mirror.job.Status) {
		return
	}
	if c.worker.decides() {
		errs := c.mirror.put(c.t, s)
		if s.StartTime == nil && len(errs) == 1 && numberOf(errs[0]) == 12 {
			// The real controller clears startTime, so it cannot end a Job that fails while it is
			// suspended, either.
			return
		}
		assert.NilError(c.t, errs.ToAggregate(), "the model of the Job controller wrote an invalid status: %s", describe(s))
	} else {
		c.mirror.store(c.t, s)
	}
	c.stored(c.mirror.job)
}

// tick advances the time, and the Pods.
func (c *controller) tick() {
	c.now = c.now.Add(time.Duration(c.dice.IntN(4)) * time.Second)
	for _, p := range c.pods {
		switch {
		case p.ended:
		case p.leaving:
			p.ended = c.dice.oneIn(3)
			p.failed = p.ended
		case !p.ready:
			p.ready = c.dice.oneIn(2)
		case c.dice.oneIn(c.lifetime):
			p.ended = true
			p.failed = c.dice.oneIn(4)
			p.fatal = p.failed && c.dice.oneIn(5)
		}
	}
	c.overdue = c.overdue || c.dice.oneIn(200)
}

// create starts Pods until as many run as the spec requests.
func (c *controller) create() {
	taken := map[int]bool{}
	for _, p := range c.pods {
		taken[p.index] = true
	}
	for range c.wanted() - len(c.running()) {
		c.serial++
		p := &pod{uid: types.UID(fmt.Sprintf("pod-%d", c.serial)), index: -1}
		if c.indexed() {
			for i := range int(*c.spec().Completions) {
				if !taken[i] && !c.done[i] && !c.lost[i] {
					p.index = i
					break
				}
			}
			if p.index < 0 {
				return
			}
			taken[p.index] = true
		}
		c.pods = append(c.pods, p)
	}
}

func (c *controller) wanted() int {
	wanted := int(*c.spec().Parallelism)
	switch completions := c.spec().Completions; {
	case completions != nil:
		return min(wanted, int(*completions-c.status.Succeeded))
	case c.status.Succeeded > 0:
		return 0
	}
	return wanted
}

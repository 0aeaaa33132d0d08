package dispatch

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// stateOf reads the state off an object of ours. That we have it is known, whether
// its status says so yet or not.
func stateOf(k delegation.Kind, o *unstructured.Unstructured) delegation.State {
	return k.StateOf(o.Object, true)
}

// statusOf is the one word for the state of an object of ours.
func statusOf(k delegation.Kind, o *unstructured.Unstructured) delegation.Status {
	return k.StatusOf(delegation.Dispatch, stateOf(k, o), true)
}

// ending is how an object has ended.
type ending struct {
	failed bool
	// reason and message are what its status says of it, "" where that says nothing.
	reason, message string
	// at is when it ended; zero where nobody wrote that down.
	at time.Time
}

// ended says how an object has ended, nil if it has not. What is being deleted may
// have ended before.
func ended(k delegation.Kind, o *unstructured.Unstructured) *ending {
	if neverEnds(k) {
		return nil
	}
	s := stateOf(k, o)
	s.Deleting = false
	status := k.StatusOf(delegation.Dispatch, s, true)
	if !status.IsFinished() {
		return nil
	}
	e := &ending{failed: status == delegation.Failed}
	e.at, _ = k.Finished(s)
	signs := k.Reading.Complete
	if e.failed {
		signs = k.Reading.Failed
	}
	e.explain(signs, s)
	return e
}

// explain finds the reason: that of the condition that shows the end, or, where a
// field does, the one beside it.
func (e *ending) explain(signs []delegation.Sign, s delegation.State) {
	for _, sign := range signs {
		i := slices.IndexFunc(s.Conditions, func(c delegation.Condition) bool { return sign.Condition != "" && isSign(sign, c) })
		if i >= 0 {
			e.reason, e.message = s.Conditions[i].Reason, s.Conditions[i].Message
			return
		}
	}
	e.reason = delegation.TextAt(s.Content, "status", "reason")
	e.message = delegation.TextAt(s.Content, "status", "message")
}

func isSign(sign delegation.Sign, c delegation.Condition) bool {
	return c.Type == sign.Condition && (c.True && sign.Is == "" || c.Is == sign.Is && sign.Is != "")
}

// neverEnds says whether objects of a kind run until somebody deletes them. They may
// fail, and recover from it.
func neverEnds(k delegation.Kind) bool { return len(k.Reading.Complete) == 0 }

// HasFinished says whether an object is complete or has failed, for good.
func HasFinished(k delegation.Kind, o *unstructured.Unstructured) bool { return ended(k, o) != nil }

// orJob is the kind of an object: where none is given, it is Job.
func orJob(k delegation.Kind) delegation.Kind {
	if k.Kind == "" {
		return delegation.Job()
	}
	return k
}

package object

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// StateOf reads the state off an object of ours. That we have it is known, whether
// its status says so yet or not.
func StateOf(k delegation.Kind, o *unstructured.Unstructured) delegation.State {
	return k.StateOf(o.Object, true)
}

// StatusOf is the one word for the state of an object of ours.
func StatusOf(k delegation.Kind, o *unstructured.Unstructured) delegation.Status {
	return k.StatusOf(delegation.Dispatch, StateOf(k, o), true)
}

// End is how an object has ended.
type End struct {
	// Failed is whether it has failed; otherwise it is complete.
	Failed bool
	// Reason and Message are what its status says of it, "" where that says nothing.
	Reason, Message string
	// At is when it ended; zero where nobody wrote that down.
	At time.Time
}

// EndOf says how an object has ended, nil if it has not. What is being deleted may
// have ended before.
func EndOf(k delegation.Kind, o *unstructured.Unstructured) *End {
	if NeverEnds(k) {
		return nil
	}
	s := StateOf(k, o)
	s.Deleting = false
	status := k.StatusOf(delegation.Dispatch, s, true)
	if !status.IsFinished() {
		return nil
	}
	e := &End{Failed: status == delegation.Failed}
	e.At, _ = k.Finished(s)
	signs := k.Reading.Complete
	if e.Failed {
		signs = k.Reading.Failed
	}
	e.explain(signs, s)
	return e
}

// explain finds the reason: that of the condition that shows the end, or, where a
// field does, the one beside it.
func (e *End) explain(signs []delegation.Sign, s delegation.State) {
	for _, sign := range signs {
		i := slices.IndexFunc(s.Conditions, func(c delegation.Condition) bool { return sign.Condition != "" && isSign(sign, c) })
		if i >= 0 {
			e.Reason, e.Message = s.Conditions[i].Reason, s.Conditions[i].Message
			return
		}
	}
	e.Reason = delegation.TextAt(s.Content, "status", "reason")
	e.Message = delegation.TextAt(s.Content, "status", "message")
}

func isSign(sign delegation.Sign, c delegation.Condition) bool {
	return c.Type == sign.Condition && (c.True && sign.Is == "" || c.Is == sign.Is && sign.Is != "")
}

// NeverEnds says whether objects of a kind run until somebody deletes them. They may
// fail, and recover from it.
func NeverEnds(k delegation.Kind) bool { return len(k.Reading.Complete) == 0 }

// HasFinished says whether an object is complete or has failed, for good.
func HasFinished(k delegation.Kind, o *unstructured.Unstructured) bool { return EndOf(k, o) != nil }

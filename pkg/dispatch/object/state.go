package object

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// StateOf returns the state of a delegated object. It counts as picked up, even if its status
// does not show that yet.
func StateOf(k delegation.Kind, o *unstructured.Unstructured) delegation.State {
	return k.StateOf(o.Object, true)
}

// StatusOf returns the status of a delegated object.
func StatusOf(k delegation.Kind, o *unstructured.Unstructured) delegation.Status {
	return k.StatusOf(delegation.Dispatch, StateOf(k, o), true)
}

// End describes how an object has ended.
type End struct {
	// Failed is whether it has failed. Otherwise it is complete.
	Failed bool
	// Reason and Message come from its status, and may be "".
	Reason, Message string
	// At is when it ended; zero if that is not recorded.
	At time.Time
}

// EndOf returns the end of an object; nil if it has not ended. An object that is being deleted
// may have ended before.
func EndOf(k delegation.Kind, o *unstructured.Unstructured) *End {
	if k.NeverEnds() {
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
	indicators := k.Indicators.Complete
	if e.Failed {
		indicators = k.Indicators.Failed
	}
	e.explain(indicators, s)
	return e
}

// explain sets the reason and the message: those of the condition that shows the end or, if a
// field shows it, those in the status.
func (e *End) explain(indicators []delegation.Indicator, s delegation.State) {
	for _, indicator := range indicators {
		i := slices.IndexFunc(s.Conditions, func(c delegation.Condition) bool { return indicator.Condition != "" && isIndicatedBy(indicator, c) })
		if i >= 0 {
			e.Reason, e.Message = s.Conditions[i].Reason, s.Conditions[i].Message
			return
		}
	}
	e.Reason = delegation.TextAt(s.Content, "status", "reason")
	e.Message = delegation.TextAt(s.Content, "status", "message")
}

func isIndicatedBy(indicator delegation.Indicator, c delegation.Condition) bool {
	return c.Type == indicator.Condition && (c.True && indicator.ConditionStatus == "" || c.Status == indicator.ConditionStatus && indicator.ConditionStatus != "")
}

// HasFinished reports whether an object is complete or has failed for good.
func HasFinished(k delegation.Kind, o *unstructured.Unstructured) bool { return EndOf(k, o) != nil }

package printers_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch"
)

// newEvent returns an event about a Job, some time after the start.
func newEvent(after time.Duration, what dispatch.EventType, name, message string) dispatch.Event {
	e := dispatch.Event{
		TypeMeta: metav1.TypeMeta{APIVersion: dispatch.APIVersion, Kind: dispatch.EventKind},
		Sequence: 1, Time: metav1.NewMicroTime(now.Add(after)), Event: what, Message: message,
	}
	if name != "" {
		e.Origin = &dispatch.Ref{Context: "management", ClusterUID: "c1", Namespace: "ml", Name: name, UID: "u1"}
		e.Mirror = &dispatch.Ref{Context: "worker-1", ClusterUID: "c2", Namespace: "ml", Name: name, UID: "u2"}
	}
	return e
}

// statusCopied returns a StatusCopied of a Job with four completions.
func statusCopied(after time.Duration, name string, s delegation.Status, ready, succeeded, failed int32) dispatch.Event {
	e := withState(newEvent(after, dispatch.StatusCopied, name, string(s)), s, ready, succeeded, failed)
	e.LagSeconds = 0.042
	return e
}

func withState(e dispatch.Event, s delegation.Status, ready, succeeded, failed int32) dispatch.Event {
	e.Status, e.Completions, e.Ready, e.Active, e.Succeeded, e.Failed = s, ptr.To[int32](4), &ready, ready, succeeded, failed
	return e
}

func changed(e dispatch.Event, change func(*dispatch.Event)) dispatch.Event {
	change(&e)
	return e
}

const s = time.Second

// oneJob returns the events of a Job during which a cluster is lost.
func oneJob() []dispatch.Event {
	return []dispatch.Event{
		changed(newEvent(0, dispatch.LeaseTaken, "train", "no other dispatcher holds it"), func(e *dispatch.Event) { e.Mirror = nil }),
		withState(newEvent(s, dispatch.MirrorCreated, "train", "made on worker-1"), delegation.Pending, 0, 0, 0),
		statusCopied(2*s, "train", delegation.Pending, 0, 0, 0),
		statusCopied(4*s, "train", delegation.Running, 1, 0, 0),
		statusCopied(5*s, "train", delegation.Running, 3, 0, 0),
		statusCopied(5*s, "train", delegation.Running, 3, 0, 0),
		newEvent(40*s, dispatch.Disconnected, "", "context worker-1: could not reach the cluster: connection refused; Jobs keep running, retrying"),
		newEvent(70*s, dispatch.Reconnected, "", "context worker-1 answers again"),
		withState(newEvent(80*s, dispatch.SpecPushed, "train", "changed on the mirror as on the origin: spec.parallelism=4"), delegation.Running, 3, 0, 0),
		statusCopied(122*s, "train", delegation.Running, 1, 3, 1),
		statusCopied(123*s, "train", delegation.Complete, 0, 4, 1),
		withState(newEvent(123*s, dispatch.Completed, "train", "it is complete"), delegation.Complete, 0, 4, 1),
	}
}

// severalJobs returns the events of Jobs with every possible end.
func severalJobs() []dispatch.Event {
	var events []dispatch.Event
	for i, end := range []dispatch.EventType{
		dispatch.JobFailed, dispatch.Cancelled, dispatch.OriginDeleted, dispatch.Aborted, dispatch.Detached, dispatch.TimedOut, dispatch.Interrupted,
	} {
		name := fmt.Sprintf("train-%d", i)
		events = append(events,
			withState(newEvent(s, dispatch.MirrorFound, name, "its mirror on worker-1 already exists"), delegation.Running, 2, 1, 0),
			statusCopied(2*s, name, delegation.Running, 1, 2, 0),
		)
		switch end {
		case dispatch.JobFailed:
			events = append(events, withState(newEvent(3*s, end, name, "it failed (BackoffLimitExceeded): Job has reached the specified backoff limit"), delegation.Failed, 0, 2, 7))
		case dispatch.Aborted:
			const why = "its mirror on worker-1 was deleted by another client; the origin stays as it is"
			events = append(events, newEvent(3*s, dispatch.MirrorDeleted, name, why), newEvent(3*s, end, name, "job ml/"+name+": "+why))
		default:
			events = append(events, newEvent(3*s, end, name, "its mirror on worker-1 keeps running, and its status is no longer copied"))
		}
	}
	return append(events, newEvent(4*s, dispatch.Warned, "train-8", "it is old"), changed(newEvent(4*s, "Unheard", "train-9", ""), func(e *dispatch.Event) { e.Mirror = nil }))
}

// hostileEvents returns events with text that must not reach a terminal unescaped.
func hostileEvents() []dispatch.Event {
	var events []dispatch.Event
	for i, what := range append(dispatch.EventTypes(), evil) {
		events = append(events, changed(statusCopied(time.Duration(i)*s, evil, evil, 1, int32(i), 0), func(e *dispatch.Event) {
			e.Event, e.Message, e.Origin.Namespace, e.Mirror.Context = what, evil+wide, evil, evil
		}))
	}
	return events
}

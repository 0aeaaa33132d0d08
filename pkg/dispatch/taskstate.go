package dispatch

import (
	"errors"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// creation is the state of creating a mirror.
type creation struct {
	// replaces is whether to recreate a mirror that is gone. It applies until one exists.
	replaces bool
	// ownUID is the UID of the mirror that this task has created, or "". supersededUID is the UID of the
	// mirror that it replaces, which the origin may still name.
	ownUID, supersededUID string
	// isUnclear is whether a failed request may have created a mirror, so that we may own one that we do
	// not know. isUnanswered is whether it may still arrive.
	isUnclear, isUnanswered bool
	// areDependenciesCopied is whether the dependencies of the mirror's Pods are copied, or cannot be.
	areDependenciesCopied bool
}

// succeed records that this task has created a mirror.
func (c *creation) succeed(uid string) {
	*c = creation{ownUID: uid, supersededUID: c.supersededUID}
}

// fail records that a request to create a mirror failed.
func (c *creation) fail(err error) {
	c.isUnclear = c.isUnclear || kubecontext.IsUnclear(err)
	c.isUnanswered = c.isUnanswered || kubecontext.IsUnanswered(err)
}

// isOwn reports whether this task has created the mirror with a UID.
func (c *creation) isOwn(uid string) bool { return c.ownUID != "" && c.ownUID == uid }

// reports is what was reported of a task already.
type reports struct {
	// mirror is whether the mirror was reported. pods is whether the wait for Pods of an earlier one was.
	mirror, pods bool
	// terminatingUID is the UID of the mirror whose deletion was reported. lastError is the last error.
	terminatingUID string
	lastError      command.Prose
}

// isRepeated reports whether an error equals the last one, and records it.
func (r *reports) isRepeated(message command.Prose) bool {
	isRepeated := r.lastError == message
	r.lastError = message
	return isRepeated
}

// isRepeatedDeletion reports whether the deletion of a mirror was reported, and records it.
func (r *reports) isRepeatedDeletion(uid string) bool {
	isRepeated := r.terminatingUID == uid
	r.terminatingUID = uid
	return isRepeated
}

// leaseNews is why this task must stop copying. The goroutine of the Lease and those of the queue set and
// read it.
type leaseNews struct {
	// holder is the dispatcher that has the Job instead of us. target is set if another dispatch has
	// started with a target that was not searched.
	holder atomic.Pointer[heldError]
	target atomic.Pointer[targetError]
	// isOriginGone is whether the origin is proven to be gone. It stays true.
	isOriginGone atomic.Bool
	// lastError is the last error of the Lease that was reported.
	lastError atomic.Pointer[command.Prose]
}

// hear records an error after which this task must not copy, and reports whether it is one.
func (n *leaseNews) hear(err error) bool {
	var (
		held  *heldError
		other *targetError
	)
	switch {
	case errors.As(err, &other):
		n.target.Store(other)
	case errors.As(err, &held):
		n.holder.Store(held)
	case errors.Is(err, errOriginGone):
		// The remaining step concerns the mirror. It needs no Lease, which may belong to another
		// Job by now.
		n.isOriginGone.Store(true)
	default:
		return false
	}
	return true
}

// other returns why another dispatcher has the Job, nil if none has it.
func (n *leaseNews) other() error {
	if target := n.target.Load(); target != nil {
		return target
	}
	if held := n.holder.Load(); held != nil {
		return held
	}
	return nil
}

// isRepeated reports whether an error of the Lease equals the last one, and records it.
func (n *leaseNews) isRepeated(message command.Prose) bool {
	before := n.lastError.Swap(&message)
	return before != nil && *before == message
}

// refusal is whether the server refused the credentials of the last request.
type refusal bool

// mayPass reports whether an error is the first Unauthorized in a row. A credential plugin
// provides new credentials only after a server has refused the old ones (client-go:
// plugin/pkg/client/auth/exec), so the first refusal is retried silently. A second one is an
// error to report.
func (r *refusal) mayPass(err error) bool {
	isFirst := !bool(*r) && apierrors.IsUnauthorized(err)
	*r = *r || refusal(isFirst)
	return isFirst
}

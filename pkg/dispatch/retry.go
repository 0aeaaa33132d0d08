package dispatch

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// contended are the retries of a write to an origin that a running dispatch of it writes, too:
// some five seconds. Each status that the dispatch copies meanwhile costs one.
func contended() wait.Backoff {
	return wait.Backoff{Steps: 9, Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.5}
}

// mayPass says whether the same request may succeed later. What a server refuses
// for what it is will be refused again; but a webhook may answer, and credentials
// may be renewed.
func mayPass(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return kubecontext.IsConnection(err)
	}
	return !apierrors.IsBadRequest(err) && !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) &&
		!apierrors.IsNotFound(err) && !apierrors.IsRequestEntityTooLargeError(err)
}

// refusal is whether credentials were refused the last time.
type refusal bool

// mayPass says whether an error is no more than that credentials have ended: only when a
// server refuses them is a credential plugin asked for others (client-go:
// plugin/pkg/client/auth/exec), with which the same is tried again. Where those are refused,
// too, it is to be told.
func (r *refusal) mayPass(err error) bool {
	isFirst := !bool(*r) && apierrors.IsUnauthorized(err)
	*r = *r || refusal(isFirst)
	return isFirst
}

// conflict has something tried again in a moment.
func conflict(k delegation.Kind, name string) error {
	return apierrors.NewConflict(k.Resource.GroupResource(), name, errors.New("it is tried again"))
}

package dispatch

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// contended returns the retries of a write to an origin that a running dispatch writes, too: for
// some five seconds. Each status that the dispatch copies meanwhile costs one retry.
func contended() wait.Backoff {
	return wait.Backoff{Steps: 9, Duration: 10 * time.Millisecond, Factor: 2, Jitter: 0.5}
}

// mayPass reports whether the same request may succeed later. A server refuses an invalid request
// every time; but a webhook may recover, and credentials may be renewed.
func mayPass(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return kubecontext.IsConnection(err)
	}
	return !apierrors.IsBadRequest(err) && !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) &&
		!apierrors.IsNotFound(err) && !apierrors.IsRequestEntityTooLargeError(err)
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

// conflict returns an error that causes an immediate retry.
func conflict(k delegation.Kind, name string) error {
	return apierrors.NewConflict(k.Resource.GroupResource(), name, errors.New("retrying"))
}

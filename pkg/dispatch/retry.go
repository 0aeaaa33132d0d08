package dispatch

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/apiserver"
)

// mayPass says whether the same request may succeed later. What a server refuses
// for what it is will be refused again; but a webhook may answer, and credentials
// may be renewed.
func mayPass(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return apiserver.IsConnection(err)
	}
	return !apierrors.IsBadRequest(err) && !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) &&
		!apierrors.IsNotFound(err) && !apierrors.IsRequestEntityTooLargeError(err)
}

// conflict has something tried again in a moment.
func conflict(k delegation.Kind, name string) error {
	return apierrors.NewConflict(k.Resource.GroupResource(), name, errors.New("it is tried again"))
}

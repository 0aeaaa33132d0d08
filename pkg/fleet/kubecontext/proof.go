package kubecontext

import (
	"errors"
	"fmt"
)

// StrayError means that a 404 does not name the requested object: a proxy may have answered, or a
// server that is not the cluster's. It says nothing about the object, so StrayError does not
// unwrap to the 404.
type StrayError struct{ Err error }

func (e *StrayError) Error() string {
	return fmt.Sprintf("the answer 404 is not from the API server of the cluster (%s)", Because(e.Err))
}

// MovedError means that a context now reaches another cluster: the UID of the Namespace was
// Before, and is Now; "" if it is no longer readable.
type MovedError struct{ Namespace, Before, Now string }

func (e *MovedError) Error() string {
	if e.Now == "" {
		return fmt.Sprintf("the context may now reach another cluster: namespace %s cannot be read any more (UID %s before)", e.Namespace, e.Before)
	}
	return fmt.Sprintf("the context now reaches another cluster: namespace %s has the UID %s, and had %s", e.Namespace, e.Now, e.Before)
}

// Return returns what the user must do before any command for the earlier cluster, as a verb phrase.
func (e *MovedError) Return(context string) string {
	return fmt.Sprintf("make context %q reach the cluster again whose namespace %s has the UID %s", context, e.Namespace, e.Before)
}

// UnidentifiedError means that nothing can be proven about a cluster, because the user may read
// neither Namespace kube-system nor the namespace of the object.
type UnidentifiedError struct{ Namespace string }

func (e *UnidentifiedError) Error() string {
	if e.Namespace == "" {
		return "the cluster cannot be identified: the user may not get namespace kube-system"
	}
	return fmt.Sprintf("the cluster cannot be identified: the user may get neither namespace kube-system nor namespace %s (the ClusterRole view allows the latter)", e.Namespace)
}

// IsUnidentified reports whether an error means that the cluster cannot be identified, now or
// later, because none of its UIDs is readable.
func IsUnidentified(err error) bool {
	var unidentified *UnidentifiedError
	return errors.As(err, &unidentified)
}

// PresentError means that an object exists whose absence was to be proven. UID is the object's
// UID.
type PresentError struct{ UID string }

func (e *PresentError) Error() string { return "an object of that name exists, with the UID " + e.UID }

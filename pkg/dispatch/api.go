package dispatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/dynamic"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// requestTimeout bounds each request, so that a connection which is dead without
// saying so does not hold a Job up for longer.
const requestTimeout = 15 * time.Second

// sideError is what went wrong with a request to one of the clusters.
type sideError struct {
	side *Side
	err  error
}

func (e *sideError) Unwrap() error { return e.err }
func (e *sideError) Error() string {
	told := fleet.InContext(e.side.Context, "", e.err)
	if told.Code() == fleet.CodeTimeout {
		// What the fleet advises on is how contexts are read.
		return fmt.Sprintf("context %s: it did not answer in time", e.side.Context)
	}
	return told.Error()
}

// failed makes an error of a request to the cluster one that names it.
func (s *Side) failed(err error) error {
	if err == nil {
		return nil
	}
	return &sideError{side: s, err: err}
}

// answered passes on whether a request was answered, in whatever way.
func (s *Side) answered(err error) {
	if s.onAnswer != nil && (err == nil || !isConnection(err)) {
		s.onAnswer()
	}
}

// objects is where a cluster has the objects of a kind that are in a namespace.
func (s *Side) objects(k delegation.Kind, namespace string) dynamic.ResourceInterface {
	return s.Dynamic.Resource(k.Resource).Namespace(namespace)
}

// get reads a Job, or an object of another kind, from the server; nil if there is
// none.
func (s *Side) get(ctx context.Context, k delegation.Kind, r Ref) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	job, err := s.objects(k, r.Namespace).Get(ctx, r.Name, metav1.GetOptions{})
	s.answered(err)
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, s.failed(err)
	}
	return trimmed(job), nil
}

// Object reads an object as it is stored, nil if there is none.
func (s *Side) Object(ctx context.Context, k delegation.Kind, namespace, name string) (*unstructured.Unstructured, error) {
	ref := refTo(s, k.GroupVersionKind(), namespace, name, "")
	o, err := s.get(ctx, k, ref)
	if err != nil {
		return nil, fmt.Errorf("could not read %s: %w", ref.WithKind(), err)
	}
	return o, nil
}

// Job reads a Job as it is stored, nil if there is none.
func (s *Side) Job(ctx context.Context, namespace, name string) (*unstructured.Unstructured, error) {
	return s.Object(ctx, delegation.Job(), namespace, name)
}

// isGone says whether the API server itself, and nothing on the way to it, says
// that there is no such object.
func isGone(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err)
}

// IsUnserved says whether the server has no API for such an object. It answers like
// any web server does that has no such page.
func IsUnserved(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.IsUnexpectedServerError(err)
}

// mayPass says whether the same request may succeed later. What a server refuses
// for what it is will be refused again; but a webhook may answer, and credentials
// may be renewed.
func mayPass(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return isConnection(err)
	}
	return !apierrors.IsBadRequest(err) && !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) &&
		!apierrors.IsNotFound(err) && !apierrors.IsRequestEntityTooLargeError(err)
}

// patch writes to an object what a JSON merge patch says, if it still is the one that
// is meant, by its uid, and as it was read, by its resourceVersion; otherwise the
// error is a conflict. The patch is changed.
func (s *Side) patch(ctx context.Context, k delegation.Kind, job *unstructured.Unstructured, subresource string, patch map[string]any) (*unstructured.Unstructured, error) {
	metadata, _ := patch["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["uid"], metadata["resourceVersion"] = job.GetUID(), job.GetResourceVersion()
	patch["metadata"] = metadata
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	var subresources []string
	if subresource != "" {
		subresources = append(subresources, subresource)
	}
	o := metav1.PatchOptions{FieldManager: FieldManager}
	if !k.IsJob() {
		// What of it the server does not know is found out from what it has stored.
		o.FieldValidation = metav1.FieldValidationIgnore
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	written, err := s.objects(k, job.GetNamespace()).Patch(ctx, job.GetName(), types.MergePatchType, body, o, subresources...)
	s.answered(err)
	if err != nil {
		return nil, s.failed(err)
	}
	return trimmed(written), nil
}

// remove deletes the object of that name and uid, with its pods, and says whether it
// did: that there is none any more is no error.
func (s *Side) remove(ctx context.Context, k delegation.Kind, r Ref) (removed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	// Without a policy, Jobs are deleted without their pods (kubernetes:
	// pkg/registry/batch/job/strategy.go, DefaultGarbageCollectionPolicy).
	uid, policy := types.UID(r.UID), metav1.DeletePropagationBackground
	err = s.objects(k, r.Namespace).Delete(ctx, r.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &policy,
	})
	if isGone(err) || apierrors.IsConflict(err) {
		// A conflict says that another object has that name now.
		return false, nil
	}
	return err == nil, s.failed(err)
}

// trimmed drops what is of no use to us and large.
func trimmed(job *unstructured.Unstructured) *unstructured.Unstructured {
	job.SetManagedFields(nil)
	return job
}

// newer returns the one of two states of a Job that was stored later.
func newer(a, b *unstructured.Unstructured) *unstructured.Unstructured {
	if b == nil || a.GetUID() != b.GetUID() {
		return a
	}
	// Servers of which this cannot be told are older than the rule that it always
	// can (KEP-5504); there, what was read last is taken.
	if order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion()); err == nil && order < 0 {
		return b
	}
	return a
}

func isConflict(err error) bool { return apierrors.IsConflict(err) }

// conflict has something tried again in a moment.
func conflict(k delegation.Kind, name string) error {
	return apierrors.NewConflict(k.Resource.GroupResource(), name, errors.New("it is tried again"))
}

// isConnection says whether an error tells of the way to a server rather than of
// what it answered.
func isConnection(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err)
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded) || utilnet.IsConnectionReset(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsProbableEOF(err)
}

// causes tells, field by field, what a server has against an object.
func causes(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return err.Error()
	}
	var all []string
	for _, c := range status.Status().Details.Causes {
		if c.Field == "" {
			all = append(all, c.Message)
			continue
		}
		all = append(all, c.Field+": "+c.Message)
	}
	return strings.Join(all, "; ")
}

package kubecontext

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// IsGone reports whether the API server says that no object of that name exists: a Status with
// reason NotFound whose details name the resource and the object. Any other 404 may come from a
// proxy, and says nothing about the object.
func IsGone(err error, r schema.GroupResource, name string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || apierrors.IsUnexpectedServerError(err) || !errors.As(err, &status) {
		return false
	}
	about := status.Status().Details
	return about != nil && about.Group == r.Group && about.Kind == r.Resource && about.Name == name
}

// IsUnserved reports whether the server seems to have no API for such an object: a 404 that names
// no object. Proxies answer in this way, too; fleet.Cluster.ProveUnserved distinguishes them.
func IsUnserved(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	about := status.Status().Details
	return apierrors.IsUnexpectedServerError(err) || about == nil || about.Name == ""
}

// CauseNotRecorded is the cause in the Status of a snapshot that lacks a resource. Its message is the
// resource.
const CauseNotRecorded metav1.CauseType = "NotRecorded"

// NotRecorded returns the resource that a snapshot lacks. ok is false for other errors.
func NotRecorded(err error) (resource string, ok bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return "", false
	}
	for _, c := range status.Status().Details.Causes {
		if c.Type == CauseNotRecorded {
			return c.Message, true
		}
	}
	return "", false
}

// IsConnection reports whether an error is about the connection to a server, and not about its
// answer.
func IsConnection(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err)
	}
	var (
		network net.Error
		late    *TimeoutError
		stray   *StrayError
		moved   *MovedError
	)
	return errors.As(err, &stray) || errors.As(err, &moved) || errors.As(err, &late) || errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded) ||
		utilnet.IsConnectionReset(err) || utilnet.IsConnectionRefused(err) || utilnet.IsProbableEOF(err)
}

// Outage returns an error that is about the connection to a server, nil for any other result of a request:
// each answer shows that the server is reachable.
func Outage(err error) error {
	if IsConnection(err) {
		return err
	}
	return nil
}

// IsUnclear reports whether a write that failed may have been carried out: no answer arrived, or one
// with a code from 500 on, which a proxy sends for a server that did not answer. An API server sends
// such a code for a webhook that fails, too. To be sure, read the object.
func IsUnclear(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError {
		return true
	}
	return IsConnection(err) && !apierrors.IsTooManyRequests(err)
}

// IsUnanswered reports whether a write that failed may still be carried out, even if it was not so far:
// neither the API server nor its store gave an answer. API servers pass on the timeouts of etcd with 500
// and no reason (kubernetes/kubernetes#110932).
func IsUnanswered(err error) bool {
	return IsUnclear(err) && (IsConnection(err) || apierrors.IsUnexpectedServerError(err) || apierrors.ReasonForError(err) == metav1.StatusReasonUnknown)
}

// Because returns an error's text on one line, without its context, and without the verb and URL
// of net/http. Of several paragraphs, it returns the first.
func Because(err error) string { return textOf(Cause(err)) }

// Causes returns a server's objections to an object, field by field.
func Causes(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return Cause(err).Error()
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

// Objection returns a server's objection to an object, without the words that name the object.
func Objection(err error) string {
	if apierrors.IsInvalid(err) {
		return Causes(err)
	}
	text := Because(err)
	if _, rest, ok := strings.Cut(text, " is forbidden: "); ok && apierrors.IsForbidden(err) {
		return rest
	}
	return text
}

// Cause returns the error inside an *Error.
func Cause(err error) error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// Skew is how far a cluster's clock is ahead of ours, between Min and Max, according to the Date
// headers of its answers. A Date header has whole seconds, so Min and Max differ by up to a
// second, and by more on a slow connection.
type Skew struct {
	Min, Max time.Duration
	// Known is false if no answer had a Date header.
	Known bool
}

// noticeable is the minimum skew to report: Date headers have whole seconds, and lag is judged in
// seconds.
const noticeable = 2 * time.Second

// Noticeable returns how far a clock is ahead, if that is worth reporting.
func (s Skew) Noticeable() (ahead time.Duration, ok bool) {
	if !s.Known || s.Min < noticeable && s.Max > -noticeable {
		return 0, false
	}
	return (s.Min + s.Max) / 2, true
}

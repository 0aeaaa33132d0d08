package apiserver

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/command"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// Error is what went wrong with a request to one of the clusters.
type Error struct {
	Side *Side
	Err  error
}

// Unwrap is what the request returned.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string { return string(e.Prose()) }

// Prose is what Error returns.
func (e *Error) Prose() command.Prose {
	told := kubecontext.InContext(e.Side.Context, "", e.Err)
	if told.Code() == kubecontext.CodeTimeout {
		// What the fleet advises on is how contexts are read.
		return command.Say("context %s: it did not answer in time", e.Side.Context)
	}
	return told.Prose()
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

// IsConnection says whether an error tells of the way to a server rather than of
// what it answered.
func IsConnection(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err)
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded) || utilnet.IsConnectionReset(err) ||
		utilnet.IsConnectionRefused(err) || utilnet.IsProbableEOF(err)
}

// Causes tells, field by field, what a server has against an object.
func Causes(err error) string {
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

// Because is an error's text on one line, without the verb and URL that net/http
// puts in front.
func Because(err error) string {
	for u := (*url.Error)(nil); errors.As(err, &u); {
		err = u.Err
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}

// Objection is what an error says against an object, without the words that name
// the object.
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

// Quantities reads what the quota plugin writes of resources, such as
// "pods=1,requests.cpu=2". What makes no sense is left out.
func Quantities(list string) map[string]resource.Quantity {
	parsed := map[string]resource.Quantity{}
	for entry := range strings.SplitSeq(list, ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(entry), "=")
		if quantity, err := resource.ParseQuantity(text); err == nil {
			parsed[name] = quantity
		}
	}
	return parsed
}

package preflight

import (
	"context"
	"errors"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilversion "k8s.io/apimachinery/pkg/util/version"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/wire"
)

// serverVersion is the version of an API server.
type serverVersion struct {
	// text is the version, such as "v1.36.3", or "of unknown version".
	text string
	// parsed is nil if the version is unknown.
	parsed *utilversion.Version
}

// isBefore reports whether the server is known to be older.
func (v serverVersion) isBefore(major, minor uint) bool {
	return v.parsed != nil && v.parsed.LessThan(utilversion.MajorMinor(major, minor))
}

// version requests the version of the server. A server that refuses to tell it has answered, so
// that is not an error.
func (p Probe) version(ctx context.Context) (serverVersion, error) {
	return recall(ctx, p, "version", func(ctx context.Context) (serverVersion, error) {
		unknown := serverVersion{text: "of unknown version"}
		info, err := p.Version(ctx)
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || errors.Is(err, wire.ErrInvalidAnswer) {
			return unknown, nil
		}
		if err != nil {
			return unknown, err
		}
		parsed, err := utilversion.ParseGeneric(info.GitVersion)
		if err != nil {
			return unknown, nil //nolint:nilerr // The server answered, so only its version is unknown.
		}
		return serverVersion{text: info.GitVersion, parsed: parsed}, nil
	})
}

// user returns the user name as the server sees it, or "".
func (p Probe) user(ctx context.Context) string {
	name, _ := recall(ctx, p, "user", func(ctx context.Context) (string, error) {
		review, err := p.Kubernetes().AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err != nil {
			return "", err
		}
		return review.Status.UserInfo.Username, nil
	})
	return name
}

// may reports whether the user has a right in a namespace.
func (p Probe) may(ctx context.Context, namespace, verb string, what schema.GroupResource) (bool, error) {
	question := fmt.Sprintf("may %s %s in %s", verb, what, namespace)
	return recall(ctx, p, question, func(ctx context.Context) (bool, error) {
		resource, subresource, _ := strings.Cut(what.Resource, "/")
		review, err := p.Kubernetes().AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: what.Group, Resource: resource, Subresource: subresource,
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		return review.Status.Allowed, nil
	})
}

// Find returns an object; nil if there is none. The object may be served in any of several
// versions. Find uses the first one that is served, because servers warn about older ones.
func (p Probe) Find(ctx context.Context, namespace, name string, versions ...schema.GroupVersionResource) (*unstructured.Unstructured, error) {
	type answer struct {
		object   *unstructured.Unstructured
		isServed bool
	}
	for _, resource := range versions {
		question := fmt.Sprintf("find %s %s/%s", resource, namespace, name)
		found, err := recall(ctx, p, question, func(ctx context.Context) (answer, error) {
			object, err := p.Get(ctx, resource, namespace, name)
			if kubecontext.IsUnserved(err) {
				return answer{}, nil
			}
			return answer{object, true}, err
		})
		if found.isServed || err != nil {
			return found.object, err
		}
	}
	return nil, nil
}

// namespaceState is the state of a namespace.
type namespaceState struct {
	exists, terminating bool
	uid                 string
}

// namespaceState reads the state of a namespace. It returns an error if the user has no right to
// read it.
func (p Probe) namespaceState(ctx context.Context, name string) (namespaceState, error) {
	found, err := p.Find(ctx, "", name, corev1.SchemeGroupVersion.WithResource("namespaces"))
	if err != nil || found == nil {
		return namespaceState{}, err
	}
	phase, _, _ := unstructured.NestedString(found.Object, "status", "phase")
	return namespaceState{
		exists: true, uid: string(found.GetUID()),
		terminating: phase == string(corev1.NamespaceTerminating) || found.GetDeletionTimestamp() != nil,
	}, nil
}

// Package rbactest parses requests for tests into verbs and resources, as API servers do before
// they check rights.
package rbactest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/kueue"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/rights"
)

// Request is the verb and the object of an HTTP request.
type Request struct {
	// Verb is a verb such as "list", and Resource may have a subresource, such as "pods/log".
	Verb, Group, Resource string
	// Namespace is "" for all, and for resources without namespaces; Name is "" for all.
	Namespace, Name string
}

// String returns the request for people.
func (r Request) String() string {
	where, name := "everywhere", r.Name
	if r.Namespace != "" {
		where = "in " + r.Namespace
	}
	if name != "" {
		name = " " + name
	}
	return fmt.Sprintf("%s %s%s %s", r.Verb, schema.GroupResource{Group: r.Group, Resource: r.Resource}, name, where)
}

// AllowedBy reports whether one of the rights allows a request. Requests that every user may send
// are always allowed.
func (r Request) AllowedBy(all []rights.Right) bool {
	return r.Group == "authorization.k8s.io" || r.Group == "authentication.k8s.io" || slices.ContainsFunc(all, r.isAllowed)
}

func (r Request) isAllowed(right rights.Right) bool {
	return right.Resource == schema.GroupResource{Group: r.Group, Resource: r.Resource} && slices.Contains(right.Verbs, r.Verb) &&
		(len(right.Names) == 0 || slices.Contains(right.Names, r.Name)) &&
		(right.Scope != rights.InKueue || r.Namespace == kueue.Namespace)
}

// RequestOf parses a request like apiserver's RequestInfoFactory (apiserver:
// pkg/endpoints/request/requestinfo.go). ok is false for a request without a resource, such as
// discovery, which every user may send.
func RequestOf(r *http.Request) (asked Request, ok bool) {
	steps := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(steps) > 2 && steps[0] == "api":
		steps = steps[2:]
	case len(steps) > 3 && steps[0] == "apis":
		asked.Group, steps = steps[1], steps[3:]
	default:
		return Request{}, false
	}
	if steps[0] == "namespaces" && len(steps) > 1 {
		asked.Namespace = steps[1]
		if len(steps) > 2 {
			steps = steps[2:]
		}
	}
	asked.Resource = steps[0]
	if len(steps) > 1 {
		asked.Name = steps[1]
	}
	if len(steps) > 2 {
		asked.Resource += "/" + steps[2]
	}
	asked.Verb = verbOf(r, asked.Name)
	if asked.Verb == "list" || asked.Verb == "watch" {
		if selector, err := fields.ParseSelector(r.URL.Query().Get("fieldSelector")); err == nil {
			asked.Name, _ = selector.RequiresExactMatch("metadata.name")
		}
	}
	return asked, true
}

func verbOf(r *http.Request, name string) string {
	isWatch := r.URL.Query().Get("watch") == "true" || r.URL.Query().Get("watch") == "1"
	switch {
	case r.Method == http.MethodGet && name != "", r.Method == http.MethodHead && name != "":
		return "get"
	case r.Method == http.MethodGet && isWatch:
		return "watch"
	case r.Method == http.MethodDelete && name == "":
		return "deletecollection"
	}
	return map[string]string{
		http.MethodGet: "list", http.MethodHead: "list", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
	}[r.Method]
}

// Refuse answers like an API server to a user without the right.
func Refuse(w http.ResponseWriter, asked Request) {
	status := apierrors.NewForbidden(schema.GroupResource{Group: asked.Group, Resource: asked.Resource}, asked.Name, fmt.Errorf("you may not %s", asked)).Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	_ = json.NewEncoder(w).Encode(status)
}

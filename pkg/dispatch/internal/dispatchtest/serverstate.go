package dispatchtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// SetNamespaces sets Namespaces while the server is in use.
func (s *Server) SetNamespaces(uids map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Namespaces = uids
}

// SetBefore sets Before while the server is in use.
func (s *Server) SetBefore(before func(*http.Request) *apierrors.StatusError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Before = before
}

// Added returns the objects of a name as they were created.
func (s *Server) Added(namespace, name string) (added []*unstructured.Unstructured) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.log {
		if c.kind == "ADDED" && c.object.GetNamespace() == namespace && c.object.GetName() == name {
			added = append(added, c.object)
		}
	}
	return added
}

// identity answers a request for a namespace. ok is false for other requests.
func (s *Server) identity(r *http.Request) (answer any, failed *apierrors.StatusError, ok bool) {
	name, ok := strings.CutPrefix(r.URL.Path, "/api/v1/namespaces/")
	if !ok || strings.Contains(name, "/") || r.Method != http.MethodGet || s.objects[r.URL.Path] != nil {
		return nil, nil, false
	}
	uid := s.Namespaces[name]
	if uid == "" {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, name, fmt.Errorf("no")), true
	}
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata"}}
	o.SetName(name)
	o.SetUID(types.UID(uid))
	return o.Object, nil, true
}

// asJSON returns a body as JSON. Typed clients send protobuf.
func asJSON(r *http.Request, body []byte) ([]byte, error) {
	if r.Header.Get("Content-Type") != runtime.ContentTypeProtobuf || len(body) == 0 {
		return body, nil
	}
	o, kind, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return nil, err
	}
	o.GetObjectKind().SetGroupVersionKind(*kind)
	return json.Marshal(o)
}

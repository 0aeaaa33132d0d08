package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// server answers like the API server of one context at the time of the snapshot. It is the
// transport of the context's clients, so nothing is ever sent.
type server struct {
	store   *store
	version string
	// clusterUID identifies the cluster if the objects do not.
	clusterUID string
	// prefix is the path of the server's URL.
	prefix string
	// date is the time of the server's clock, or "" if unknown.
	date   string
	served []schema.GroupVersion
	// kinds are the delegable kinds.
	kinds  []ServedKind
	unread map[schema.GroupResource]metav1.Status
}

func newServer(c *Context, s *store, takenAt time.Time) *server {
	r := &server{store: s, version: c.Version, clusterUID: c.ClusterUID, kinds: c.Kinds, unread: map[schema.GroupResource]metav1.Status{}}
	if base, _, err := rest.DefaultServerUrlFor(&rest.Config{Host: c.Server}); err == nil {
		r.prefix = strings.TrimRight(base.Path, "/")
	}
	if c.ClockSkewSeconds != 0 {
		skew := time.Duration(c.ClockSkewSeconds * float64(time.Second))
		r.date = takenAt.Add(skew).UTC().Format(http.TimeFormat)
	}
	r.served = served(c, s)
	for _, u := range c.Unread {
		status := u.Status
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		status.Status = metav1.StatusFailure
		if status.Code < http.StatusBadRequest {
			status.Code, status.Reason = http.StatusForbidden, metav1.StatusReasonForbidden
		}
		r.unread[schema.ParseGroupResource(u.Resource)] = status
	}
	for i := range c.Kinds {
		if k := &c.Kinds[i]; k.Omitted {
			r.unread[k.resource().GroupResource()] = omitted(k)
		}
	}
	r.setCapacity(c)
	return r
}

// RoundTrip answers a request.
func (s *server) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body != nil {
		_ = request.Body.Close()
	}
	if err := request.Context().Err(); err != nil {
		return nil, err
	}
	body, err := s.answer(request)
	code := http.StatusOK
	if err != nil {
		status := err.Status()
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		code = int(status.Code)
		body = encode(status)
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if s.date != "" {
		header.Set("Date", s.date)
	}
	return &http.Response{
		Status: http.StatusText(code), StatusCode: code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		Request: request,
	}, nil
}

func (s *server) answer(request *http.Request) ([]byte, *apierrors.StatusError) {
	if request.Method != http.MethodGet {
		return nil, refused("a snapshot is read-only")
	}
	path, ok := strings.CutPrefix(request.URL.Path, s.prefix)
	if !ok {
		return nil, notServed(schema.GroupResource{}, "")
	}
	steps := strings.Split(strings.Trim(path, "/"), "/")
	if slices.Contains(steps, "") {
		return nil, notServed(schema.GroupResource{}, "")
	}
	switch {
	case len(steps) == 1 && steps[0] == "version":
		return s.versionInfo(), nil
	case len(steps) >= len(openAPI()) && slices.Equal(steps[:len(openAPI())], openAPI()):
		return s.schemas(steps[len(openAPI()):])
	case steps[0] == "api" && len(steps) < 3, steps[0] == "apis" && len(steps) < 4:
		return s.discover(steps)
	case steps[0] == "api":
		return s.objects(request, schema.GroupVersion{Version: steps[1]}, steps[2:])
	case steps[0] == "apis":
		return s.objects(request, schema.GroupVersion{Group: steps[1], Version: steps[2]}, steps[3:])
	}
	return nil, notServed(schema.GroupResource{}, "")
}

// objects answers requests for objects: [namespaces NAMESPACE] PLURAL [NAME].
func (s *server) objects(request *http.Request, gv schema.GroupVersion, steps []string) ([]byte, *apierrors.StatusError) {
	namespace := ""
	if steps[0] == "namespaces" && len(steps) > 2 {
		namespace, steps = steps[1], steps[2:]
	}
	switch len(steps) {
	case 1:
		return s.list(request, gv.WithResource(steps[0]), namespace)
	case 2:
		return s.get(request, gv.WithResource(steps[0]), namespace, steps[1])
	}
	return nil, notServed(schema.GroupResource{Group: gv.Group, Resource: steps[0]}, steps[1])
}

// get answers with one object.
func (s *server) get(request *http.Request, gvr schema.GroupVersionResource, namespace, name string) ([]byte, *apierrors.StatusError) {
	r, ok := s.resource(gvr)
	ok = ok && r.namespaced == (namespace != "")
	if ok {
		o := s.store.tables[gvr].get(namespace, name)
		if o == nil {
			o = s.identity(r, name)
		}
		if o != nil {
			return o.as(request), nil
		}
	}
	if status, unread := s.refusal(gvr.GroupResource()); unread {
		// The object may exist: it only could not be read.
		return nil, &apierrors.StatusError{ErrStatus: status}
	}
	if !ok {
		return nil, notServed(gvr.GroupResource(), name)
	}
	return nil, apierrors.NewNotFound(gvr.GroupResource(), name)
}

// refusal returns the recorded error of a resource or of its group; false if the resource was readable.
func (s *server) refusal(gr schema.GroupResource) (metav1.Status, bool) {
	if status, ok := s.unread[gr]; ok {
		return status, true
	}
	status, ok := s.unread[schema.GroupResource{Group: gr.Group, Resource: everything}]
	return status, ok
}

// identity returns the Namespace whose UID identifies the cluster, if the snapshot has only the
// UID.
func (s *server) identity(r resource, name string) *object {
	if r.GroupVersionResource != namespaces().GroupVersionResource || name != metav1.NamespaceSystem || s.clusterUID == "" {
		return nil
	}
	metadata := encode(map[string]string{"name": name, "uid": s.clusterUID})
	whole := encode(map[string]any{"apiVersion": corev1.SchemeGroupVersion.Version, "kind": r.kind, "metadata": json.RawMessage(metadata)})
	return &object{resource: r, name: name, json: whole, metadata: metadata}
}

// as returns the object, or only its metadata if the request asks for that.
func (o *object) as(request *http.Request) []byte {
	if !metadataOnly(request) {
		return o.json
	}
	return slices.Concat([]byte(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":`), o.metadata, []byte("}"))
}

func metadataOnly(request *http.Request) bool {
	return strings.Contains(request.Header.Get("Accept"), "as=PartialObjectMetadata")
}

// omitted returns the answer for a kind whose objects were not requested.
func omitted(k *ServedKind) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: http.StatusServiceUnavailable, Reason: metav1.StatusReasonServiceUnavailable,
		Message: fmt.Sprintf("the snapshot was taken without %s. Take it again with --kinds all", k.resource().GroupResource()),
	}
}

func refused(message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusMethodNotAllowed,
		Reason: metav1.StatusReasonMethodNotAllowed, Message: message,
	}}
}

// notServed returns the error of a client for a path that an API server does not have.
func notServed(gr schema.GroupResource, name string) *apierrors.StatusError {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "get", gr, name, "404 page not found", 0, true)
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		// Nothing that is encoded here can fail.
		panic(err)
	}
	return text
}

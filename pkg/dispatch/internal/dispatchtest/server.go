package dispatchtest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"gotest.tools/v3/assert"
	authorizationv1 "k8s.io/api/authorization/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
)

// Server imitates an API server for tests of concurrent writes. It has UIDs, resource versions,
// generations, preconditions and watches. It does not validate, sets no defaults, and collects no
// garbage.
type Server struct {
	// Before, if set, is called before each request. If it returns an error, the server answers
	// with it. Calls may be concurrent.
	Before func(*http.Request) *apierrors.StatusError
	// After, if set, is called after each request that was carried out. If it returns an error, the
	// server answers with it, as a proxy does for a server whose answer was lost.
	After func(*http.Request) *apierrors.StatusError
	// MayNot, if set, reports whether the user lacks a right.
	MayNot func(*authorizationv1.ResourceAttributes) bool
	// Namespaces are the UIDs of the namespaces that the user can get. They identify the cluster.
	Namespaces map[string]string

	address string
	mu      sync.Mutex
	// objects are the stored objects, by the path of the request that reads them.
	objects map[string]*unstructured.Unstructured
	version int64
	// log has all changes in order. changed is closed at the next change.
	log     []change
	changed chan struct{}
}

// change is a change of an object. The object's resource version orders the changes.
type change struct {
	kind   string
	path   string
	object *unstructured.Unstructured
}

// NewServer starts an empty server, which stops with the test.
func NewServer(t *testing.T) *Server {
	t.Helper()
	s := &Server{objects: map[string]*unstructured.Unstructured{}, version: 1, changed: make(chan struct{})}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.address = server.URL
	return s
}

// Config returns the configuration for clients.
func (s *Server) Config() *rest.Config {
	return &rest.Config{Host: s.address, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

// Cluster returns the server as a cluster with a context name. Its identity is already read.
func (s *Server) Cluster(t *testing.T, name string) *fleet.Cluster {
	t.Helper()
	return s.cluster(t, name, s.Config())
}

// Create stores an object as if a client had created it. It keeps the object's UID if there is
// one.
func (s *Server) Create(t *testing.T, resource schema.GroupVersionResource, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	created, err := s.create(pathOf(resource, o.GetNamespace(), ""), o, cmp.Or(o.GetUID(), uuid.NewUUID()))
	assert.Assert(t, err == nil, "%v", err)
	return created
}

// Get returns a stored object; nil if there is none.
func (s *Server) Get(resource schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[pathOf(resource, namespace, name)]; o != nil {
		return o.DeepCopy()
	}
	return nil
}

// Change changes an object as another client would.
func (s *Server) Change(t *testing.T, resource schema.GroupVersionResource, namespace, name string, change func(*unstructured.Unstructured)) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.change(pathOf(resource, namespace, name), func(was []byte) ([]byte, error) {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(was); err != nil {
			return nil, err
		}
		change(o)
		return o.MarshalJSON()
	})
	assert.Assert(t, err == nil, "%v", err)
}

// Delete deletes an object as a client would.
func (s *Server) Delete(t *testing.T, resource schema.GroupVersionResource, namespace, name string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.remove(pathOf(resource, namespace, name), nil)
	assert.Assert(t, err == nil, "%v", err)
}

func pathOf(resource schema.GroupVersionResource, namespace, name string) string {
	path := "/apis/" + resource.GroupVersion().String()
	if resource.Group == "" {
		path = "/api/" + resource.Version
	}
	if namespace != "" {
		path += "/namespaces/" + namespace
	}
	path += "/" + resource.Resource
	if name != "" {
		path += "/" + name
	}
	return path
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if body, err = asJSON(r, body); err != nil {
		http.Error(w, err.Error(), http.StatusUnsupportedMediaType)
		return
	}
	var failed *apierrors.StatusError
	s.mu.Lock()
	before := s.Before
	s.mu.Unlock()
	if before != nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
		failed = before(r)
	}
	var answer any
	switch {
	case failed != nil:
	case strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"):
		answer, failed = s.review(body)
	case r.URL.Query().Get("watch") == "true" && r.URL.Query().Get("sendInitialEvents") == "true":
		failed = apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil)
	case r.URL.Query().Get("watch") == "true":
		s.watch(w, r)
		return
	default:
		answer, failed = s.answer(r, body)
		if s.After != nil && failed == nil {
			failed = s.After(r)
		}
	}
	code := http.StatusOK
	if failed != nil {
		status := failed.Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		answer, code = status, int(status.Code)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer)
}

// review answers whether the user has a right.
func (s *Server) review(body []byte) (any, *apierrors.StatusError) {
	var asked authorizationv1.SelfSubjectAccessReview
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	asked.Status.Allowed = s.MayNot == nil || !s.MayNot(asked.Spec.ResourceAttributes)
	return &asked, nil
}

func (s *Server) answer(r *http.Request, body []byte) (any, *apierrors.StatusError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answer, failed, ok := s.identity(r); ok {
		return answer, failed
	}
	collection, path, ok := placesOf(r.URL.Path)
	if !ok {
		return nil, apierrors.NewGenericServerResponse(http.StatusNotFound, r.Method, schema.GroupResource{}, r.URL.Path, "", 0, true)
	}
	resource := schema.GroupResource{Group: groupOf(collection), Resource: lastOf(collection)}
	isOne := path != collection
	if isOne && s.objects[path] == nil {
		return nil, apierrors.NewNotFound(resource, lastOf(path))
	}
	switch {
	case r.Method == http.MethodGet && isOne:
		return s.objects[path].Object, nil
	case r.Method == http.MethodGet:
		return s.list(r, collection), nil
	case r.Method == http.MethodPost:
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(body); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if manager := r.URL.Query().Get("fieldManager"); manager != "" {
			o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate}})
		}
		created, failed := s.create(collection, o, uuid.NewUUID())
		return objectOf(created), failed
	case r.Method == http.MethodPut:
		stored, failed := s.change(path, func([]byte) ([]byte, error) { return body, nil })
		return objectOf(stored), failed
	case r.Method == http.MethodPatch:
		patch := func(was []byte) ([]byte, error) { return jsonpatch.MergePatch(was, body) }
		if r.Header.Get("Content-Type") == string(types.StrategicMergePatchType) {
			patch = func(was []byte) ([]byte, error) { return withOwners(was, body) }
		}
		stored, failed := s.change(path, patch)
		return objectOf(stored), failed
	case r.Method == http.MethodDelete:
		return s.delete(path, body)
	}
	return nil, apierrors.NewMethodNotSupported(resource, r.Method)
}

func (s *Server) delete(path string, body []byte) (any, *apierrors.StatusError) {
	var o metav1.DeleteOptions
	if err := json.Unmarshal(body, &o); len(body) > 0 && err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if len(o.DryRun) > 0 {
		return s.objects[path].Object, checkPreconditions(s.objects[path], o.Preconditions)
	}
	removed, failed := s.remove(path, o.Preconditions)
	return objectOf(removed), failed
}

// placesOf returns the paths of the collection and the object of a request. For a request without
// an object, both are the collection. A subresource counts as its object. ok is false if the path
// is neither.
func placesOf(asked string) (collection, object string, ok bool) {
	// /apis/GROUP/VERSION[/namespaces/NAMESPACE]/PLURAL[/NAME[/SUBRESOURCE]]
	steps := strings.Split(asked, "/")
	at := slices.Index(steps, "namespaces")
	if at < 0 && steps[1] == "apis" {
		at = 2
	}
	if at < 0 || len(steps) < at+3 {
		return "", "", false
	}
	return strings.Join(steps[:at+3], "/"), strings.Join(steps[:min(len(steps), at+4)], "/"), true
}

// groupOf returns the API group of a path.
func groupOf(path string) string {
	if steps := strings.Split(path, "/"); steps[1] == "apis" {
		return steps[2]
	}
	return ""
}

// lastOf returns the last step of a path.
func lastOf(path string) string { return path[strings.LastIndex(path, "/")+1:] }

func objectOf(o *unstructured.Unstructured) any {
	if o == nil {
		return nil
	}
	return o.Object
}

// note stores a change and wakes the watches.
func (s *Server) note(kind, path string, o *unstructured.Unstructured) {
	s.version++
	o.SetResourceVersion(strconv.FormatInt(s.version, 10))
	s.log = append(s.log, change{kind, path, o.DeepCopy()})
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) create(collection string, o *unstructured.Unstructured, uid types.UID) (*unstructured.Unstructured, *apierrors.StatusError) {
	path := collection + "/" + o.GetName()
	if s.objects[path] != nil {
		return nil, apierrors.NewAlreadyExists(schema.GroupResource{Resource: lastOf(collection)}, o.GetName())
	}
	o = o.DeepCopy()
	o.SetUID(uid)
	o.SetGeneration(1)
	s.note("ADDED", path, o)
	s.objects[path] = o
	return o, nil
}

func (s *Server) change(path string, patch func(was []byte) ([]byte, error)) (*unstructured.Unstructured, *apierrors.StatusError) {
	was := s.objects[path]
	resource := schema.GroupResource{Resource: strings.Split(path, "/")[len(strings.Split(path, "/"))-2]}
	text, err := was.MarshalJSON()
	if err == nil {
		text, err = patch(text)
	}
	now := &unstructured.Unstructured{}
	if err == nil {
		err = now.UnmarshalJSON(text)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if now.GetUID() != was.GetUID() || now.GetResourceVersion() != "" && now.GetResourceVersion() != was.GetResourceVersion() {
		return nil, apierrors.NewConflict(resource, was.GetName(), fmt.Errorf("it is another, or was changed"))
	}
	if !apiequality.Semantic.DeepEqual(now.Object["spec"], was.Object["spec"]) {
		now.SetGeneration(was.GetGeneration() + 1)
	}
	s.note("MODIFIED", path, now)
	s.objects[path] = now
	return now, nil
}

// withOwners applies a strategic merge patch of owner references, which are merged by their UIDs.
func withOwners(was, patch []byte) ([]byte, error) {
	var o, p unstructured.Unstructured
	if err := o.UnmarshalJSON(was); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(patch, &p.Object); err != nil {
		return nil, err
	}
	owners := o.GetOwnerReferences()
	for _, owner := range p.GetOwnerReferences() {
		if !slices.ContainsFunc(owners, func(there metav1.OwnerReference) bool { return there.UID == owner.UID }) {
			owners = append(owners, owner)
		}
	}
	o.SetOwnerReferences(owners)
	if uid := p.GetUID(); uid != "" {
		o.SetUID(uid)
	}
	return o.MarshalJSON()
}

func checkPreconditions(o *unstructured.Unstructured, p *metav1.Preconditions) *apierrors.StatusError {
	if p != nil && (p.UID != nil && *p.UID != o.GetUID() || p.ResourceVersion != nil && *p.ResourceVersion != o.GetResourceVersion()) {
		return apierrors.NewConflict(schema.GroupResource{}, o.GetName(), fmt.Errorf("the precondition does not hold"))
	}
	return nil
}

func (s *Server) remove(path string, p *metav1.Preconditions) (*unstructured.Unstructured, *apierrors.StatusError) {
	o := s.objects[path]
	if failed := checkPreconditions(o, p); failed != nil {
		return nil, failed
	}
	delete(s.objects, path)
	o = o.DeepCopy()
	s.note("DELETED", path, o)
	return o, nil
}

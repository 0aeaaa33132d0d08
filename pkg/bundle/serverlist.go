package bundle

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// list answers with the objects of a namespace, or of all, in chunks if requested.
func (s *server) list(request *http.Request, gvr schema.GroupVersionResource, namespace string) ([]byte, *apierrors.StatusError) {
	if status, unread := s.refusal(gvr.GroupResource()); unread {
		return nil, &apierrors.StatusError{ErrStatus: status}
	}
	r, ok := s.resource(gvr)
	if !ok || namespace != "" && !r.namespaced {
		return nil, notServed(gvr.GroupResource(), "")
	}
	query := request.URL.Query()
	if watch, _ := strconv.ParseBool(query.Get("watch")); watch {
		return nil, refused("a snapshot cannot be watched: it records one moment")
	}
	label, err := labels.Parse(query.Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	field, err := fields.ParseSelector(query.Get("fieldSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if unsupported := checkFields(gvr, field); unsupported != nil {
		return nil, unsupported
	}
	picked := s.store.tables[gvr].list(namespace, label, field)

	objects, next, err := page(picked, query.Get("limit"), query.Get("continue"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return s.encodeList(request, r, objects, next), nil
}

// page returns the requested chunk, and the token of the next one; "" if it is the last.
func page(picked []*object, limit, token string) (chunk []*object, next string, err error) {
	from, to := 0, len(picked)
	if token != "" {
		if from, err = strconv.Atoi(token); err != nil || from < 0 || from > len(picked) {
			return nil, "", errors.New("the continue token is not from this snapshot")
		}
	}
	if n, err := strconv.Atoi(limit); err == nil && n > 0 && n < to-from {
		to = from + n
		next = strconv.Itoa(to)
	}
	return picked[from:to], next, nil
}

// encodeList assembles a list from objects in JSON.
func (s *server) encodeList(request *http.Request, r resource, objects []*object, next string) []byte {
	kind, apiVersion := r.kind+"List", r.GroupVersion().String()
	if metadataOnly(request) {
		kind, apiVersion = "PartialObjectMetadataList", "meta.k8s.io/v1"
	}
	var b bytes.Buffer
	b.WriteString(`{"kind":` + string(encode(kind)) + `,"apiVersion":` + string(encode(apiVersion)))
	b.WriteString(`,"metadata":{"resourceVersion":"` + s.store.version + `"`)
	if next != "" {
		b.WriteString(`,"continue":"` + next + `"`)
	}
	b.WriteString(`},"items":[`)
	for i, o := range objects {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(o.as(request))
	}
	b.WriteString("]}")
	return b.Bytes()
}

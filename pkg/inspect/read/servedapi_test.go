package read_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"gotest.tools/v3/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/fleet/kubecontext"
)

// servedAPI is an API server for some resources, with discovery, schemas and objects. It is the
// transport of clients.
type servedAPI struct {
	resources []servedResource
	// down are groups that do not answer. forbidden are paths that are denied; an asterisk at the
	// end matches any suffix.
	down, forbidden []string

	mu    sync.Mutex
	asked []string
}

// servedResource is a resource in one version. The preferred version of a group comes first.
type servedResource struct {
	// apiVersion is the group and version.
	apiVersion, plural, kind string
	// spec is the schema of the spec, in JSON; "" means that the group and version publishes none.
	spec string
	// more changes the entry in discovery.
	more func(r *metav1.APIResource)
	// noStatus is whether the resource has no status subresource; otherwise statusVerbs are the
	// verbs of the status.
	noStatus    bool
	statusVerbs []string
	shortNames  []string
	// objects are in JSON.
	objects []string
}

const (
	field        = `{"type": "object", "properties": {"managedBy": {"type": "string"}}}`
	runPolicy    = `{"type": "object", "properties": {"runPolicy": {"type": "object", "properties": {"managedBy": {"type": "string"}}}}}`
	withoutField = `{"type": "object", "properties": {"suspend": {"type": "boolean"}}}`
)

// openServed returns a fleet of these clusters, by the names of their contexts.
func openServed(t *testing.T, apis map[string]*servedAPI, names ...string) *fleet.Fleet {
	t.Helper()
	var contexts []fleet.Context
	for _, name := range names {
		contexts = append(contexts, fleet.Context{Name: name, Namespace: "ns", Config: &rest.Config{Host: "https://" + name + ".example", Transport: apis[name]}})
	}
	return fleet.Open(t.Context(), contexts, fleet.Options{})
}

// cluster returns a fleet's cluster with this API.
func (a *servedAPI) cluster(t *testing.T) *fleet.Cluster {
	t.Helper()
	c := openServed(t, map[string]*servedAPI{"hub": a}, "hub").Clusters()[0]
	_ = c.UID() // That is asked first.
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = nil
	return c
}

func (a *servedAPI) RoundTrip(request *http.Request) (*http.Response, error) {
	path := request.URL.Path
	a.mu.Lock()
	a.asked = append(a.asked, path)
	a.mu.Unlock()
	answer, err := a.answer(path)
	code := http.StatusOK
	if err != nil {
		code, answer = int(err.Status().Code), err.Status()
	}
	body, encodeErr := json.Marshal(answer)
	return &http.Response{
		StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: request,
	}, encodeErr
}

func (a *servedAPI) answer(path string) (any, *apierrors.StatusError) {
	for _, forbidden := range a.forbidden {
		if start, isPrefix := strings.CutSuffix(forbidden, "*"); path == forbidden || isPrefix && strings.HasPrefix(path, start) {
			return nil, apierrors.NewForbidden(schema.GroupResource{}, "", fmt.Errorf("may not read %s", path))
		}
	}
	switch {
	case path == "/api":
		return metav1.APIVersions{Versions: []string{"v1"}}, nil
	case path == "/api/v1":
		return metav1.APIResourceList{GroupVersion: "v1"}, nil
	case path == "/apis":
		return a.groups(), nil
	case path == "/openapi/v3":
		return a.published(), nil
	case strings.HasPrefix(path, "/openapi/v3/apis/"):
		return a.schemas(strings.TrimPrefix(path, "/openapi/v3/apis/")), nil
	case strings.HasPrefix(path, "/apis/"):
		return a.inGroup(strings.Split(strings.TrimPrefix(path, "/apis/"), "/"))
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, path)
}

func (a *servedAPI) groups() metav1.APIGroupList {
	list := metav1.APIGroupList{}
	versions := a.versions()
	for _, group := range a.down {
		versions = append(versions, group+"/v1")
	}
	for _, text := range versions {
		gv, _ := schema.ParseGroupVersion(text)
		version := metav1.GroupVersionForDiscovery{GroupVersion: text, Version: gv.Version}
		if i := slices.IndexFunc(list.Groups, func(g metav1.APIGroup) bool { return g.Name == gv.Group }); i >= 0 {
			list.Groups[i].Versions = append(list.Groups[i].Versions, version)
			continue
		}
		list.Groups = append(list.Groups, metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
	}
	return list
}

func (a *servedAPI) versions() []string {
	var all []string
	for _, r := range a.resources {
		if !slices.Contains(all, r.apiVersion) {
			all = append(all, r.apiVersion)
		}
	}
	return all
}

func (a *servedAPI) published() any {
	paths := map[string]map[string]string{}
	for _, r := range a.resources {
		if r.spec != "" {
			paths["apis/"+r.apiVersion] = map[string]string{"serverRelativeURL": "/openapi/v3/apis/" + r.apiVersion + "?hash=1"}
		}
	}
	return map[string]any{"paths": paths}
}

func (a *servedAPI) schemas(apiVersion string) any {
	components := map[string]any{}
	for _, r := range a.resources {
		if gv, _ := schema.ParseGroupVersion(r.apiVersion); r.apiVersion == apiVersion && r.spec != "" {
			components[r.kind] = map[string]any{
				"type": "object", "properties": map[string]any{"spec": json.RawMessage(r.spec)},
				"x-kubernetes-group-version-kind": []metav1.GroupVersionKind{metav1.GroupVersionKind(gv.WithKind(r.kind))},
			}
		}
	}
	return map[string]any{"openapi": "3.0.0", "components": map[string]any{"schemas": components}}
}

// inGroup answers GROUP/VERSION, and GROUP/VERSION/[namespaces/NAMESPACE/]PLURAL.
func (a *servedAPI) inGroup(steps []string) (any, *apierrors.StatusError) {
	if slices.Contains(a.down, steps[0]) {
		return nil, apierrors.NewServiceUnavailable("nobody there")
	}
	if len(steps) < 2 {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, steps[0])
	}
	apiVersion := strings.Join(steps[:2], "/")
	list := metav1.APIResourceList{GroupVersion: apiVersion}
	for _, r := range a.resources {
		if r.apiVersion != apiVersion {
			continue
		}
		if len(steps) > 2 && steps[len(steps)-1] == r.plural {
			return json.RawMessage(fmt.Sprintf(`{"kind": "%sList", "apiVersion": %q, "items": [%s]}`, r.kind, apiVersion, strings.Join(r.objects, ","))), nil
		}
		listed := metav1.APIResource{Name: r.plural, SingularName: strings.ToLower(r.kind), Kind: r.kind, Namespaced: true, Verbs: metav1.Verbs{"create", "get", "list"}, ShortNames: r.shortNames}
		if r.more != nil {
			r.more(&listed)
		}
		list.APIResources = append(list.APIResources, listed)
		if !r.noStatus {
			verbs := r.statusVerbs
			if verbs == nil {
				verbs = []string{"get", "patch", "update"}
			}
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: r.plural + "/status", Kind: r.kind, Namespaced: true, Verbs: verbs})
		}
	}
	if len(steps) > 2 || len(list.APIResources) == 0 {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, strings.Join(steps, "/"))
	}
	return list, nil
}

// documents returns the schemas that were requested since the cluster was opened.
func (a *servedAPI) documents() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for _, path := range a.asked {
		if apiVersion, ok := strings.CutPrefix(path, "/openapi/v3/apis/"); ok {
			all = append(all, apiVersion)
		}
	}
	slices.Sort(all)
	return all
}

func (a *servedAPI) requests() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.asked)
}

// assertMessage checks that the message of an error contains these words.
func assertMessage(t *testing.T, err error, words string) {
	t.Helper()
	assert.ErrorContains(t, kubecontext.InContext("hub", "", err), words)
}

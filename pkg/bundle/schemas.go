package bundle

import (
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/handler3"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
)

// kindsExtension is the field with which a schema names its kinds.
const kindsExtension = "x-kubernetes-group-version-kind"

// openAPI returns the path of the schemas as steps.
func openAPI() []string { return []string{"openapi", "v3"} }

// openAPIPath returns the path of the schemas of a group and version, below openAPI.
func openAPIPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "api/" + gv.Version
	}
	return "apis/" + gv.String()
}

// schemas answers with the list of schemas, or with those of one group and version. They contain
// only the recorded facts about kinds.
func (s *server) schemas(steps []string) ([]byte, *apierrors.StatusError) {
	documents := map[string][]byte{}
	for _, gv := range s.served {
		if d := s.document(gv); d != nil {
			documents[openAPIPath(gv)] = d
		}
	}
	if len(steps) == 0 {
		index := handler3.OpenAPIV3Discovery{Paths: map[string]handler3.OpenAPIV3DiscoveryGroupVersion{}}
		for path, d := range documents {
			hash := fnv.New64a()
			_, _ = hash.Write(d)
			index.Paths[path] = handler3.OpenAPIV3DiscoveryGroupVersion{
				ServerRelativeURL: s.prefix + "/" + strings.Join(openAPI(), "/") + "/" + path + "?hash=" + strconv.FormatUint(hash.Sum64(), 16),
			}
		}
		return encode(index), nil
	}
	if d := documents[strings.Join(steps, "/")]; d != nil {
		return d, nil
	}
	return nil, notServed(schema.GroupResource{}, "")
}

// document returns the schemas of a group and version; nil if it has no recorded kinds.
func (s *server) document(gv schema.GroupVersion) []byte {
	components := map[string]any{}
	for i := range s.kinds {
		k := &s.kinds[i]
		if gvk := k.gvk(); gvk.GroupVersion() == gv && (k.ManagedBy != "" || k.isWithoutField()) {
			components[componentName(gvk)] = k.schema()
		}
	}
	if len(components) == 0 {
		return nil
	}
	return encode(map[string]any{
		"openapi": "3.0.0", "info": map[string]any{"title": "Kubernetes", "version": s.version},
		"paths": map[string]any{}, "components": map[string]any{"schemas": components},
	})
}

// componentName returns the name of a kind among the components, such as
// "io.x-k8s.jobset.v1alpha2.JobSet".
func componentName(gvk schema.GroupVersionKind) string {
	steps := strings.Split(gvk.Group, ".")
	slices.Reverse(steps)
	return strings.Join(append(steps, gvk.Version, gvk.Kind), ".")
}

// schema returns the schema of the kind, with only the field that names the owner. It is the
// inverse of delegation.Schemas.Kind and Lacks.
func (k *ServedKind) schema() map[string]any {
	kinds := []metav1.GroupVersionKind{metav1.GroupVersionKind(k.gvk())}
	if k.isWithoutField() {
		return map[string]any{"type": "object", kindsExtension: kinds}
	}
	path := strings.Split(k.ManagedBy, ".")
	within := k.fieldSchema()
	for i := len(path) - 1; i >= 0; i-- {
		within = map[string]any{
			"type": "object", "properties": map[string]any{path[i]: within}, "x-kubernetes-preserve-unknown-fields": true,
		}
		if k.Defaulted && i > 1 {
			// The objects around the field always exist.
			within["default"] = map[string]any{}
		}
	}
	within[kindsExtension] = kinds
	return within
}

func (k *ServedKind) fieldSchema() map[string]any {
	field := map[string]any{"type": "string"}
	if len(k.Allowed) > 0 {
		field["enum"] = k.Allowed
	}
	if k.Change == delegation.Never || k.Change == delegation.WhileSet {
		field["x-kubernetes-validations"] = []map[string]any{{"rule": "self == oldSelf"}}
	}
	switch {
	case k.Reserved == "":
	case k.Defaulted:
		field["default"] = k.Reserved
	default:
		field["description"] = "Unset, or the reserved string `" + k.Reserved + "`, is the kind's own controller."
	}
	return field
}

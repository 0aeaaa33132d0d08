// Package podtemplate finds the Pod templates in objects of any kind, and objects that wrap
// others. It knows the form of a Pod template, and not how it is used.
package podtemplate

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/delegation"
	"github.com/jobmanagedby/kubectl-jobmanagedby/pkg/dispatch/content"
)

// Template is a Pod template in an object.
type Template struct {
	// Path is its path: "spec.template".
	Path string
	// Object has the spec, and the metadata if there is any.
	Object map[string]any
}

// Pod returns the Pod spec.
func (p Template) Pod() map[string]any {
	spec, _ := p.Object["spec"].(map[string]any)
	return spec
}

// IsComplete reports whether the template is complete. A template that only overrides parts of
// another one need not name an image.
func (p Template) IsComplete() bool {
	return !slices.ContainsFunc(content.Objects(p.Pod()["containers"]), func(c map[string]any) bool {
		image, _ := c["image"].(string)
		return image == ""
	})
}

// Of returns all Pod templates of an object. A Job has one at a known path. Other kinds have them
// in lists, by the names of replicas, or in wrapped objects. Each has a spec with a list of named
// containers.
func Of(k delegation.Kind, o *unstructured.Unstructured) []Template {
	if k.IsJob() {
		return []Template{{"spec.template", content.MapAt(o, "spec", "template")}}
	}
	var found []Template
	content.Walk("spec", o.Object["spec"], func(path string, object map[string]any) {
		if hasContainers(object) && (!isObject(object) || object["kind"] == "Pod") {
			found = append(found, Template{path, object})
		}
	})
	return found
}

func hasContainers(object map[string]any) bool {
	spec, _ := object["spec"].(map[string]any)
	containers, _ := spec["containers"].([]any)
	return len(containers) > 0 && len(content.Objects(containers)) == len(containers) &&
		!slices.ContainsFunc(content.Objects(containers), func(c map[string]any) bool {
			name, _ := c["name"].(string)
			return name == ""
		})
}

// isObject reports whether a value is a complete Kubernetes object.
func isObject(object map[string]any) bool {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	_, hasMetadata := object["metadata"].(map[string]any)
	return apiVersion != "" && kind != "" && hasMetadata
}

// Ref refers to an object in the namespace of the object that names it.
type Ref struct{ Kind, Name string }

// String returns the kind and the name: "ConfigMap settings".
func (r Ref) String() string { return r.Kind + " " + r.Name }

// WrappedIn finds the objects in the spec of an object that its controller creates. namespaces are
// the paths and values of the namespaces that they set.
func WrappedIn(o *unstructured.Unstructured) (refs map[Ref]bool, namespaces []string) {
	refs = map[Ref]bool{}
	content.Walk("spec", o.Object["spec"], func(path string, object map[string]any) {
		if !isObject(object) {
			return
		}
		inner := &unstructured.Unstructured{Object: object}
		refs[Ref{inner.GetKind(), inner.GetName()}] = true
		if inner.GetNamespace() != "" {
			namespaces = append(namespaces, path+".metadata.namespace="+inner.GetNamespace())
		}
	})
	return refs, namespaces
}
